//! What a server did about each request: the other half of the log.

use std::fmt;
use std::time::Duration;

use serde::Serialize;
use tokio::time::Instant;

use super::Mcp;
use super::era::Era;

/// One thing that was done about one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The place of the request in the log.
    pub request: usize,
    /// When it was done, counted from the creation of the [`Mcp`](crate::Mcp).
    pub at: Duration,
    /// What was done.
    pub deed: Deed,
}

/// What a server can do about a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "deed", content = "what", rename_all = "lowercase")]
pub enum Deed {
    /// The whole answer was sent, with this status.
    Answered(u16),
    /// The client closed, which in the stateless revision cancels the request.
    Cancelled,
    /// The connection was closed without the answer's proper end.
    Cut,
    /// The stream came to its proper end.
    Ended,
    /// The client closed.
    Gone,
    /// The head of a stream was sent.
    Opened,
    /// The connection was reset.
    Reset,
    /// The tool was run.
    Ran,
    /// Something was sent on a stream.
    Sent(String),
}

impl fmt::Display for Deed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Answered(status) => write!(f, "answered {status}"),
            Self::Cancelled => write!(f, "cancelled by the client"),
            Self::Cut => write!(f, "cut"),
            Self::Ended => write!(f, "ended"),
            Self::Gone => write!(f, "client gone"),
            Self::Opened => write!(f, "stream opened"),
            Self::Reset => write!(f, "reset"),
            Self::Ran => write!(f, "ran"),
            Self::Sent(what) => write!(f, "sent {what}"),
        }
    }
}

/// Writes marks about one request.
#[derive(Clone)]
pub(crate) struct Notes {
    mcp: Mcp,
    request: usize,
    era: Era,
}

impl Notes {
    pub(super) fn new(mcp: Mcp, request: usize, era: Era) -> Self {
        Self { mcp, request, era }
    }

    /// Notes for a stream, whose end is noted in any case.
    pub(super) fn of_stream(self) -> StreamNotes {
        self.note(Deed::Opened);
        StreamNotes { notes: self, is_over: false }
    }

    /// Records that the client closed.
    pub(crate) fn gone(&self) {
        self.note(self.hang_up());
    }

    const fn hang_up(&self) -> Deed {
        match self.era {
            Era::Legacy => Deed::Gone,
            Era::Modern => Deed::Cancelled,
        }
    }

    pub(crate) fn note(&self, deed: Deed) {
        let at = self.mcp.age(Instant::now());
        self.mcp.state().marks.push(Mark { request: self.request, at, deed });
    }
}

/// Writes marks about an open stream: it ends once, and a stream that is dropped counts as cut.
pub(super) struct StreamNotes {
    notes: Notes,
    is_over: bool,
}

impl StreamNotes {
    pub(super) fn sent(&self, what: impl Into<String>) {
        self.notes.note(Deed::Sent(what.into()));
    }

    pub(super) fn gone(&mut self) {
        self.over(self.notes.hang_up());
    }

    pub(super) fn over(&mut self, deed: Deed) {
        if !self.is_over {
            self.is_over = true;
            self.notes.note(deed);
        }
    }
}

impl Drop for StreamNotes {
    fn drop(&mut self) {
        self.over(Deed::Cut);
    }
}
