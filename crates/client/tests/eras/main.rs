//! The two eras of the protocol through the whole client: a server that has sessions, one that has none,
//! and one that changes from one to the other while calls are made.

#![cfg(test)]

#[macro_use]
#[path = "../faults/rig.rs"]
#[expect(
    dead_code,
    unused_macros,
    reason = "the rig is made for the faults; less of it is used here"
)]
mod rig;

mod finding;
mod keeping;
mod news;
mod stateless;
