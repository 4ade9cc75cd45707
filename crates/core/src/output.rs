//! The one way out of the machine: what to do, what to hand over, what to tell.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use crate::era::{Carrier, Era, Version};
use crate::event::Event;
use crate::head::{Challenge, without_query};
use crate::headers::Headers;
use crate::ids::{
    AttemptId, ConnectionId, CredentialsId, ExchangeId, Generation, NoticeId, QuestionId,
};
use crate::lifetime::Lifetime;
use crate::message::Json;
use crate::outcome::{CallError, Outcome};
use crate::session::{Carried, SessionId};
use crate::sse::EventId;

/// One thing that the driver must carry out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// Do this, and report what comes of it.
    Act(Action),
    /// Hand this to the application.
    Deliver(Delivered),
    /// This exchange is over; nothing else follows for it.
    Finish {
        /// Which.
        exchange: ExchangeId,
        /// How.
        outcome: Outcome,
        /// How long the result may be kept, if its server allows that at all.
        lifetime: Option<Lifetime>,
    },
    /// This notification of the application is over.
    Noticed {
        /// Which.
        notice: NoticeId,
        /// Whether the server took it.
        outcome: Result<(), CallError>,
    },
    /// Tell whoever watches.
    Tell(Event),
}

/// Something to perform. News about an attempt that is not outstanding any more is ignored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Stop an attempt and close what it holds. No news of it is wanted.
    Abort {
        /// Which.
        attempt: AttemptId,
    },
    /// The link is closed: nothing follows.
    Closed,
    /// Make one connection, for the next requests to use, and report by `handle_connect`.
    Dial {
        /// Names this connect.
        attempt: AttemptId,
    },
    /// All that matters is known: read the rest of the answer for its connection's sake, within
    /// these bounds, and close it otherwise. No news of it is wanted.
    Drain {
        /// Which.
        attempt: AttemptId,
        /// For so long.
        within: Duration,
        /// So many bytes.
        bytes: usize,
    },
    /// Bring better credentials than these and report by `handle_credentials`.
    RenewCredentials {
        /// The ones that were refused.
        rejected: CredentialsId,
        /// What the server asked for.
        challenge: Option<Challenge>,
    },
    /// Make an HTTP request and report its head, body, events, end or failure.
    Send(Outgoing),
}

/// One HTTP request to make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// Names this request in all news about it.
    pub attempt: AttemptId,
    /// What to do.
    pub verb: Verb,
    /// Where to.
    pub to: Address,
    /// The credentials to use: those of this number.
    pub credentials: CredentialsId,
    /// The call's own headers; only a request that is made for a call has any.
    pub headers: Headers,
    /// Who goes first where connections are short.
    pub lane: Lane,
    /// Which connection to use.
    pub route: Route,
}

/// Which connection a request goes out on.
///
/// Servers behind one address may not share their sessions, and a balancer may choose among them by
/// connection: what one of them says is asked again of the same one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Route {
    /// Whichever is there, or a new one.
    #[default]
    Any,
    /// Any but this one, where connections are not shared: the request stays for long, and this one is needed.
    Except(ConnectionId),
    /// Any but this one, which may be dead without a sign: nothing more is sent on it.
    Instead(ConnectionId),
    /// This one and no other. If it is gone, the request fails with [`Cause::ConnectionGone`]
    /// (nothing was sent); if it is busy, the request waits for it.
    ///
    /// [`Cause::ConnectionGone`]: crate::Cause::ConnectionGone
    Only(ConnectionId),
    /// This one if it is there and free, or free in a moment; else any.
    Prefer(ConnectionId),
}

/// Where a request stands in line when a transport has no connection for it.
///
/// Calls can take as long as they like. What is waited for by a call that is out must not stand
/// behind them: a server may answer that call only when it has our answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lane {
    /// A request of the application.
    Call,
    /// Everything that the link itself has to say, and its standing stream.
    Control,
    /// A notification of the application: there may be more of them than the server takes.
    Notice,
    /// The rest of a broken or silent stream.
    Resume,
}

