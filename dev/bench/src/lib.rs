//! Figures of the client, of the bridge and of the gateway, as ratios to floors of one run; `./bench` builds and runs it.
//!
//! A runner hosts one server and starts each contestant as a process of its own, so that the system reports
//! its cost. Contestants take turns, round by round, so that other load on this machine affects all of them
//! equally.

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
mod gateway;
mod outage;
mod pace;
mod page;
mod process;
mod progress;
mod report;
mod rivals;
mod runner;
mod server;
mod sessions;

pub use runner::run;
