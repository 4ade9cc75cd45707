//! What a client keeps of what a stateless server says, for how long, and what makes it forget.
//!
//! Whether a result was kept is seen from the server's side: by what it was asked.

#![cfg(test)]

mod rig;

#[path = "../faults/written.rs"]
mod written;

mod failing;
mod forgetting;
mod keeping;
mod paging;
