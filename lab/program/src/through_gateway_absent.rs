//! Stands in for our gateway in builds without the feature `full`: there is none.

use std::io;

use ridethrough::ClientBuilder;

/// A gateway that cannot exist.
pub(super) enum NoGateway {}

pub(super) fn gateway(
    _: impl Fn() -> Result<ClientBuilder, String> + Send + Sync + 'static,
) -> Option<NoGateway> {
    None
}

pub(super) fn listen(_: Option<NoGateway>) -> io::Result<ClientBuilder> {
    Err(io::Error::other(
        "this program was built without a gateway; build it with `--features full`",
    ))
}

pub(super) const fn exempt(_: &str) -> Option<&'static str> {
    None
}
