//! Stands in for TLS in builds without that feature: no server has any.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;

/// Settings that cannot exist.
pub(crate) type TlsSettings = Infallible;

/// Nothing that could sign.
#[derive(Default)]
pub struct Authority;

/// A certificate that cannot exist.
pub enum Certificate {}

impl Authority {
    pub(crate) const fn new() -> Self {
        Self
    }

    #[expect(clippy::panic, reason = "no scenario is played in TLS without the feature")]
    pub(crate) fn settings(&self, _: &[u8]) -> Arc<TlsSettings> {
        panic!("a server in TLS needs the feature `tls`")
    }
}

impl Certificate {
    pub(crate) fn config(self, _: &Authority, _: &[u8]) -> Arc<TlsSettings> {
        match self {}
    }
}

pub(crate) async fn handshake<S>(_: S, settings: Arc<TlsSettings>) -> io::Result<S> {
    match *settings {}
}
