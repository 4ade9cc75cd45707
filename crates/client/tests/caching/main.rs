//! What a client keeps of a stateless server's results, for how long, and what makes it forget.
//!
//! The tests look from the server's side: a result was kept if the server was not asked again.

#![cfg(test)]

mod rig;

#[path = "../faults/written.rs"]
mod written;

mod failing;
mod forgetting;
mod keeping;
mod paging;
