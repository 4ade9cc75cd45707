//! How a server is named on the line, or typed as a program; its tools; which are known.

pub(crate) mod program;
pub(crate) mod servers;
pub(crate) mod target;
pub(crate) mod tool_names;
