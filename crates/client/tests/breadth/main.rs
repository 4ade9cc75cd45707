//! Everything that a client can ask, be told and be asked, against a server without faults.
//!
//! The tests look at the wire from the server's side. Faults are the subject of `faults`.

#![cfg(test)]

#[macro_use]
#[path = "../faults/rig.rs"]
#[expect(
    dead_code,
    unused_macros,
    reason = "the rig is made for the faults; less of it is used here"
)]
mod rig;

mod answering;
mod listing;
mod methods;
mod payloads;
mod progress;
mod sleeping;
mod telling;
