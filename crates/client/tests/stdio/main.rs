//! The client against a server that is a child process: how they talk, how the child dies, what it leaves.
//!
//! The child is this test binary itself, started again (`child`). Processes need real time, so the tests
//! check upper bounds of time only where a person would notice.

#![cfg(test)]

mod child;
mod rig;

mod closing;
mod crashing;
mod misbehaving;
mod speaking;
