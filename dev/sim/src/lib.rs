//! Worlds of faults, drawn from a seed: around the recovery machine alone, and around the whole
//! client; and torture, which leaves nothing to chance.
//!
//! Nothing in them is real but our own code. Time is paused and jumps, bytes go through memory,
//! chance comes from a seed: an hour costs milliseconds, and every world can be lived through again.

pub mod machine;
pub mod net;
pub mod regression;
pub mod run;
pub mod shrink;
pub mod torture;
mod violation;
pub mod world;

pub use violation::Violation;
