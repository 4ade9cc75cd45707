//! How a server is named: on the line, in settings, by a program; its tools; which are known.

pub(crate) mod names;
pub(crate) mod program;
pub(crate) mod servers;
pub(crate) mod target;
pub(crate) mod tool_names;
