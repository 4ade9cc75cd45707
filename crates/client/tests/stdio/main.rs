//! The client against a server that is a child process: how it is spoken to, how it dies, what it leaves.
//!
//! The child is this test binary itself, started again (`child`). Processes need real time, so that
//! nothing here says anything about upper bounds of time but what a person would notice.

#![cfg(test)]

mod child;
mod rig;

mod closing;
mod crashing;
mod misbehaving;
mod speaking;
