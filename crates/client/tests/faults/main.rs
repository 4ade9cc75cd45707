//! The client against a server that breaks connections in exact ways.
//!
//! Each scenario runs over HTTP/1.1, HTTP/1.1 over TLS and HTTP/2 over TLS, in memory and under paused time,
//! where a bound on time is exact. A test of what only real sockets can show has `_on_sockets` in its name
//! and checks no upper bounds of time.

#![cfg(test)]

#[macro_use]
mod rig;

mod gate;
mod hook;
mod valve;

mod basics;
mod closers;
mod coding;
mod credentials;
mod dialects;
mod draining;
mod http2;
mod possession;
mod proof;
mod reconnecting;
mod repeating;
mod restarting;
mod secrets;
mod sessions;
mod transient;
mod traps;
mod uploads;
