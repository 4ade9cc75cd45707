//! The stateless revision (2026-07-28) in front of a session-based backend.
//!
//! ```text
//!   POST ──checked: revision, headers against body──▶ server/discover ───────▶ from `initialize`
//!                                                     subscriptions/listen ──▶ a stream of changes
//!                                                     everything else ───────▶ a call
//! ```
//! A client of this revision has no session, so all requests of a principal share one conversation, which is
//! opened when it is first needed. A disconnect is a cancel. A question of the backend in the middle of a call
//! is the answer `input_required`; the call is held until the client comes back with its `requestState`.

mod answers;
mod call;
mod conversation;
mod holds;
mod listening;
mod listens;
mod question;
mod refusal;
mod routing;
mod seal;
mod sender;
mod writing;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::{HeaderMap, StatusCode};
use ridethrough_core::message::{Answer, Id, Json, Message, code};

use crate::backend::{Caller, Unavailable};
use crate::connections::Connection;
use crate::headers::Headers;
use crate::parts::ParsedMessage;
use crate::posted::{Posted, Refused};
use crate::reply::{self, Reply};
use crate::session::Undelivered;
use crate::sessions::Sessions;
use crate::streams::Carries;

use answers::{DISCOVER, are_pages, discovered, is_gone, were_visited};
use call::StatelessCall;
use conversation::SharedConversation;
use holds::Holds;
use listening::Listening;
use listens::{Filter, LISTEN, MOST_RESOURCES};
use question::CallState;
use refusal::Refusal;
pub(crate) use sender::REVISION;
use sender::{Sender, is_stateless, passed_on};
use writing::CallWriter;

/// Answers stateless requests.
pub(crate) struct Stateless {
    sessions: Arc<Sessions>,
    shared: Mutex<HashMap<Caller, Slot>>,
    holds: Arc<Holds>,
}

/// The conversation of a principal at one endpoint. It is locked while one is opened.
type Slot = Arc<tokio::sync::Mutex<Option<Arc<SharedConversation>>>>;

/// A request that was checked.
struct Request {
    id: Id,
    method: Box<str>,
    params: Json,
    sender: Sender,
    carries: Carries,
}

impl Stateless {
    pub(crate) fn new(sessions: Arc<Sessions>) -> Self {
        Self { sessions, shared: Mutex::default(), holds: Arc::default() }
    }

    /// Whether what a client posted belongs to the stateless revision.
    pub(crate) fn is_meant(headers: &Headers<'_>, posted: &Posted) -> bool {
        let [part] = &*posted.parts else { return false };
        if posted.is_batch {
            return false;
        }
        let named = headers.version();
        let is_named = named == Some(REVISION);
        match &part.message {
            Message::Request { method, .. } if &**method == "initialize" => false,
            Message::Request { method, params, .. } => {
                // A revision that nobody knows is newer, if it comes without a session.
                let is_newer = || named.is_some_and(|it| it > REVISION && !headers.has_session());
                is_named || &**method == DISCOVER || is_stateless(params.as_ref()) || is_newer()
            }
            Message::Notification { .. } | Message::Response { .. } => {
                is_named && !headers.has_session()
            }
        }
    }

