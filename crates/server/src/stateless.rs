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

use bytes::Bytes;
use futures_util::stream::{self, Stream};
use futures_util::{StreamExt, future};
use http::{HeaderMap, StatusCode};
use ridethrough_wire::message::{Answer, Id, Message, code};
use ridethrough_wire::stateless::{DISCOVER, Filter, LISTEN, REVISION, discovered, supported};

use crate::backend::{Caller, Unavailable};
use crate::connections::Connection;
use crate::fault;
use crate::headers::Headers;
use crate::parts::ParsedMessage;
use crate::posted::Posted;
use crate::reply::{self, Reply};
use crate::session::Undelivered;
use crate::sessions::Sessions;
use crate::streams::Carries;

use call::StatelessCall;
use conversation::{NotOpened, SharedConversation};
use holds::Holds;
use listening::Listening;
use listens::{LONGEST_LIST, MOST_RESOURCES};
use question::CallState;
use refusal::Refusal;
pub use rehearsal::{StateContents, StateRehearsal, StateSubject};
use request::Request;
pub use seal::{Digest, subject as call_digest};
pub(crate) use sender::is_stateless;
use writing::{CallWriter, Last};

/// Answers stateless requests.
pub(crate) struct Stateless {
    sessions: Arc<Sessions>,
    shared: Mutex<HashMap<Caller, Slot>>,
    holds: Arc<Holds>,
}

/// How a request came in.
enum Way<'a> {
    Http { headers: &'a HeaderMap, carries: Carries, connection: &'a Connection },
    Line,
}

/// What became of a request so far.
enum Begun {
    Answered(Last),
    Call(CallWriter, Box<StatelessCall>),
    Listening(Listening),
}

