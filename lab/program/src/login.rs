//! How our own client logs in.

use std::time::Duration;

use ridethrough::ClientBuilder;
use ridethrough_oauth::person::Browser;
use ridethrough_oauth::store::MemoryStore;
use ridethrough_oauth::{ClientBuilderExt, OAuth};

/// A login, whose store outlives clients.
#[derive(Clone)]
pub(crate) struct Login(pub(crate) OAuth);

impl Login {
    /// Returns a login by the program in `BROWSER`, stored as long as this process lives: the lab must not touch
    /// the logins of the person who starts it.
    pub(crate) fn by_browser() -> Self {
        Self(OAuth::new("ridethrough lab").person(Browser::new()).store(MemoryStore::default()))
    }

    /// Limits how long the person may take.
    pub(crate) fn within(self, limit: Duration) -> Self {
        Self(self.0.login_within(limit))
    }

    /// Gives a client this login.
    pub(crate) fn on(self, builder: ClientBuilder) -> Result<ClientBuilder, String> {
        builder.oauth(self.0).map_err(|error| error.to_string())
    }
}

/// Whether our own client can log in, and our gateway is here.
pub(crate) const IS_FULL: bool = true;
