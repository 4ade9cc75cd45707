//! How a command ends: exit codes, what is told of it, and the next step.

pub(crate) mod exit;
pub(crate) mod next_step;
