//! The gateway as a process: what a call costs (G3), what a session costs (G4), what a sick server does to its
//! neighbours (G5), and what hostile clients do to a polite one (H1).
//!
//! ```text
//!   clients, in this process ──▶ a proxy, in its own ──▶ servers, on threads of this one
//! ```

mod attacks;
mod calls;
mod hostile;
mod http_caller;
mod measuring;
mod neighbours;
mod proxy;
mod sessions;

pub(crate) use calls::calls;
pub(crate) use hostile::hostile;
pub(crate) use neighbours::neighbours;
pub(crate) use sessions::sessions;
