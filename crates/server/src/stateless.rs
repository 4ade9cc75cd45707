//! The stateless revision (2026-07-28) in front of a session-based backend.
//!
//! ```text
//!   POST ──checked: revision, headers against body──▶ server/discover ───────▶ from `initialize`
//!                                                     subscriptions/listen ──▶ a stream of changes
//!                                                     everything else ───────▶ a call
//! ```
//! A client of this revision has no session, so all requests of a principal share one conversation, which is
//! opened when it is first needed. A disconnect is a cancellation. A question of the backend in the middle of
//! a call becomes the answer `input_required`; the call is held until the client comes back with its
//! `requestState`.

mod answers;
mod call;
mod conversation;
mod holds;
mod listening;
mod listens;
mod question;
mod refusal;
mod rehearsal;
mod request;
mod routing;
mod seal;
mod sender;
mod writing;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::{HeaderMap, StatusCode};
use ridethrough_wire::message::{Answer, Id, Message, code};
use ridethrough_wire::stateless::{DISCOVER, REVISION, discovered};

use crate::backend::{Caller, Unavailable};
use crate::connections::Connection;
use crate::headers::Headers;
use crate::parts::ParsedMessage;
use crate::posted::{Posted, Refused};
use crate::reply::{self, Reply};
use crate::session::Undelivered;
use crate::sessions::Sessions;
use crate::streams::Carries;

use call::StatelessCall;
use conversation::{NotOpened, SharedConversation};
use holds::Holds;
use listening::Listening;
use listens::{Filter, LISTEN, MOST_RESOURCES};
use question::CallState;
use refusal::{Refusal, supported};
pub use rehearsal::{StateContents, StateRehearsal, StateSubject};
use request::Request;
pub use seal::{Digest, subject as call_digest};
use sender::is_stateless;
use writing::CallWriter;

/// Answers stateless requests.
pub(crate) struct Stateless {
    sessions: Arc<Sessions>,
    shared: Mutex<HashMap<Caller, Slot>>,
    holds: Arc<Holds>,
}

/// The conversation of a principal at one endpoint. It is locked while one is opened.
type Slot = Arc<tokio::sync::Mutex<Option<Arc<SharedConversation>>>>;

impl Stateless {
    pub(crate) fn new(sessions: Arc<Sessions>) -> Self {
        Self { sessions, shared: Mutex::default(), holds: Arc::default() }
    }

    /// Whether a posted body belongs to the stateless revision.
    pub(crate) fn is_meant(headers: &Headers<'_>, posted: &Posted) -> bool {
        let [part] = &*posted.parts else { return false };
        if posted.is_batch {
            return false;
        }
        let named = headers.version();
        let is_named = named == Some(REVISION);
        match &part.message {
            // A client that speaks both eras may name the newer one in the header of its `initialize`.
            Message::Request { method, params, .. } if &**method == "initialize" => {
                is_stateless(params.as_ref())
            }
            Message::Request { method, params, .. } => {
                // An unknown revision is a newer one, if it comes without a session.
                let is_newer = || named.is_some_and(|it| it > REVISION && !headers.has_session());
                is_named || &**method == DISCOVER || is_stateless(params.as_ref()) || is_newer()
            }
            Message::Notification { .. } | Message::Response { .. } => {
                is_named && !headers.has_session()
            }
        }
    }

