//! Opening a stream: a GET, and a first event that names the address to post to.
//!
//! ```text
//!   GET ──200, a stream──▶ event `endpoint`, of our origin ──▶ open
//!    │                  └──▶ another first event, none in time, the end ──▶ no HTTP+SSE here: 405
//!    │                  └──▶ `endpoint` of another origin ──▶ a failure that says so
//!    ├──any other answer ──▶ that answer
//!    └──no answer in time ──▶ a failure: silence does not show what the server speaks
//! ```

use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use ridethrough_core::head::Redirect;
use ridethrough_core::{Address, Cause, Failure, Headers, Lane, Outgoing, Route, Verb};
use ridethrough_wire::sse::{Decoder, SseEvent};
use tokio::time::{Instant, timeout_at};

use super::stream::{EventBytes, Stream, is_endpoint};
use super::{HttpSseShared, OutgoingMessage, status};
use crate::endpoint::Endpoint;
use crate::transport::{Recall, Reply, TransportRequest};

/// A stream that is about to be opened, for the handshake that needs it.
pub(super) struct Opening<'a> {
    pub(super) shared: &'a HttpSseShared,
    pub(super) letter: &'a OutgoingMessage,
}

impl Opening<'_> {
    /// Opens the stream. The inner error is the server's refusal.
    pub(super) async fn stream(&self) -> Result<Result<Arc<Stream>, Reply>, Failure> {
        let until = Instant::now() + WITHIN;
        let reply = match timeout_at(until, self.get()).await {
            Ok(reply) => reply?,
            Err(_) => return Err(Failure::unknown(Cause::TimedOut)),
        };
        match timeout_at(until, self.begin(reply)).await {
            Ok(result) => result,
            // A server of Streamable HTTP that opens its standing stream to any client sends nothing on it.
            Err(_) => Ok(Err(none_here())),
        }
    }

    async fn begin(&self, reply: Reply) -> Result<Result<Arc<Stream>, Reply>, Failure> {
        let body = match reply {
            Reply::Answered { head, body, .. } if head.is_stream() => body,
            Reply::Answered { mut head, body, capacity } if !head.status.is_success() => {
                if matches!(head.status.as_u16(), 301..=303)
                    && matches!(head.redirect, Some(Redirect::SameOrigin(_)))
                {
                    // A GET is repeated after any of these redirects; only 307 and 308 allow the POST to
                    // follow, too.
                    head.status = StatusCode::TEMPORARY_REDIRECT;
                }
                return Ok(Err(Reply::Answered { head, body, capacity }));
            }
            _ => return Ok(Err(none_here())),
        };
        let mut bytes = EventBytes { body, decoder: Decoder::new(self.shared.message_limit) };
        match bytes.first_event().await? {
            Some(event) if is_endpoint(&event) => {
                let post_to = self.address(&event)?;
                let number = self.shared.next_number();
                let stream =
                    Stream::open(number, post_to, &event, bytes, self.shared.message_limit);
                Ok(Ok(stream))
            }
            _ => Ok(Err(none_here())),
        }
    }

    async fn get(&self) -> Result<Reply, Failure> {
        let OutgoingMessage { outgoing, token, .. } = self.letter;
        let (generation, target) = (outgoing.to.generation, outgoing.to.target.clone());
        let outgoing = Outgoing {
            attempt: outgoing.attempt,
            verb: Verb::Get { last_event_id: None },
            to: Address { generation, target, ..Address::default() },
            credentials: outgoing.credentials,
            headers: Headers::default(),
            lane: Lane::Control,
            route: Route::Any,
        };
        let (token, recall) = (token.clone(), Recall::default());
        self.shared.http.perform(TransportRequest::Request { outgoing, token, recall }).await
    }

    /// Returns the address to post to, if it is of our origin: our credentials are sent there.
    fn address(&self, event: &SseEvent) -> Result<Arc<str>, Failure> {
        let endpoint = &self.shared.endpoint;
        let asked = self.letter.outgoing.to.target.as_deref().unwrap_or(endpoint.path());
        let named = std::str::from_utf8(&event.data).unwrap_or_default().trim();
        let refusal = match endpoint.redirect(asked, named) {
            Some(Redirect::SameOrigin(path)) if !named.is_empty() => return Ok(path),
            Some(Redirect::OtherOrigin(url)) => match Endpoint::parse(&url) {
                Ok(other) => format!("`{}`", other.origin()),
                Err(_) => "another origin".to_owned(),
            },
            _ => "an address that is none".to_owned(),
        };
        let detail = format!(
            "the server wants messages to be sent to {refusal}, not to `{}`; nothing was sent there",
            endpoint.origin()
        );
        Err(Failure::not_sent(Cause::Misconfigured).with_detail(detail))
    }
}

/// Returns the reply by which the machine learns that the server does not speak HTTP+SSE.
fn none_here() -> Reply {
    status(StatusCode::METHOD_NOT_ALLOWED)
}

/// How long opening may take, within the 15 s of a handshake.
const WITHIN: Duration = Duration::from_secs(10);
