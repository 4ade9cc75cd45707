//! Everything worth telling an operator, as data.
//!
//! Fields, not sentences; no payloads and no secrets. Every way out of the machine, every wait
//! and every change of state has one. Nothing in the machine depends on anybody listening.

use std::sync::Arc;
use std::time::Duration;

use crate::era::{Carrier, Era, Version};
use crate::failure::{Delivery, Failure};
use crate::ids::{ExchangeId, Generation};
use crate::mirror::Unfit;
use crate::moment::Moment;
use crate::outcome::{CallName, Kind, Reason};

/// Something that happened on a link.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// The breaker let calls through again.
    BreakerClosed,
    /// The breaker refuses new calls.
    BreakerOpened {
        /// Until a probe goes out.
        until: Moment,
    },
    /// A call ended; `kind` is absent if it was answered.
    CallEnded {
        /// Which.
        exchange: ExchangeId,
        /// What was asked.
        call: CallName,
        /// How it ended, unless it was answered.
        kind: Option<Kind>,
        /// Sends and resumes.
        attempts: u32,
        /// From the request to the end.
        elapsed: Duration,
        /// What is known about the server having acted.
        delivery: Delivery,
    },
    /// A connect of the link's own loop failed.
    ConnectFailed {
        /// Why.
        failure: Failure,
        /// When the next one follows, if somebody waits for it.
        next: Moment,
    },
    /// A response arrived after an outage.
    Connected {
        /// How long the outage was.
        outage: Duration,
    },
    /// The credentials hook failed or took too long.
    CredentialsFailed {
        /// Why, if it said so.
        reason: Option<Arc<str>>,
    },
    /// The credentials hook brought new credentials.
    CredentialsRenewed,
    /// A server that was stateless when it was last asked is spoken to in a session again: it was
    /// rolled back, or somebody in between wants it to look so. Its requests are checked less.
    EraDowngraded,
    /// The server was asked which era it belongs to, and said so.
    EraFound {
        /// Which.
        era: Era,
    },
    /// The server refuses what we spoke first and is spoken to in an older way, until it refuses that or
    /// an hour has passed.
    FellBack {
        /// To which.
        to: Carrier,
    },
    /// The server asked to be left alone: new calls of this kind wait.
    GateClosed {
        /// The calls meant; all, if absent.
        call: Option<CallName>,
        /// Until then.
        until: Moment,
    },
    /// New calls of this kind go out again.
    GateOpened {
        /// The calls meant; all, if absent.
        call: Option<CallName>,
    },
    /// A call hit a fault and goes on: the user need not know, the operator may want to.
    Hiccup {
        /// Which.
        exchange: ExchangeId,
        /// What was asked.
        call: CallName,
        /// What happened.
        reason: Reason,
        /// What is done about it.
        remedy: Remedy,
    },
    /// An answer came that no call waits for; it was ignored.
    StrayAnswer,
    /// The standing stream was interrupted and is open again: lists may have changed meanwhile.
    ListenerBack {
        /// How long nobody listened.
        gap: Duration,
    },
    /// The standing stream ended and is opened again at that moment.
    ListenerLost {
        /// When.
        retry: Moment,
    },
    /// This server has no standing stream.
    ListenerUnsupported,
    /// A notification of the application could not be delivered.
    NotificationDropped {
        /// Why.
        reason: Reason,
    },
    /// A stateless server asked something, which it may not; it gets no answer.
    QuestionIgnored {
        /// What it asked.
        method: Arc<str>,
    },
    /// Log level or a subscription could not be restored in the new session.
    RestoreFailed {
        /// Which request.
        call: CallName,
    },
    /// The server that answered the handshake describes itself differently than before.
    ServerChanged,
    /// The server asks more than it takes answers for; some questions stay unanswered.
    ServerFloods,
    /// A session is gone.
    SessionLost {
        /// Which.
        generation: Generation,
    },
    /// A session is ready for calls.
    SessionReady {
        /// Which.
        generation: Generation,
        /// The revision agreed on.
        version: Version,
    },
    /// A handshake failed and is repeated at that moment.
    SessionRenewalFailed {
        /// Why.
        reason: Reason,
        /// When the next one follows.
        next: Moment,
    },
    /// The server could not be asked anew, and a result that it allowed to keep for a shorter time was
    /// given instead.
    StaleServed {
        /// The call that failed to bring a new one.
        exchange: ExchangeId,
        /// What was asked.
        call: CallName,
        /// How old the result is.
        age: Duration,
        /// How the call ended, unless it was answered with an error.
        kind: Option<Kind>,
    },
    /// A tool was taken out of a list: it marks arguments in a way that no request could follow.
    ToolDropped {
        /// Which.
        tool: Arc<str>,
        /// What is wrong with it.
        why: Unfit,
    },
    /// The machine slept: time passed that nobody saw.
    Suspended {
        /// How long.
        gap: Duration,
    },
    /// The tools are not those that were listed before.
    ToolsChanged,
    /// An event on a stream was no JSON-RPC message; it was skipped.
    UnreadableEvent,
}

/// What is done about a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Remedy {
    /// Ask which era the server belongs to.
    CheckEra,
    /// Ask whether the session is still there.
    CheckSession,
    /// Renew the credentials, then send again.
    RenewCredentials,
    /// Renew the session, then send again.
    RenewSession,
    /// Send the request again at that moment.
    Resend {
        /// When.
        at: Moment,
    },
    /// Resume the stream at that moment.
    Resume {
        /// When.
        at: Moment,
    },
    /// Wait until the server can be reached.
    WaitForLink,
}
