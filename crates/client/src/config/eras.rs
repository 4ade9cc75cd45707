//! The eras of the protocol that a client speaks, and what it knows of the server's before it asks.

use std::time::Duration;

use ridethrough_core::{Era, Eras, Version};

use super::ClientBuilder;

impl ClientBuilder {
    /// Sets the eras of the protocol that the client speaks: one of them, whatever the server says, or
    /// [`Eras::Either`], which asks the server and follows it when it is upgraded or rolled back.
    ///
    /// By default a server at a URL is asked, and a local server is spoken to in the legacy era: before
    /// `initialize` some local servers do not answer unknown requests at all, and each start would cost a
    /// timeout.
    ///
    /// ```
    /// # let builder = ridethrough::Client::builder("https://example.com/mcp");
    /// use ridethrough::Era;
    /// use ridethrough::server::Eras;
    ///
    /// builder.eras(Era::Modern); // never falls back to sessions
    /// # let builder = ridethrough::Client::builder("https://example.com/mcp");
    /// builder.eras(Eras::Either);
    /// ```
    pub fn eras(mut self, eras: impl Into<Eras>) -> Self {
        self.eras = Some(eras.into());
        self
    }

    /// Sets the server's era as an earlier client found it, and how long ago. That client reported it by
    /// [`on_era`](Self::on_era).
    ///
    /// A server that was found to be legacy within the last hour is then not asked again; if it has changed
    /// meanwhile, the client finds out as usual. A server that was stateless and wants sessions now is
    /// reported by [`Event::EraDowngraded`](crate::event::Event::EraDowngraded). The era belongs to one URL
    /// and one set of credentials. This does nothing if one era is pinned.
    ///
    /// ```
    /// # let builder = ridethrough::Client::builder("https://example.com/mcp");
    /// use std::time::Duration;
    /// use ridethrough::Era;
    ///
    /// builder
    ///     .known_era(Era::Legacy, Duration::from_secs(600)) // read from wherever it was kept
    ///     .on_era(|era| println!("to be kept: {era:?}"));
    /// ```
    pub const fn known_era(mut self, era: Era, age: Duration) -> Self {
        self.known_era = Some((era, age));
        self
    }

    /// Sets the era to use with a server that speaks both; the default is [`Era::Modern`].
    ///
    /// *Modern* needs no handshake, and there is no session to lose. But the server sends no requests of its
    /// own: it asks for input that a call needs (sampling, elicitation, roots) in the answer to that call,
    /// and a server whose code sends requests as in the legacy era cannot ask at all. Its log messages come
    /// only with the call that they belong to.
    ///
    /// *Legacy* costs a handshake and a session, which may be lost and is then renewed. The server may send
    /// requests and notifications at any time. A client that prefers it asks for a session first, and for the
    /// era only if that is refused.
    ///
    /// A server that speaks only one era is spoken to in that one. This does nothing if one era is pinned.
    ///
    /// ```
    /// # let builder = ridethrough::Client::builder("https://example.com/mcp");
    /// builder.prefer_era(ridethrough::Era::Legacy);
    /// ```
    pub const fn prefer_era(mut self, era: Era) -> Self {
        self.preferred_era = era;
        self
    }

    /// Calls `found` with the server's era each time that the server was asked for it. It runs on the
    /// client's own task, before any call goes out in that era, so it must be quick.
    pub fn on_era(mut self, found: impl Fn(Era) + Send + Sync + 'static) -> Self {
        self.on_era = Some(Box::new(found));
        self
    }

    /// Sets the revision of the protocol that the client offers. Its era is the only one spoken, unless
    /// [`eras`](Self::eras) says otherwise. Use it for a server that claims a revision and does not support
    /// it. In the legacy era the server may still agree on another revision.
    pub const fn revision(mut self, revision: Version) -> Self {
        self.revision = Some(revision);
        self
    }

    /// Returns the eras to speak: those that were set, that of the revision that was set, or the default for
    /// the place.
    pub(super) fn spoken(&self) -> Eras {
        let of_revision = self.revision.map(|revision| Eras::Only(revision.era()));
        self.eras.or(of_revision).unwrap_or_else(|| self.place.eras())
    }
}
