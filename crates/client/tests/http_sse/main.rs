//! The client against a server of 2024-11-05, which speaks HTTP+SSE.
//!
//! The tests run in memory and under paused time, over HTTP/1.1 and over HTTP/2.

#![cfg(test)]

#[macro_use]
mod rig;

mod breaking;
mod own;
mod posting;
mod refusing;
mod speaking;
