//! The host's side of a conversation, as the backend holds it: where calls end, and where everything else goes.
//!
//! ```text
//!   ┌─────────┐ ──call, with its sink──▶ ┌─────────┐
//!   │ a host  │ ◀──the sink: the end──── │ backend │      exactly one end for each call
//!   │         │ ◀──the sink's aside───── │         │      progress, log and questions of that call
//!   └─────────┘ ◀──the voice──────────── └─────────┘      what belongs to no call in particular
//! ```
//! Saying waits until the host has room. What a backend says is heard in the order in which it began to say it.

use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use ridethrough_core::Doubt;
use ridethrough_wire::message::{Answer, Json};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

use crate::parts::ParsedMessage;

/// What a backend is given of a host when a conversation is opened.
#[derive(Debug)]
pub struct HostSide {
    /// What the host says. Messages of one letter came together. The channel is the only queue there is, so what
    /// the backend does not take, the host keeps.
    pub letters: mpsc::Receiver<Letter>,
    /// Completes when the conversation is to end.
    pub closing: oneshot::Receiver<Infallible>,
    /// Says what belongs to no call.
    pub voice: Voice,
}

/// Messages that a host sent together.
pub type Letter = Vec<HostMessage>;

/// A message of a host.
#[derive(Debug)]
pub enum HostMessage {
    /// A request, and where it ends.
    Call(ParsedMessage, Sink),
    /// A notification that cancels the call of this number. The host waits for no answer.
    Cancel(ParsedMessage, u64),
    /// A notification, or the answer to a question of the backend.
    Other(ParsedMessage),
}

impl HostMessage {
    /// Returns the message as the host wrote it.
    pub const fn message(&self) -> &ParsedMessage {
        match self {
            Self::Call(message, _) | Self::Cancel(message, _) | Self::Other(message) => message,
        }
    }
}

/// The end of a call that a backend answers.
#[derive(Debug)]
pub enum CallEnd {
    /// The answer, which is written under the id that the host gave.
    Answer(Answer),
    /// The whole message, whose bytes pass as they are.
    Message(ParsedMessage),
}

/// The end of a conversation that ended by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ending {
    /// What happened, in words.
    pub what: String,
    /// The `data` of the errors that calls under way are answered with.
    pub data: Value,
    /// How long to wait before another conversation is opened.
    pub retry_after: Duration,
}

/// Why a call ends without an answer of its backend, although it may have run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// The backend let go of it.
    Dropped,
    /// The backend wrote something under its id that is no answer.
    Misread,
}

impl Lost {
    /// Returns what is told of the call; `bytes` is the size of an answer for which there was no room.
    pub(crate) fn doubt(self, bytes: Option<usize>) -> Doubt {
        let kind = match self {
            Self::Dropped => "answerLost",
            Self::Misread => "peerMisbehaved",
        };
        let mut data = json!({ "kind": kind, "mayHaveRun": true });
        if let Some(bytes) = bytes {
            data["bytes"] = bytes.into();
        }
        Doubt::new(kind, Json::from(data))
    }
}

/// What carries words to a host: HTTP, or lines. Calls are known by the numbers that it gave them.
pub trait HostEnd: Send + Sync {
    /// Says something, which belongs to this call if one is named.
    fn say(self: Arc<Self>, call: Option<u64>, message: ParsedMessage) -> BoxFuture<'static, ()>;

    /// Ends a call. One that was cancelled, or has ended, is ignored.
    fn end(self: Arc<Self>, call: u64, answered: CallEnd) -> BoxFuture<'static, ()>;

    /// Ends a call in doubt, if it is open.
    fn lose(&self, call: u64, lost: Lost);

    /// Ends the conversation, and with it the calls that are open.
    fn is_over(&self, ending: Ending);

    /// Counts something of the backend that is no message.
    fn skip(&self);
}

/// Says to a host what belongs to no call. Clones share one host.
#[derive(Clone)]
pub struct Voice {
    end: Arc<dyn HostEnd>,
    presence: Presence,
}

impl Voice {
    /// Creates the voice that is heard at this end.
    pub fn new(end: Arc<dyn HostEnd>, presence: Presence) -> Self {
        Self { end, presence }
    }

    /// Says something.
    pub async fn say(&self, message: ParsedMessage) {
        self.end.clone().say(None, message).await;
    }

    /// Says that the conversation has ended by itself: every open call ends with that. Nothing that is said
    /// afterwards is heard.
    pub fn is_over(&self, ending: Ending) {
        self.end.is_over(ending);
    }

    /// Says that something was skipped that is no message.
    pub fn skip(&self) {
        self.end.skip();
    }

    /// Returns what tells whether the client is there.
    pub fn presence(&self) -> Presence {
        self.presence.clone()
    }
}

/// Says what belongs to one call, beside its answer. It may outlive the call.
#[derive(Clone)]
pub struct Aside {
    end: Arc<dyn HostEnd>,
    call: u64,
}

impl Aside {
    /// Says something that belongs to the call.
    pub async fn say(&self, message: ParsedMessage) {
        self.end.clone().say(Some(self.call), message).await;
    }
}

/// Where one call ends. If it is dropped, the call ends in doubt.
#[must_use = "a sink that is dropped ends its call in doubt"]
pub struct Sink {
    aside: Aside,
    is_used: bool,
}

impl Sink {
    /// Creates where the call of this number ends.
    pub fn new(end: Arc<dyn HostEnd>, call: u64) -> Self {
        Self { aside: Aside { end, call }, is_used: false }
    }

    /// Returns the number of the call, which no other call of the conversation has.
    pub const fn number(&self) -> u64 {
        self.aside.call
    }

    /// Returns what says things beside the answer.
    pub const fn aside(&self) -> &Aside {
        &self.aside
    }

    /// Ends the call with its answer.
    pub async fn end(mut self, answered: CallEnd) {
        self.is_used = true;
        self.aside.end.clone().end(self.aside.call, answered).await;
    }

    /// Ends the call in doubt.
    pub fn lose(mut self, lost: Lost) {
        self.is_used = true;
        self.aside.end.lose(self.aside.call, lost);
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        if !self.is_used {
            self.aside.end.lose(self.aside.call, Lost::Dropped);
        }
    }
}

/// Says whether the client of a conversation is there: a request of it is being answered, or a stream is open. A
/// client may be quiet for long and come back, so its absence is no proof that it has left.
#[derive(Clone, Debug, Default)]
pub struct Presence(Arc<AtomicUsize>);

impl Presence {
    /// Whether the client is there.
    pub fn is_here(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 0
    }

    /// Counts a request or stream that is opened.
    pub(crate) fn enter(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a request or stream that is over.
    pub(crate) fn leave(&self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl fmt::Debug for Voice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Voice").finish_non_exhaustive()
    }
}

impl fmt::Debug for Aside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Aside").field("call", &self.call).finish_non_exhaustive()
    }
}

impl fmt::Debug for Sink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sink").field("call", &self.aside.call).finish_non_exhaustive()
    }
}
