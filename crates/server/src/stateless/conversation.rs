//! The one conversation that all stateless requests of a principal share, in which the server itself is the
//! client.
//!
//! ```text
//!   request 1 ──▶ ┌────────────────────┐ ──ids of our own──▶ backend
//!   request 2 ──▶ │ SharedConversation │ ◀──answers, progress: by id and token──
//!                 └────────────────────┘ ◀──questions, log, changes: as said in `hear`──
//! ```
//! It is a session like that of any client, with its streams, its bounds and its idle time.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ridethrough_core::Version;
use ridethrough_wire::message::{Answer, Id, Json, LogLevel, Message, code, notification};
use ridethrough_wire::mirror::Mirrors;
use ridethrough_wire::stateless::{can_ask, needed};
use serde_json::json;
use tokio::time::{Instant, timeout};

use super::listens::Listens;
use super::question::CallState;
use crate::backend::{Caller, Unavailable};
use crate::fault::Over;
use crate::log::Said;
use crate::parts::ParsedMessage;
use crate::posted::Posted;
use crate::reader::{Piece, Reader};
use crate::session::{Session, Unclaimed, Undelivered};
use crate::sessions::Sessions;
use crate::streams::Carries;

/// A conversation that is shared.
pub(crate) struct SharedConversation {
    pub(crate) session: Arc<Session>,
    /// The result of `initialize`.
    pub(crate) initialized: Json,
    /// The name of the server, for results.
    pub(crate) server: Option<Json>,
    next: AtomicU64,
    calls: Mutex<BTreeMap<u64, Arc<CallState>>>,
    pub(crate) listens: Listens,
    /// The log level that the backend was told.
    level: Mutex<Option<LogLevel>>,
    mirrors: tokio::sync::Mutex<KnownMirrors>,
    /// The number of changes of the tools.
    tools: AtomicU64,
}

/// The arguments that tools mirror in headers.
#[derive(Default)]
struct KnownMirrors {
    /// By tool; `None` if the list of tools must be requested first.
    by_tool: Option<Arc<HashMap<String, Mirrors>>>,
    /// When a list that could not be read is requested again.
    again_at: Option<Instant>,
}

/// Why there is no conversation.
#[derive(Clone, Debug)]
pub(crate) enum NotOpened {
    /// The backend has answered `initialize` by an error.
    Refused(Answer),
    Unavailable(Unavailable),
}

impl From<Unavailable> for NotOpened {
    fn from(unavailable: Unavailable) -> Self {
        Self::Unavailable(unavailable)
    }
}

impl SharedConversation {
    /// Opens a conversation: `initialize`, with everything that a client of the stateless revision may
    /// declare.
    pub(crate) async fn open(
        sessions: &Arc<Sessions>,
        caller: &Caller,
    ) -> Result<Arc<Self>, NotOpened> {
        let session = sessions.begin(caller).await?;
        let unclaimed = Unclaimed::new(session.clone());
        let late = || Unavailable {
            what: format!("`{}` has not answered `initialize`", sessions.name()),
            retry_after: Duration::ZERO,
        };
        session.lock().version = Some(Version::LATEST_LEGACY.as_str().to_owned());
        let hello = ParsedMessage::request(Id::of_number(0), "initialize", Some(&hello()));
        let answer = match session.ask(Posted::of(hello), Carries::Answers).await {
            Ok(reader) => timeout(PATIENCE, answer_of(reader)).await.map_err(|_| late())?,
            Err(_) => None,
        };
        if let Some(over) = session.lock().over.clone() {
            let retry_after = match &over {
                Over::Closed(_) => Duration::ZERO,
                Over::Died(ending) => ending.retry_after,
            };
            return Err(Unavailable { what: over.story(), retry_after }.into());
        }
        let initialized = match answer {
            Some(Answer::Result(initialized)) => initialized,
            Some(refusal) => return Err(NotOpened::Refused(refusal)),
            None => return Err(late().into()),
        };
        let greeted =
            ParsedMessage::notification("notifications/initialized", Some(&Json::empty_object()));
        if session.tell(Posted::of(greeted)).await.is_err() {
            return Err(late().into());
        }
        unclaimed.claim();
        let conversation = Arc::new(Self {
            server: initialized.member("serverInfo"),
            session,
            initialized,
            next: AtomicU64::new(1),
            calls: Mutex::default(),
            listens: Listens::default(),
            level: Mutex::default(),
            mirrors: tokio::sync::Mutex::default(),
            tools: AtomicU64::new(0),
        });
        conversation.clone().listen();
        Ok(conversation)
    }

    /// Whether the conversation accepts no more requests.
    pub(crate) fn is_over(&self) -> bool {
        self.session.lock().over.is_some() || self.session.asked_to_end.borrow().is_some()
    }

