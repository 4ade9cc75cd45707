//! The native module of the Python package `ridethrough`.
//!
//! Python and Rust exchange JSON as bytes. Items for Python go into a queue; one byte in a socket wakes the
//! event loop, which drains it. No thread of Rust ever calls Python or waits for its lock, so a closed loop,
//! an exiting interpreter and an event loop other than asyncio need no special handling here.
//!
//! ```text
//!  Python:  Link.call, send, notify … ──▶ client ──▶ driver (tokio)
//!           Link.drain ◀── queue ◀── porter ◀── answers, messages, events
//! ```

mod call_options;
mod carried;
mod event;
mod facts;
mod link;
mod login;
mod messages;
mod platform;
mod porter;
mod queue;
mod repeats;
mod runtime;
mod sdk;
mod settings;
mod tokens;

/// The module that `ridethrough/_native.pyi` describes.
#[pyo3::pymodule(gil_used = true)]
mod _native {
    #[pymodule_export]
    use super::link::Link;
    #[pymodule_export]
    use super::login::{log_in, log_out};
    #[pymodule_export]
    use super::runtime::after_fork;
}
