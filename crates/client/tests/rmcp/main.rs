//! The official SDK over our client, against its own server, with faults in between.
//!
//! Both ends are `rmcp`'s: its typed client and its Streamable HTTP service, joined by our transport
//! and by pipes, under paused time. What breaks is told to the [`front`] that stands before the
//! service.

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
