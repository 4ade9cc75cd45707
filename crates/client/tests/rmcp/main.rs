//! The official SDK over this client, against the SDK's own server, with faults in between.
//!
//! Both ends are `rmcp`'s: its typed client and its Streamable HTTP service, joined by this client and by
//! pipes, under paused time. The [`front`] before the service makes the faults.

#![cfg(test)]

mod front;
mod guest;
mod rig;
mod theirs;
mod workshop;

mod basics;
mod closing;
mod comparison;
mod faults;
mod questions;
mod sessions;