    /// Answers a posted body.
    pub(crate) async fn answer(
        &self,
        headers: &HeaderMap,
        caller: &Caller,
        mut posted: Posted,
        carries: Carries,
        connection: &Connection,
    ) -> Reply {
        let Some(ParsedMessage { message, .. }) = posted.parts.pop() else {
            return reply::wrong("this is no JSON-RPC message");
        };
        let (id, method, params) = match message {
            Message::Request { id, method, params } => (id, method, params),
            // This revision has no notification that a client would send by HTTP.
            Message::Notification { .. } => return reply::empty(StatusCode::ACCEPTED),
            Message::Response { .. } => {
                let why = "answers to questions come in `inputResponses`, with the call repeated";
                return reply::wrong(why);
            }
        };
        let caller = &caller.clone().stateless();
        let understands = self.sessions.understands_stateless();
        let reading = Request::read(headers, &id, method, params, carries, understands);
        let mut request = match reading.await {
            Some(Ok(request)) => request,
            Some(Err(refusal)) => return refused(&id, refusal),
            None => return reply::no_place(Some(&id), "the server is being stopped"),
        };
        if !request.round.is_held(&self.holds)
            && let Err(stopping) = self.sessions.check_begins()
        {
            return reply::unavailable(Some(&id), &stopping);
        }
        // A conversation may end between the moment that it is found and the moment that it is used. What was
        // not sent can be sent in another.
        for _ in 0..2 {
            let conversation = match self.conversation(caller).await {
                Ok(conversation) => conversation,
                Err(NotOpened::Refused(refusal)) => {
                    let refusal = answers::written(&request.id, &refusal, "", None);
                    return reply::pieces(StatusCode::OK, refusal);
                }
                Err(NotOpened::Unavailable(unavailable)) => {
                    return reply::unavailable(Some(&request.id), &unavailable);
                }
            };
            connection.serves(conversation.session.number);
            let done = match &*request.method {
                DISCOVER => Ok(discover(&request, &conversation)),
                LISTEN => Ok(listen(&request, conversation).await),
                _ => self.call(headers, caller, &mut request, conversation, &mut posted).await,
            };
            if let Ok(reply) = done {
                return reply;
            }
        }
        let what = format!("`{}` has ended", self.sessions.name());
        reply::unavailable(
            Some(&request.id),
            &Unavailable { what, retry_after: Duration::from_secs(1) },
        )
    }

    async fn call(
        &self,
        headers: &HeaderMap,
        caller: &Caller,
        request: &mut Request,
        conversation: Arc<SharedConversation>,
        posted: &mut Posted,
    ) -> Result<Reply, ConversationOver> {
        if let Err(refusal) = request.check_arguments(headers, &conversation).await {
            return Ok(refused(&request.id, refusal));
        }
        let writer = CallWriter { holds: self.holds.clone(), principal: seal::principal(caller) };
        if !request.round.is_backends(&self.holds)
            && let Some(state) = request.round.state.take()
        {
            return Ok(self.resume(writer, request, &state).await);
        }
        if request.round.is_declined {
            return Ok(not_visited(&request.id));
        }
        if let Some(level) = request.sender.level {
            conversation.log_from(level).await;
        }
        let number = conversation.number();
        let (sender, understands) = (request.sender.clone(), self.sessions.understands_stateless());
        let state = Arc::new(CallState::new(&request.method, sender, understands));
        let Some(message) = request.passed_on(number).await else { return Err(ConversationOver) };
        let mut asked = posted.replaced_by(message);
        asked.client = Some(request.sender.client.clone().unwrap_or_default());
        match conversation.call(number, asked, state.clone()).await {
            Ok(reader) => {
                // The call may run for long, and the room for its body was given back.
                request.forget_body();
                let (id, subject) = (request.id.clone(), request.round.subject);
                let (gathers, is_over) = (None, false);
                let call = StatelessCall {
                    conversation,
                    number,
                    state,
                    reader,
                    id,
                    subject,
                    gathers,
                    is_over,
                };
                Ok(writer.reply(call, request.carries).await)
            }
            Err(Undelivered::Over) => Err(ConversationOver),
            Err(Undelivered::NotTaken(why)) => Ok(reply::not_taken(Refused::NotTaken(why))),
            Err(Undelivered::TooLate) => {
                Ok(reply::no_place(Some(&request.id), "the server reads nothing"))
            }
        }
    }

