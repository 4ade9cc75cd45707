//! What a shell and `man` are given.

pub(crate) mod complete;
pub(crate) mod completions;
pub(crate) mod man;
