//! The native module of the Python package `ridethrough`.
//!
//! Python and Rust trade JSON as bytes. What Rust has for Python goes into a queue; one byte in a socket
//! wakes the event loop, which drains it. No thread of Rust ever calls Python or waits for its lock, so a
//! closed loop, an exiting interpreter and another event loop than asyncio need no care here.
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
mod runtime;
mod sdk;
mod settings;
mod tokens;

/// What `ridethrough/_native.pyi` describes.
#[pyo3::pymodule(gil_used = true)]
mod _native {
    #[pymodule_export]
    use super::link::Link;
    #[pymodule_export]
    use super::login::{log_in, log_out};
    #[pymodule_export]
    use super::runtime::after_fork;
}
