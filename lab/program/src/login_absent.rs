//! Stands in for logins in builds without the feature `full`: there are none.

use std::time::Duration;

use ridethrough::ClientBuilder;

/// A login that cannot be had.
#[derive(Clone)]
pub(crate) struct Login;

impl Login {
    pub(crate) const fn by_browser() -> Self {
        Self
    }

    pub(crate) const fn within(self, _: Duration) -> Self {
        self
    }

    pub(crate) fn on(self, _: ClientBuilder) -> Result<ClientBuilder, String> {
        Err(NOT_BUILT.to_owned())
    }
}

/// Whether our own client can log in, and our gateway is here.
pub(crate) const IS_FULL: bool = false;
const NOT_BUILT: &str = "this program was built without logins; build it with `--features full`";
