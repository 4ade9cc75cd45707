//! Calls that servers make tasks of: followed to their end through faults, questions and restarts.
//!
//! The server is a function in memory, and the tests look at what it was asked.

#![cfg(test)]

mod rig;

mod asking;
mod ending;
mod faults;
mod handles;
mod legacy;
mod pacing;
