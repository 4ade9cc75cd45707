//! The limits of a driver: how much it holds of a server's answers, and how long a connect may take.

use std::time::Duration;

/// The limits of a driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// The largest event or body.
    pub(crate) message: usize,
    /// The largest body of a refusal; the rest is cut off without an error.
    pub(crate) error_body: usize,
    /// The most bytes of incomplete messages in all answers of the link.
    pub(crate) link: usize,
    /// How long one connect may take, TLS included.
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