/// Where a request goes: to which session, in which revision, by which path.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Address {
    /// Which session this belongs to: cookies must not cross generations.
    pub generation: Generation,
    /// The session to name, if the server issued an id.
    pub session: Option<SessionId>,
    /// The revision to name, once one is agreed on and has the header.
    pub version: Option<Version>,
    /// Path and query, if a redirect led away from the configured ones.
    pub target: Option<Arc<str>>,
    /// How it gets there.
    pub carrier: Carrier,
}

impl fmt::Debug for Address {
    /// Leaves the query of the path out: that is where people put keys.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Address")
            .field("generation", &self.generation)
            .field("session", &self.session)
            .field("version", &self.version)
            .field("target", &self.target.as_deref().map(without_query))
            .field("carrier", &self.carrier)
            .finish()
    }
}

impl Address {
    /// The era whose rules hold for a request to it.
    pub fn era(&self) -> Era {
        self.version.map_or(Era::Legacy, Version::era)
    }

    /// Whether a request to it names a session.
    pub fn carried(&self) -> Carried {
        let is_stateless = self.version.is_some_and(|version| !version.era().has_sessions());
        match self.session {
            _ if is_stateless => Carried::Stateless,
            Some(_) => Carried::Session,
            None => Carried::NoSession,
        }
    }
}

/// The three requests of Streamable HTTP.
#[derive(Clone, PartialEq, Eq)]
pub enum Verb {
    /// End the session.
    Delete,
    /// Open the standing stream, or resume a stream after this event.
    Get {
        /// The last event seen.
        last_event_id: Option<EventId>,
    },
    /// Send one message.
    Post {
        /// The message.
        body: Bytes,
    },
}

impl fmt::Debug for Verb {
    /// Prints the size of a message, never the message.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Delete => f.write_str("Delete"),
            Self::Get { last_event_id } => write!(f, "Get({last_event_id:?})"),
            Self::Post { body } => write!(f, "Post({} bytes)", body.len()),
        }
    }
}

/// Something from the server for the application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delivered {
    /// A notification, and the call on whose stream it came.
    Notification {
        /// The call, if it belongs to one.
        exchange: Option<ExchangeId>,
        /// What happened.
        method: Box<str>,
        /// The details, as sent.
        params: Option<Json>,
    },
    /// A question; answer it with `Link::answer`, or the client's `Inbox::answer`.
    Question {
        /// Names the question.
        question: QuestionId,
        /// The call on whose stream it came.
        exchange: Option<ExchangeId>,
        /// What is asked.
        method: Box<str>,
        /// The details, as sent.
        params: Option<Json>,
    },
    /// Nobody wants the answer to this question any more.
    Withdrawn {
        /// Which.
        question: QuestionId,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_output_shows_no_payload_no_session_and_no_query() {
        let request = Outgoing {
            attempt: AttemptId::new(1),
            verb: Verb::Post { body: Bytes::from_static(b"hunter2") },
            to: Address {
                session: SessionId::new("s3cret"),
                target: Some("/mcp?key=k3y".into()),
                ..Address::default()
            },
            credentials: CredentialsId::new(0),
            headers: [("x-key".parse().unwrap(), "h3ader".parse().unwrap())]
                .into_iter()
                .collect::<http::HeaderMap>()
                .into(),
            lane: Lane::Call,
            route: Route::Any,
        };

        let printed = format!("{request:?}");

        assert!(printed.contains("Post(7 bytes)") && printed.contains("/mcp"), "{printed}");
        assert!(printed.contains("x-key"), "{printed}");
        for secret in ["hunter2", "s3cret", "k3y", "h3ader"] {
            assert!(!printed.contains(secret), "{printed}");
        }
    }
}