impl Way<'_> {
    /// The headers that repeat parts of the request, if it has any.
    const fn headers(&self) -> Option<&HeaderMap> {
        match self {
            Self::Http { headers, .. } => Some(headers),
            Self::Line => None,
        }
    }

    /// Whether more than an answer can be sent.
    fn carries_more(&self) -> bool {
        !matches!(self, Self::Http { carries: Carries::Answers, .. })
    }

    /// Notes that the way serves this session.
    fn serves(&self, session: u64) {
        if let Self::Http { connection, .. } = self {
            connection.serves(session);
        }
    }
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

    /// Answers a body that came by HTTP.
    pub(crate) async fn answer(
        &self,
        headers: &HeaderMap,
        caller: &Caller,
        posted: Posted,
        carries: Carries,
        connection: &Connection,
    ) -> Reply {
        match posted.parts.first().map(|part| &part.message) {
            Some(Message::Request { .. }) => {}
            // This revision has no notification that a client would send by HTTP.
            Some(Message::Notification { .. }) => return reply::empty(StatusCode::ACCEPTED),
            Some(Message::Response { .. }) => {
                let why = "answers to questions come in `inputResponses`, with the call repeated";
                return reply::wrong(why);
            }
            None => return reply::wrong("this is no JSON-RPC message"),
        }
        match self.begin(Way::Http { headers, carries, connection }, caller, posted).await {
            Begun::Answered(last) => last.reply(),
            Begun::Call(writer, call) => writer.reply(call, carries).await,
            Begun::Listening(listening) => writing::changes(listening),
        }
    }

    /// Answers a request that came on a line, by lines of which the last is the answer. Dropping the stream cancels
    /// the request.
    pub(crate) fn lines(
        self: &Arc<Self>,
        caller: Caller,
        request: ParsedMessage,
    ) -> impl Stream<Item = Bytes> + Send + 'static {
        let this = self.clone();
        let begun = async move {
            match this.begin(Way::Line, &caller, Posted::of(request)).await {
                Begun::Answered(last) => stream::iter([last.pieces]).boxed(),
                Begun::Call(writer, call) => writer.pieces(call).filter_map(future::ready).boxed(),
                Begun::Listening(it) => writing::told(it).filter_map(future::ready).boxed(),
            }
        };
        stream::once(begun).flatten().map(|pieces| pieces.concat().into())
    }

    /// Begins to answer a request.
    async fn begin(&self, way: Way<'_>, caller: &Caller, mut posted: Posted) -> Begun {
        let Some(ParsedMessage { message: Message::Request { id, method, params }, .. }) =
            posted.parts.pop()
        else {
            let why = "this is no JSON-RPC message";
            return Begun::Answered(Last::refusal(None, code::INVALID_REQUEST, why));
        };
        let caller = &caller.clone().stateless();
        let understands = self.sessions.understands_stateless();
        let reading = Request::read(way.headers(), &id, method, params, understands);
        let mut request = match reading.await {
            Some(Ok(request)) => request,
            Some(Err(refusal)) => return refused(&id, refusal),
            None => return unavailable(&id, &reply::full("the server is being stopped")),
        };
        if !request.round.is_held(&self.holds)
            && let Err(stopping) = self.sessions.check_begins()
        {
            return unavailable(&id, &stopping);
        }
        // A conversation may end between the moment that it is found and the moment that it is used. What was
        // not sent can be sent in another.
        for _ in 0..2 {
            let conversation = match self.conversation(caller).await {
                Ok(conversation) => conversation,
                Err(NotOpened::Refused(refusal)) => {
                    return Begun::Answered(Last::ok(answers::written(&id, &refusal, "", None)));
                }
                Err(NotOpened::Unavailable(why)) => return unavailable(&id, &why),
            };
            way.serves(conversation.session.number);
            let done = match &*request.method {
                DISCOVER => Ok(discover(&request, &conversation)),
                LISTEN if !way.carries_more() => Ok(Begun::Answered(Last {
                    status: StatusCode::NOT_ACCEPTABLE,
                    ..Last::refusal(None, code::SERVER_ERROR, NO_EVENTS)
                })),
                LISTEN => Ok(listen(&request, conversation).await),
                _ => self.call(&way, caller, &mut request, conversation, &mut posted).await,
            };
            if let Ok(begun) = done {
                return begun;
            }
        }
        let what = format!("`{}` has ended", self.sessions.name());
        unavailable(&id, &Unavailable { what, retry_after: Duration::from_secs(1) })
    }

    async fn call(
        &self,
        way: &Way<'_>,
        caller: &Caller,
        request: &mut Request,
        conversation: Arc<SharedConversation>,
        posted: &mut Posted,
    ) -> Result<Begun, ConversationOver> {
        if let Some(headers) = way.headers()
            && let Err(refusal) = request.check_arguments(headers, &conversation).await
        {
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
                Ok(Begun::Call(writer, Box::new(call)))
            }
            Err(Undelivered::Over) => Err(ConversationOver),
            Err(Undelivered::NotTaken(why)) => {
                let (status, code, words) = reply::not_taken_words(why);
                let last = Last::refusal(Some(&request.id), code, &words);
                Ok(Begun::Answered(Last { status, ..last }))
            }
            Err(Undelivered::TooLate) => {
                Ok(unavailable(&request.id, &reply::full("the server reads nothing")))
            }
        }
    }

    /// Goes on with a call that was held, for a client that came back.
    async fn resume(&self, writer: CallWriter, request: &mut Request, state: &str) -> Begun {
        match self.holds.take(state, &writer.principal, &request.round.subject) {
            Ok(mut call) => {
                let responses = request.round.responses.take();
                call.resume(request.id.clone(), request.sender.clone(), responses).await;
                request.forget_body();
                Begun::Call(writer, Box::new(call))
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

fn discover(request: &Request, conversation: &SharedConversation) -> Begun {
    let result = Answer::Result(discovered(&conversation.initialized, &supported()));
    let server = conversation.server.as_ref();
    Begun::Answered(Last::ok(answers::written(&request.id, &result, DISCOVER, server)))
}

async fn listen(request: &Request, conversation: Arc<SharedConversation>) -> Begun {
    let params = Some(&request.params).filter(|it| it.as_bytes().len() <= LONGEST_LIST);
    let filter = Filter::read(params);
    let Some(filter) = filter.filter(|it| it.resources.len() <= MOST_RESOURCES) else {
        let why =
            format!("`notifications` says what to listen for, {MOST_RESOURCES} resources at most");
        return refused(&request.id, Refusal::new(code::INVALID_PARAMS, &why));
    };
    match Listening::begin(conversation, request.id.clone(), filter).await {
        Some(listening) => Begun::Listening(listening),
        None => {
            let why = "too many subscriptions are open; end one first";
            let last = Last::refusal(Some(&request.id), code::SERVER_ERROR, why);
            Begun::Answered(Last { status: StatusCode::TOO_MANY_REQUESTS, ..last })
        }
    }
}

fn refused(id: &Id, refusal: Refusal) -> Begun {
    let (status, body) = refusal.answer(id);
    Begun::Answered(Last { status, ..Last::ok(vec![body]) })
}

/// Returns the answer to a request that cannot be taken now.
fn unavailable(id: &Id, why: &Unavailable) -> Begun {
    let retry_after = Some(why.retry_after);
    let last = Last::ok(vec![fault::unavailable(Some(id), why)]);
    Begun::Answered(Last { status: StatusCode::SERVICE_UNAVAILABLE, retry_after, ..last })
}

/// Returns the answer to a call whose URLs were not visited.
fn not_visited(id: &Id) -> Begun {
    let why = "the call was not sent: a page must be visited first, and that was declined";
    let answer = Answer::refusal(code::INTERNAL_ERROR, why);
    Begun::Answered(Last::ok(answers::written(id, &answer, "", None)))
}

const NO_EVENTS: &str = "a subscription is answered with `text/event-stream`";
/// How many principals are remembered before those without a conversation are forgotten.
const MANY: usize = 1000;