    /// Returns the number of a new call.
    pub(crate) fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Sends a call. From here on, its questions and its log reach `state`.
    pub(crate) async fn call(
        &self,
        number: u64,
        posted: Posted,
        state: Arc<CallState>,
    ) -> Result<Reader, Undelivered> {
        // The call is registered first, because the backend may ask before `Session::ask` returns.
        self.calls().insert(number, state);
        let gone = Forget { conversation: self, number: Some(number) };
        let reader = self.session.ask(posted, Carries::Everything).await?;
        gone.keep();
        Ok(reader)
    }

    /// Forgets a call that is over.
    pub(crate) fn forget(&self, number: u64) -> Option<Arc<CallState>> {
        self.calls().remove(&number)
    }

    /// Sends a request of the server's own. `None` if the conversation ends, or no answer comes for too long.
    pub(crate) async fn request(&self, method: &str, params: &Json) -> Option<Answer> {
        let id = Id::of_number(self.number());
        let asked = ParsedMessage::request(id, method, Some(params));
        let reader = self.session.ask(Posted::of(asked), Carries::Answers).await.ok()?;
        timeout(PATIENCE, answer_of(reader)).await.ok()?
    }

    /// Sends the answer to a question of the backend.
    pub(crate) async fn answer(&self, id: &Id, answer: &Answer) {
        // It fails only if the conversation is over, and then nobody waits for it.
        let _ = self.session.tell(Posted::of(ParsedMessage::response(id, answer))).await;
    }

    /// Sends a cancellation. The answer of the call is not waited for.
    pub(crate) async fn cancel(&self, number: u64, reason: &str) {
        let params = Json::from(json!({ "requestId": number, "reason": reason }));
        let cancelled = ParsedMessage::notification(notification::CANCELLED, Some(&params));
        // It fails only if the conversation is over, and so is the call then.
        let _ = self.session.tell(Posted::of(cancelled)).await;
    }

    /// Whether the backend has declared this capability, such as `tools.listChanged`.
    pub(crate) fn announces(&self, family: &str, member: &str) -> bool {
        let family = self.initialized.member("capabilities").and_then(|all| all.member(family));
        match member {
            "" => family.is_some(),
            _ => family.and_then(|it| it.member(member)?.read::<bool>()).unwrap_or(false),
        }
    }

    /// Makes the backend log from this level on. The level applies to all calls together, so it is only ever
    /// lowered; each call gets the records that it wants.
    pub(crate) async fn log_from(&self, level: LogLevel) {
        {
            let mut told = self.level.lock().unwrap_or_else(PoisonError::into_inner);
            if told.is_some_and(|told| told <= level) || !self.announces("logging", "") {
                return;
            }
            *told = Some(level);
        }
        let params = Json::from(json!({ "level": level.name() }));
        self.request("logging/setLevel", &params).await;
    }

    /// Returns the arguments that this tool mirrors in headers, according to the backend's list of tools.
    pub(crate) async fn mirrors_of(&self, tool: &str) -> Option<Mirrors> {
        if !self.announces("tools", "") {
            return None;
        }
        let mut known = self.mirrors.lock().await;
        if known.by_tool.is_none() {
            if known.again_at.is_some_and(|again| Instant::now() < again) {
                return None;
            }
            let before = self.tools.load(Ordering::Acquire);
            let listing = timeout(PATIENCE_FOR_A_CALL, self.list_mirrors());
            let Some(listed) = listing.await.ok().flatten() else {
                known.again_at = Some(Instant::now() + PAUSE);
                return None;
            };
            let found = listed.get(tool).cloned();
            // A list that has changed meanwhile is requested again the next time.
            if self.tools.load(Ordering::Acquire) == before {
                known.by_tool = Some(Arc::new(listed));
            }
            return found;
        }
        known.by_tool.as_ref().and_then(|known| known.get(tool).cloned())
    }

    async fn list_mirrors(&self) -> Option<HashMap<String, Mirrors>> {
        let mut found = HashMap::new();
        let mut params = Json::empty_object();
        for _ in 0..MOST_PAGES {
            let Answer::Result(page) = self.request("tools/list", &params).await? else {
                return Some(found);
            };
            for tool in page.member("tools").and_then(|it| it.elements()).unwrap_or_default() {
                let [name, schema] = tool.pick(["name", "inputSchema"]);
                // A client drops a tool whose marks are invalid, so its headers cannot be checked.
                let mirrors = schema.and_then(|schema| Mirrors::of_schema(&schema).ok());
                if let (Some(name), Some(mirrors)) = (name.and_then(|it| it.read()), mirrors)
                    && !mirrors.is_empty()
                {
                    found.insert(name, mirrors);
                }
            }
            let Some(cursor) = page.member("nextCursor") else { return Some(found) };
            params = Json::empty_object().with_members([("cursor".to_owned(), cursor)]);
        }
        Some(found)
    }

