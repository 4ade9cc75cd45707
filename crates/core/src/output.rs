//! The one way out of the machine: actions for the driver, messages for the application, events for
//! operators.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use ridethrough_wire::era::{Carrier, Era, Version};
use ridethrough_wire::headers::Headers;
use ridethrough_wire::lifetime::Lifetime;
use ridethrough_wire::message::Json;
use ridethrough_wire::sse::EventId;

use crate::event::Event;
use crate::head::{Challenge, without_query};
use crate::ids::{
    AttemptId, ConnectionId, CredentialsId, ExchangeId, Generation, NoticeId, QuestionId,
};
use crate::outcome::{CallError, Outcome};
use crate::session::{Carried, SessionId};

/// One thing that the driver must carry out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// Perform this action, and report what comes of it.
    Act(Action),
    /// Hand this to the application.
    Deliver(Delivered),
    /// An exchange is over; nothing else follows for it.
    Finish {
        /// The exchange.
        exchange: ExchangeId,
        /// Its outcome.
        outcome: Outcome,
        /// How long the result may be kept, if its server allows that.
        lifetime: Option<Lifetime>,
    },
    /// A notification of the application is over.
    Noticed {
        /// The notification.
        notice: NoticeId,
        /// Whether the server accepted it.
        outcome: Result<(), CallError>,
    },
    /// Tell this to the other links of the same server, if there are any: `Link::handle_peer`.
    Share(PeerNews),
    /// Report this event to the application's observers.
    Tell(Event),
}

/// What the links of one server tell each other about its trouble, so that they find out together when it is
/// over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeerNews {
    /// The server answers again.
    Answered,
    /// One of them is finding out whether it answers.
    Asking,
    /// The server was met in trouble, and asks to be left alone for so long.
    Trouble {
        /// The time that it named; zero if it named none.
        wait: Duration,
    },
    /// What was found out decides nothing.
    Undecided,
}

/// An action to perform. News about an attempt that is no longer out is ignored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Stop an attempt and close what it holds. No news of it is wanted.
    Abort {
        /// The attempt.
        attempt: AttemptId,
    },
    /// The link is closed; nothing follows.
    Closed,
    /// Make one connection, for the next requests to use, and report by `handle_connect`.
    Dial {
        /// The id of this connect.
        attempt: AttemptId,
    },
    /// Read the rest of an answer within these bounds, so that its connection can be used again, or else
    /// close it. No news of it is wanted.
    Drain {
        /// The attempt.
        attempt: AttemptId,
        /// How long to read at most.
        within: Duration,
        /// How many bytes to read at most.
        bytes: usize,
    },
    /// Take an attempt back, if nothing of it was sent: its server is in trouble. It then fails with
    /// [`Cause::Withheld`]; one of which anything was sent goes on.
    ///
    /// [`Cause::Withheld`]: crate::Cause::Withheld
    Recall {
        /// The attempt.
        attempt: AttemptId,
    },
    /// Get better credentials than these, and report by `handle_credentials`.
    RenewCredentials {
        /// The credentials that were refused.
        rejected: CredentialsId,
        /// What the server asked for.
        challenge: Option<Challenge>,
        /// Whether the server may take them all the same: one request alone was refused, and nothing said what
        /// for.
        is_suspicion: bool,
    },
    /// Get credentials with more scope than those in force, and report by `handle_scope`. Meanwhile the link
    /// sends other requests with those in force, and may ask for better ones.
    RequestScope {
        /// What the server asked for.
        challenge: Challenge,
    },
    /// Make an HTTP request and report its head, body, events, end or failure.
    Send(Outgoing),
}

/// One HTTP request to make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// The id of this request in all news about it.
    pub attempt: AttemptId,
    /// The kind of request.
    pub verb: Verb,
    /// The address of the request.
    pub to: Address,
    /// The number of the credentials to use.
    pub credentials: CredentialsId,
    /// The call's own headers; only a request for a call has any.
    pub headers: Headers,
    /// The priority of the request when connections are short.
    pub lane: Lane,
    /// The connection to use.
    pub route: Route,
}

/// The connection that a request goes out on.
///
/// Servers behind one address may not share their sessions, and a load balancer may choose among them by
/// connection. A question about what one of them said must go to that one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Route {
    /// Any connection, or a new one.
    #[default]
    Any,
    /// Any connection but this one, unless connections are shared: the request takes long, and this
    /// connection is needed.
    Except(ConnectionId),
    /// Any connection but this one, which may be dead without a sign. Nothing more is sent on it.
    Instead(ConnectionId),
    /// This connection and no other. If it is gone, the request fails with [`Cause::ConnectionGone`] (nothing
    /// was sent); if it is busy, the request waits for it.
    ///
    /// [`Cause::ConnectionGone`]: crate::Cause::ConnectionGone
    Only(ConnectionId),
    /// This connection, if it is free now or soon; else any.
    Prefer(ConnectionId),
}

/// The line in which a request waits when a transport has no connection for it.
///
/// Calls can take any time. Requests that a call in flight depends on must not wait behind calls: a server
/// may answer that call only when it has our answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lane {
    /// A request of the application.
    Call,
    /// Any message of the link itself, and its standing stream.
    Control,
    /// A notification of the application, of which there may be more than the server accepts.
    Notice,
    /// The rest of a broken or silent stream.
    Resume,
}

/// The address of a request: its session, revision and path.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Address {
    /// The generation of the session: cookies must not cross generations.
    pub generation: Generation,
    /// The session to name, if the server issued an id.
    pub session: Option<SessionId>,
    /// The revision to name, once one is agreed on and has the header.
    pub version: Option<Version>,
    /// The path and query, if a redirect led away from the configured ones.
    pub target: Option<Arc<str>>,
    /// The carrier.
    pub carrier: Carrier,
}

impl fmt::Debug for Address {
    /// Leaves out the query of the path, which may hold keys.
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
    /// Returns the era whose rules apply to a request to this address.
    pub fn era(&self) -> Era {
        self.version.map_or(Era::Legacy, Version::era)
    }

    /// Returns whether a request to this address names a session.
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
    /// Deletes the session.
    Delete,
    /// Opens the standing stream, or resumes a stream after this event.
    Get {
        /// The last event seen.
        last_event_id: Option<EventId>,
    },
    /// Sends one message.
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

/// A message from the server for the application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delivered {
    /// A notification.
    Notification {
        /// The call on whose stream it came, if it belongs to one.
        exchange: Option<ExchangeId>,
        /// The JSON-RPC method.
        method: Box<str>,
        /// The params, as sent.
        params: Option<Json>,
    },
    /// A question; answer it with `Link::answer`, or the client's `Inbox::answer`.
    Question {
        /// The id of the question.
        question: QuestionId,
        /// The call on whose stream it came, if it belongs to one.
        exchange: Option<ExchangeId>,
        /// The JSON-RPC method.
        method: Box<str>,
        /// The params, as sent.
        params: Option<Json>,
    },
    /// The answer to this question is no longer wanted.
    Withdrawn {
        /// The question.
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
