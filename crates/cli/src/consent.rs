//! What a person has agreed to: projects, programs, tools.

pub(crate) mod agreement;
pub(crate) mod trust;