    /// Reads the messages that belong to no call in particular, until the conversation is over.
    fn listen(self: Arc<Self>) {
        let Some(mut reader) = self.session.attach_quietly() else { return };
        let conversation = Arc::downgrade(&self);
        tokio::spawn(async move {
            while let Some(piece) = reader.next().await {
                let Piece::Event(entry) = piece else { continue };
                let Some(conversation) = conversation.upgrade() else { return };
                if let Said::Message(message) = entry.said {
                    conversation.hear(message).await;
                }
            }
            if let Some(conversation) = conversation.upgrade() {
                conversation.listens.end();
            }
        });
    }

    async fn hear(&self, message: Message) {
        match message {
            Message::Request { id, method, params } => {
                if let Some(refusal) = self.ask(&id, &method, params) {
                    self.answer(&id, &refusal).await;
                }
            }
            Message::Notification { method, params } => self.notice(&method, params).await,
            // Answers go to the streams of their calls.
            Message::Response { .. } => {}
        }
    }

    /// Passes a question on to the newest call that can take it, because nothing says to which it belongs.
    /// Returns the answer, if the backend is answered at once.
    pub(crate) fn ask(&self, id: &Id, method: &str, params: Option<Json>) -> Option<Answer> {
        if method == "ping" {
            return Some(Answer::Result(Json::empty_object()));
        }
        let Some(needed) = needed(method, params.as_ref()) else {
            return Some(Answer::refusal(code::METHOD_NOT_FOUND, "Method not found"));
        };
        let calls = self.calls();
        let mut able: Vec<_> = calls.values().rev().filter(|it| can_ask(&it.method)).collect();
        // Calls that are not held come first, because their clients wait for them.
        able.sort_by_key(|call| call.lock().is_held);
        let offers =
            |call: &&&Arc<CallState>| call.lock().sender.offers.allow(method, params.as_ref());
        match able.iter().find(offers) {
            Some(call) if call.ask(id.clone(), method, params.clone()) => None,
            Some(_) => Some(Answer::refusal(code::INTERNAL_ERROR, "too many questions are open")),
            None => {
                if let Some(call) = able.first() {
                    call.lock().missing = Some(needed);
                }
                let why = "the client cannot be asked this: it has not declared the capability, or no \
                           call of it is under way";
                Some(Answer::refusal(code::METHOD_NOT_FOUND, why))
            }
        }
    }

    async fn notice(&self, method: &str, params: Option<Json>) {
        match (method, params) {
            (notification::CANCELLED, Some(params)) => {
                if let Some(id) = params.member("requestId") {
                    self.calls().values().for_each(|call| call.withdraw(&id));
                }
            }
            (method, params) => {
                if method == notification::TOOLS_CHANGED {
                    self.tools.fetch_add(1, Ordering::AcqRel);
                    *self.mirrors.lock().await = KnownMirrors::default();
                }
                self.listens.tell(method, params.as_ref());
            }
        }
    }

    fn calls(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<CallState>>> {
        // No code panics in the middle of a change, so a poisoned lock is still valid.
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Forgets a call when it is dropped, unless the call was sent.
struct Forget<'a> {
    conversation: &'a SharedConversation,
    number: Option<u64>,
}

impl Forget<'_> {
    fn keep(mut self) {
        self.number = None;
    }
}

impl Drop for Forget<'_> {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            self.conversation.forget(number);
        }
    }
}

async fn answer_of(mut reader: Reader) -> Option<Answer> {
    loop {
        if let Piece::Event(entry) = reader.next().await?
            && let Said::Message(Message::Response { answer, .. }) = entry.said
        {
            return Some(answer);
        }
    }
}

fn hello() -> Json {
    Json::from(json!({
        "protocolVersion": Version::LATEST_LEGACY.as_str(),
        "capabilities": {
            "elicitation": { "form": {}, "url": {} },
            "roots": {},
            "sampling": {},
        },
        "clientInfo": { "name": "ridethrough", "version": env!("CARGO_PKG_VERSION") },
    }))
}

/// How long the backend may take for a request of the server's own. A local server may be downloaded first.
const PATIENCE: Duration = Duration::from_secs(120);
/// How long calls wait for the list of tools, which says what their headers must repeat. Without it they are
/// passed on: the backend reads the body only.
const PATIENCE_FOR_A_CALL: Duration = Duration::from_secs(1);
/// How long calls do not wait for a list that could not be read.
const PAUSE: Duration = Duration::from_secs(10);
/// Of the list of tools.
const MOST_PAGES: usize = 100;
