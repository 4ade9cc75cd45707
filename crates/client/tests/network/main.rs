//! The way to the server: proxies, client certificates, the number of connections, and headers of one call.
//!
//! The tests run in memory and under paused time, where a bound on time is exact.

#![cfg(test)]

#[path = "../faults/rig.rs"]
#[macro_use]
#[allow(dead_code, unused_macros, reason = "the fault tests need more of the rig than these")]
mod rig;

#[path = "../faults/written.rs"]
mod written;

mod middleman;

mod certificates;
mod headers;
mod limits;
mod probe;
mod proxy;
mod refusals;
mod secrets;
