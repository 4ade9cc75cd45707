//! One line of a demo: who did what, and when.

use std::time::Duration;

use ridethrough::event::Moment;
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::Instant;

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DemoLine {
    /// When it happened, counted from the creation of the act's client.
    pub(super) at: Duration,
    pub(super) who: Who,
    pub(super) what: String,
}

/// The party that did something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Who {
    /// The application that makes calls.
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

/// Where the lines of an act go.
pub(super) type Tell = UnboundedSender<DemoLine>;

/// Sends lines with the time of one act. Clones send to one receiver.
#[derive(Clone)]
pub(super) struct Diary {
    began: Instant,
    tell: Tell,
}

impl Diary {
    /// Starts the time of the act.
    pub(super) fn begin(tell: Tell) -> Self {
        Self { began: Instant::now(), tell }
    }

    fn age(&self) -> Duration {
        self.began.elapsed()
    }

    pub(super) fn caller(&self, what: impl Into<String>) {
        self.tell(self.age(), Who::Caller, what.into());
    }

    /// Sends a line of the client. Its events carry their own time, counted from its creation.
    pub(super) fn client(&self, at: Moment, what: impl Into<String>) {
        self.tell(at.elapsed(), Who::Client, what.into());
    }

    pub(super) fn server(&self, what: impl Into<String>) {
        self.tell(self.age(), Who::Server, what.into());
    }

    fn tell(&self, at: Duration, who: Who, what: String) {
        // The receiver is gone only when the demo is over.
        let _ = self.tell.send(DemoLine { at, who, what });
    }
}
