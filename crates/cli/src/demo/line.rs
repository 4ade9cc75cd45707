//! What is told while an act is played: who did what, and when.

use std::time::Duration;

use ridethrough::event::Moment;
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::Instant;

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DemoLine {
    /// When, counted from the making of the act's client.
    pub(super) at: Duration,
    pub(super) who: Who,
    pub(super) what: String,
}

/// Who did it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Who {
    /// Whoever calls.
    Caller,
    /// The client, by its own account.
    Client,
    /// The server that misbehaves.
    Server,
}

impl Who {
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Caller => "you",
            Self::Client => "client",
            Self::Server => "server",
        }
    }
}

/// Where lines go.
pub(super) type Tell = UnboundedSender<DemoLine>;

/// Tells lines with the time of one act. Clones tell to the same place.
#[derive(Clone)]
pub(super) struct Diary {
    began: Instant,
    tell: Tell,
}

impl Diary {
    /// Time counts from here on.
    pub(super) fn begin(tell: Tell) -> Self {
        Self { began: Instant::now(), tell }
    }

    fn age(&self) -> Duration {
        self.began.elapsed()
    }

    pub(super) fn caller(&self, what: impl Into<String>) {
        self.tell(self.age(), Who::Caller, what.into());
    }

    /// The client's events say themselves when they happened, counted from its making.
    pub(super) fn client(&self, at: Moment, what: impl Into<String>) {
        self.tell(at.elapsed(), Who::Client, what.into());
    }

    pub(super) fn server(&self, what: impl Into<String>) {
        self.tell(self.age(), Who::Server, what.into());
    }

    fn tell(&self, at: Duration, who: Who, what: String) {
        // Nobody listens only when the demo is over.
        let _ = self.tell.send(DemoLine { at, who, what });
    }
}
