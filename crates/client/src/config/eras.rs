//! Which eras of the protocol a client speaks, and what it is told of the server's before it asks.

use std::time::Duration;

use ridethrough_core::{Era, Eras, Version};

use super::ClientBuilder;

impl ClientBuilder {
    /// Which eras of the protocol are spoken: one of them, whatever the server says, or
    /// [`Eras::Either`], which asks the server and follows it when it is upgraded or rolled back.
    ///
    /// Without this a server at a URL is asked, and a local server is spoken to in the era of sessions:
    /// before `initialize` some of those answer nothing that they do not know, and each start would
    /// cost a timeout.
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

    /// What an earlier client found of this server's era, and how long ago: it told it by
    /// [`on_era`](Self::on_era).
    ///
    /// A server that began sessions within the last hour is then not asked again; whether it changed
    /// meanwhile, the client finds out as it always does. A server that was stateless and wants sessions
    /// now is told by [`Event::EraDowngraded`](crate::event::Event::EraDowngraded). It belongs to one URL and
    /// one set of credentials. Does nothing if one era is pinned.
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

    /// What is spoken to a server that speaks both eras; [`Era::Modern`] unless this is said.
    ///
    /// *Modern* needs no handshake, and there is no session that could be lost. But such a server asks
    /// nothing by itself: what a call needs (sampling, elicitation, roots) it asks for in the answer to that
    /// call, and a server whose code asks in the older way cannot ask at all; what it logs comes with the call
    /// that it logs for, or not.
    ///
    /// *Legacy* costs a handshake and a session, which may be lost and is then renewed. The server may ask
    /// and tell whatever it likes, at any time. A client that prefers it asks for a session first, and finds
    /// out the era only where that is refused.
    ///
    /// A server that speaks one era is spoken to in that one, whatever is preferred. Does nothing if one era
    /// is pinned.
    ///
    /// ```
    /// # let builder = ridethrough::Client::builder("https://example.com/mcp");
    /// builder.prefer_era(ridethrough::Era::Legacy);
    /// ```
    pub const fn prefer_era(mut self, era: Era) -> Self {
        self.preferred_era = era;
        self
    }

    /// Hears which era the server belongs to, each time that it was asked. It runs on the client's own
    /// task, before any call goes out in that era, so it must be quick.
    pub fn on_era(mut self, found: impl Fn(Era) + Send + Sync + 'static) -> Self {
        self.on_era = Some(Box::new(found));
        self
    }

    /// The revision of the protocol that we offer, and its era the only one that is spoken, unless
    /// [`eras`](Self::eras) says otherwise. For a server that says it speaks a revision and does not.
    /// In an era with sessions the server may still agree on another.
    pub const fn revision(mut self, revision: Version) -> Self {
        self.revision = Some(revision);
        self
    }

    /// What was said, or what a revision that was said belongs to, or what fits the place.
    pub(super) fn spoken(&self) -> Eras {
        let of_revision = self.revision.map(|revision| Eras::Only(revision.era()));
        self.eras.or(of_revision).unwrap_or_else(|| self.place.eras())
    }
}
