//! What a person may have meant by words that no command takes.

pub(crate) mod swapped;
pub(crate) mod unexpanded;
pub(crate) mod unknown_flag;
