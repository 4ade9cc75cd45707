//! Figures of the client and of the bridge, as ratios to floors of the same run; `./bench` builds and runs it.
//!
//! A runner hosts one server and starts each contestant as a process of its own, so that what one costs
//! is what the system says of it. Contestants take turns, round by round: whatever else this machine
//! does meets all of them.

pub mod contest;

mod args;
mod bridge;
mod calls;
mod chart;
mod connections;
mod contestant;
mod cost;
mod decoder;
mod field;
mod figure;
mod host;
mod outage;
mod pace;
mod page;
mod process;
mod report;
mod rivals;
mod runner;
mod server;
mod sessions;

pub use runner::run;
