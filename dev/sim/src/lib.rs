//! Simulations of the recovery machine alone and of the whole client, under faults drawn from a seed; and
//! torture, which cuts a connection at every byte.
//!
//! Only our own code is real in them. Time is paused and jumps, bytes go through memory, randomness comes
//! from a seed: an hour costs milliseconds, and every world can be run again.

pub mod auth;
pub mod gateway;
pub mod machine;
pub mod net;
pub mod rates;
pub mod regression;
pub mod run;
mod seeded;
pub mod shrink;
pub mod torture;
mod violation;
pub mod world;

pub use seeded::SeededWorld;
pub use violation::Violation;
