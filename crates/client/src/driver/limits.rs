//! How much of a server's is taken in, and how long a connect may take.

use std::time::Duration;

/// The bounds that a driver keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// One event, or one body.
    pub(crate) message: usize,
    /// The body of a refusal; what is beyond is cut off, not an error.
    pub(crate) error_body: usize,
    /// All that has arrived in part, of all answers of the link.
    pub(crate) link: usize,
    /// One connect, TLS included.
    pub(crate) connect: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            message: 16 << 20,
            error_body: 64 << 10,
            link: 48 << 20,
            // A connect that takes longer has most likely lost a packet for good.
            connect: Duration::from_secs(5),
        }
    }
}