    /// Answers what a client posted.
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
            // The revision has none that a client would send by HTTP.
            Message::Notification { .. } => return reply::empty(StatusCode::ACCEPTED),
            Message::Response { .. } => {
                let why = "answers to questions come in `inputResponses`, with the call repeated";
                return reply::wrong(why);
            }
        };
        let checked = check(headers, &method, params.as_ref());
        let sender = match checked {
            Ok(sender) => sender,
            Err(refusal) => return refused(&id, refusal),
        };
        let params = params.unwrap_or_else(Json::empty_object);
        let request = Request { id, method, params, sender, carries };
        // A conversation may end between the moment that it is found and the moment that it is used. What was
        // not sent can be sent in another.
        for _ in 0..2 {
            let conversation = match self.conversation(caller).await {
                Ok(conversation) => conversation,
                Err(unavailable) => return reply::unavailable(Some(&request.id), &unavailable),
            };
            connection.serves(conversation.session.number);
            let done = match &*request.method {
                DISCOVER => Ok(discover(&request, &conversation)),
                LISTEN => Ok(listen(&request, conversation).await),
                _ => self.call(headers, caller, &request, conversation, &mut posted).await,
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
        request: &Request,
        conversation: Arc<SharedConversation>,
        posted: &mut Posted,
    ) -> Result<Reply, ConversationOver> {
        let Request { id, method, params, sender, carries } = request;
        if let Err(refusal) = check_arguments(headers, request, &conversation).await {
            return Ok(refused(id, refusal));
        }
        let answering =
            CallWriter { holds: self.holds.clone(), principal: seal::principal(caller) };
        let subject = seal::subject(method, Some(params));
        let [state, responses] = params.pick(["requestState", "inputResponses"]);
        if let Some(state) = state {
            return Ok(self.resume(answering, request, &state, responses).await);
        }
        if responses.is_some_and(|it| are_pages(&it) && !were_visited(&it)) {
            return Ok(not_visited(id));
        }
        if let Some(level) = sender.level {
            conversation.log_from(level).await;
        }
        let number = conversation.number();
        let params = passed_on(params, sender.token.as_ref().map(|_| number));
        let message = ParsedMessage::request(Id::of_number(number), method, Some(&params));
        let state = Arc::new(CallState::new(method, sender.clone()));
        let asked = posted.replaced_by(message);
        match conversation.call(number, asked, state.clone()).await {
            Ok(reader) => {
                let id = id.clone();
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
                Ok(answering.reply(call, *carries).await)
            }
            Err(Undelivered::Over) => Err(ConversationOver),
            Err(Undelivered::NotTaken(why)) => Ok(reply::not_taken(Refused::NotTaken(why))),
            Err(Undelivered::TooLate) => Ok(reply::no_place("the server reads nothing")),
        }
    }

    /// Goes on with a call that was held, for a client that came back.
    async fn resume(
        &self,
        writer: CallWriter,
        request: &Request,
        state: &Json,
        responses: Option<Json>,
    ) -> Reply {
        let subject = seal::subject(&request.method, Some(&request.params));
        let state = state.string().unwrap_or_default();
        match self.holds.take(&state, &writer.principal, &subject) {
            Ok(mut call) => {
                let responses = responses.map(|it| it.members()).unwrap_or_default();
                call.resume(request.id.clone(), request.sender.clone(), &responses).await;
                writer.reply(call, request.carries).await
            }
            Err(why) => refused(&request.id, Refusal::new(code::INVALID_PARAMS, &why.to_string())),
        }
    }

    /// The conversation of a principal; it is opened if there is none.
    async fn conversation(&self, caller: &Caller) -> Result<Arc<SharedConversation>, Unavailable> {
        let slot = {
            let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
            shared.entry(caller.clone()).or_default().clone()
        };
        let (sessions, caller) = (self.sessions.clone(), caller.clone());
        // A task of its own: others may wait for the conversation when this client leaves.
        let opening = tokio::spawn(async move {
            let mut slot = slot.lock().await;
            if let Some(open) = slot.as_ref().filter(|open| !open.is_over()) {
                return Ok(open.clone());
            }
            let open = SharedConversation::open(&sessions, &caller).await?;
            Ok(slot.insert(open).clone())
        });
        // It fails only if the runtime shuts down, and then no request is answered.
        opening.await.unwrap_or_else(|_| {
            let what = "the server is being stopped".to_owned();
            Err(Unavailable { what, retry_after: Duration::from_secs(1) })
        })
    }
}

/// The conversation ended before a call was sent.
struct ConversationOver;

/// Checks what can be checked without the backend.
fn check(headers: &HeaderMap, method: &str, params: Option<&Json>) -> Result<Sender, Refusal> {
    let sender = Sender::read(params, Headers(headers).version())?;
    routing::check(headers, method, params)?;
    if is_gone(method) {
        return Err(Refusal::no_method(method));
    }
    Ok(sender)
}

/// Checks the headers that repeat arguments of a tool.
async fn check_arguments(
    headers: &HeaderMap,
    request: &Request,
    conversation: &SharedConversation,
) -> Result<(), Refusal> {
    if &*request.method != "tools/call" {
        return Ok(());
    }
    let [name, arguments] = request.params.pick(["name", "arguments"]);
    let Some(name) = name.and_then(|name| name.read::<String>()) else { return Ok(()) };
    match conversation.mirrors_of(&name).await {
        Some(mirrors) => routing::check_arguments(headers, &mirrors, arguments.as_ref()),
        None => Ok(()),
    }
}

fn discover(request: &Request, conversation: &SharedConversation) -> Reply {
    let result = Answer::Result(discovered(&conversation.initialized));
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

/// The answer to a call whose URLs were not visited.
fn not_visited(id: &Id) -> Reply {
    let why = "the call was not sent: a page must be visited first, and that was declined";
    let answer = Answer::refusal(code::INTERNAL_ERROR, why);
    reply::pieces(StatusCode::OK, answers::written(id, &answer, "", None))
}
