//! Events for operators, as data.
//!
//! They have fields, not sentences, and hold no payloads and no secrets. Every end of an exchange, every wait
//! and every change of state has an event. The machine never depends on an observer.

use std::sync::Arc;
use std::time::Duration;

use ridethrough_wire::era::{Carrier, Era, Version};
use ridethrough_wire::mirror::Unfit;

use crate::failure::{Delivery, Failure};
use crate::ids::{ExchangeId, Generation};
use crate::moment::Moment;
use crate::outcome::{CallName, Kind, Reason};

/// Something that happened on a link.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// The breaker lets new calls go out again.
    BreakerClosed,
    /// The breaker refuses new calls.
    BreakerOpened {
        /// When the next probe goes out.
        until: Moment,
    },
    /// A call ended.
    CallEnded {
        /// The call.
        exchange: ExchangeId,
        /// The method and tool.
        call: CallName,
        /// How it ended; `None` if it was answered.
        kind: Option<Kind>,
        /// How many sends and resumes there were.
        attempts: u32,
        /// The time from the request to the end.
        elapsed: Duration,
        /// What is known about the server having acted.
        delivery: Delivery,
    },
    /// The server was met in trouble: unsafe calls wait until it answers a harmless request.
    CallsHeld {
        /// When that request goes out, if a call waits for it.
        until: Moment,
    },
    /// The server answers again: unsafe calls go out, a few at first.
    CallsReleased,
    /// A connect of the link's connect loop failed.
    ConnectFailed {
        /// Why it failed.
        failure: Failure,
        /// When the next connect follows, if a call waits for it.
        next: Moment,
    },
    /// A response arrived after an outage.
    Connected {
        /// How long the outage was.
        outage: Duration,
    },
    /// The credentials hook failed or took too long.
    CredentialsFailed {
        /// The hook's reason, if it gave one.
        reason: Option<Arc<str>>,
    },
    /// The credentials hook provided new credentials.
    CredentialsRenewed,
    /// A server that was stateless when last asked now uses sessions: it was rolled back, or an intermediary
    /// makes it appear so. Requests of the legacy era are checked less.
    EraDowngraded,
    /// The server was asked for its era and named it.
    EraFound {
        /// The era.
        era: Era,
    },
    /// The server refuses Streamable HTTP and is spoken to in an older way, until it refuses that or an hour
    /// has passed.
    FellBack {
        /// The carrier that is used now.
        to: Carrier,
    },
    /// The server asked for time: new calls of this kind wait.
    GateClosed {
        /// The calls that wait; `None` means all.
        call: Option<CallName>,
        /// When the first of them may go out.
        until: Moment,
    },
    /// New calls of this kind go out again.
    GateOpened {
        /// The calls that waited; `None` means all.
        call: Option<CallName>,
    },
    /// A call hit a fault and goes on.
    Hiccup {
        /// The call.
        exchange: ExchangeId,
        /// The method and tool.
        call: CallName,
        /// What happened.
        reason: Reason,
        /// What is done about it.
        remedy: Remedy,
    },
    /// An answer came that no call waits for, and was ignored.
    StrayAnswer,
    /// The standing stream was interrupted and is open again: lists may have changed meanwhile.
    ListenerBack {
        /// How long the stream was interrupted.
        gap: Duration,
    },
    /// The standing stream ended, and is opened again later.
    ListenerLost {
        /// When it is opened again.
        retry: Moment,
    },
    /// This server has no standing stream.
    ListenerUnsupported,
    /// A notification of the application could not be delivered.
    NotificationDropped {
        /// Why not.
        reason: Reason,
    },
    /// A stateless server sent a request, which the specification forbids; it gets no answer.
    QuestionIgnored {
        /// The method of the request.
        method: Arc<str>,
    },
    /// The log level or a subscription could not be restored in the new session.
    RestoreFailed {
        /// The request that failed.
        call: CallName,
    },
    /// The server that answered the handshake describes itself differently than before.
    ServerChanged,
    /// The server sends requests faster than it reads answers; some stay unanswered.
    ServerFloods,
    /// A session is gone.
    SessionLost {
        /// The generation of the session.
        generation: Generation,
    },
    /// A session is ready for calls.
    SessionReady {
        /// The generation of the session.
        generation: Generation,
        /// The revision agreed on.
        version: Version,
    },
    /// A handshake failed and is repeated later.
    SessionRenewalFailed {
        /// Why it failed.
        reason: Reason,
        /// When the next one follows.
        next: Moment,
    },
    /// The server could not be asked, so a kept result was returned whose time had passed.
    StaleServed {
        /// The call that failed to get a new result.
        exchange: ExchangeId,
        /// The method and tool.
        call: CallName,
        /// How old the result is.
        age: Duration,
        /// How the call ended; `None` if the server answered with an error.
        kind: Option<Kind>,
    },
    /// A tool was removed from a list, because its schema marks arguments for headers in an invalid way.
    ToolDropped {
        /// The name of the tool.
        tool: Arc<str>,
        /// What is wrong with its schema.
        why: Unfit,
    },
    /// The computer slept, and time passed unnoticed.
    Suspended {
        /// How long it slept.
        gap: Duration,
    },
    /// The server's tools differ from those that were listed before.
    ToolsChanged,
    /// An event on a stream was no JSON-RPC message, and was skipped.
    UnreadableEvent,
}

/// What the link does about a fault.
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
    /// Send the request again.
    Resend {
        /// When it is sent.
        at: Moment,
    },
    /// Resume the stream.
    Resume {
        /// When it is resumed.
        at: Moment,
    },
    /// Wait until the server can be reached.
    WaitForLink,
}
