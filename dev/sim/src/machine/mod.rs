//! Worlds for the recovery machine alone: simulated servers, faults and time, drawn from a seed.
//!
//! The machine is on one side, a model server with an oracle on the other. The network between them delays,
//! cuts, refuses and swallows. Time moves by hand from one event to the next, so an hour costs milliseconds
//! and a seed repeats exactly.
//!
//! ```text
//!   run ──▶ World ──▶ Link (ridethrough-core)         what is tested
//!             │  └──▶ Server ──▶ MachineFaults               what it meets
//!             └─────▶ Oracle                          what must hold, whatever it meets
//! ```

mod door;
mod eras;
mod faults;
mod oracle;
mod run;
mod script;
mod server;
mod stateless;
pub mod story;
mod streams;
mod texts;
mod wire;
mod world;

pub use eras::{Fleet, Setting};
pub use faults::MachineFaults;
pub use run::{MachinePlan, MachineSummary, Worlds, run, run_seed, run_world};