    /// Goes on with a call that was held, for a client that came back.
    async fn resume(&self, writer: CallWriter, request: &mut Request, state: &str) -> Reply {
        match self.holds.take(state, &writer.principal, &request.round.subject) {
            Ok(mut call) => {
                let responses = request.round.responses.take();
                call.resume(request.id.clone(), request.sender.clone(), responses).await;
                request.forget_body();
                writer.reply(call, request.carries).await
            }
            Err(why) => refused(&request.id, Refusal::new(code::INVALID_PARAMS, &why.to_string())),
        }
    }

    /// Returns the conversation of a principal; it is opened if there is none.
    async fn conversation(&self, caller: &Caller) -> Result<Arc<SharedConversation>, NotOpened> {
        let slot = {
            let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
            if shared.len() >= MANY && !shared.contains_key(caller) {
                shared.retain(|_, slot| is_in_use(slot));
            }
            shared.entry(caller.clone()).or_default().clone()
        };
        if let Some(open) = slot.try_lock().ok().and_then(|slot| open_in(&slot)) {
            return Ok(open);
        }
        let (sessions, caller) = (self.sessions.clone(), caller.clone());
        // This is a task of its own, because others may wait for the conversation when this client leaves.
        let opening = tokio::spawn(async move {
            let mut slot = slot.lock().await;
            if let Some(open) = open_in(&slot) {
                return Ok(open);
            }
            let open = SharedConversation::open(&sessions, &caller).await?;
            Ok(slot.insert(open).clone())
        });
        // This fails only if the runtime shuts down, and then no request is answered.
        opening.await.unwrap_or_else(|_| {
            let what = "the server is being stopped".to_owned();
            Err(Unavailable { what, retry_after: Duration::from_secs(1) }.into())
        })
    }
}

/// The conversation in a slot, if it goes on.
fn open_in(slot: &Option<Arc<SharedConversation>>) -> Option<Arc<SharedConversation>> {
    slot.as_ref().filter(|open| !open.is_over()).cloned()
}

/// Whether a slot has a conversation that goes on, or a request has the slot.
fn is_in_use(slot: &Slot) -> bool {
    Arc::strong_count(slot) > 1 || slot.try_lock().map_or(true, |slot| open_in(&slot).is_some())
}

/// The conversation ended before a call was sent.
struct ConversationOver;

fn discover(request: &Request, conversation: &SharedConversation) -> Reply {
    let result = Answer::Result(discovered(&conversation.initialized, &supported()));
    let server = conversation.server.as_ref();
    reply::pieces(StatusCode::OK, answers::written(&request.id, &result, DISCOVER, server))
}

async fn listen(request: &Request, conversation: Arc<SharedConversation>) -> Reply {
    if request.carries == Carries::Answers {
        return reply::refusal(
            StatusCode::NOT_ACCEPTABLE,
            code::SERVER_ERROR,
            "a subscription is answered with `text/event-stream`",
        );
    }
    let filter = Filter::read(Some(&request.params));
    let Some(filter) = filter.filter(|it| it.resources.len() <= MOST_RESOURCES) else {
        let why =
            format!("`notifications` says what to listen for, {MOST_RESOURCES} resources at most");
        return refused(&request.id, Refusal::new(code::INVALID_PARAMS, &why));
    };
    match Listening::begin(conversation, request.id.clone(), filter).await {
        Some(listening) => writing::changes(listening),
        None => reply::refusal(
            StatusCode::TOO_MANY_REQUESTS,
            code::SERVER_ERROR,
            "too many subscriptions are open; end one first",
        ),
    }
}

fn refused(id: &Id, refusal: Refusal) -> Reply {
    let (status, body) = refusal.answer(id);
    reply::json(status, body)
}

/// Returns the answer to a call whose URLs were not visited.
fn not_visited(id: &Id) -> Reply {
    let why = "the call was not sent: a page must be visited first, and that was declined";
    let answer = Answer::refusal(code::INTERNAL_ERROR, why);
    reply::pieces(StatusCode::OK, answers::written(id, &answer, "", None))
}

/// How many principals are remembered before those without a conversation are forgotten.
const MANY: usize = 1000;
