//! The state that the calls of one client share: its session, its idle connection, and the notifications that
//! it got.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use super::Dialer;
use super::call::Call;
use super::eras::WrongEra;
use super::login::{Challenge, WrongLogin};
use super::mistake::{Habit, Mistake};
use super::old::OpenSse;
use super::target::Target;
use super::trouble::{Trouble, TroubleKind};
use crate::http1_client::{WireBody, WireConnection, WireReply};
use crate::lock::lock;

/// A call of a tool, its arguments and its error.
type WrongDoubt = (String, Map<String, Value>, String);

pub(super) struct WrongClient {
    pub(super) mistake: Mistake,
    pub(super) target: Target,
    dial: Dialer,
    bearer: Option<String>,
    /// The login by which it gets tokens, if it logs in.
    pub(super) login: Option<Arc<WrongLogin>>,
    pub(super) era: Mutex<WrongEra>,
    /// Whether it has given up on the stateless revision for good.
    pub(super) is_downgraded: Mutex<bool>,
    session: Mutex<Session>,
    /// The stream of a server of 2024-11-05.
    pub(super) old: Mutex<Option<OpenSse>>,
    /// Whether the session was opened without knowing that the server has sessions.
    pub(super) is_guessed: Mutex<bool>,
    /// The tools with `readOnlyHint`.
    pub(super) read_only: Mutex<HashSet<String>>,
    /// Held while the session is renewed, so that only one caller does it.
    renewing: tokio::sync::Mutex<()>,
    /// Held by the one call that may be under way, where that is the habit.
    pub(super) queue: tokio::sync::Mutex<()>,
    idle: Mutex<Option<WireConnection>>,
    last_id: AtomicU64,
    /// How many connections died when they were used again.
    deaths: AtomicU32,
    /// How many refusals in a row spoke of a lost session that was alive.
    pub(super) suspicions: AtomicU32,
    /// Whether the last request met an outage.
    pub(super) is_away: AtomicBool,
    /// How many bytes of answers are being read.
    pub(super) reading: AtomicUsize,
    /// Until when nothing is sent, where that is the habit.
    pub(super) shut_until: Mutex<Option<Instant>>,
    /// The calls of tools that may have run, since the last one that was answered: the caller has looked then.
    pub(super) doubts: Mutex<Vec<WrongDoubt>>,
    /// How `server/discover` was refused: status and code.
    pub(super) discover_refusal: Mutex<Option<(u16, i64)>>,
    heard: Heard,
    /// Why no call can succeed any more.
    pub(super) spoilt: Mutex<Option<String>>,
    pub(super) background: Mutex<Background>,
}

/// The notifications that came, in the words of the adapter protocol.
pub(super) type Heard = Arc<Mutex<Vec<String>>>;

#[derive(Clone, Default)]
struct Session {
    id: Option<String>,
    version: Option<String>,
    /// How many sessions there have been.
    number: u64,
}

/// Tasks that are not awaited. They end with the player.
#[derive(Default)]
pub(super) struct Background {
    pub(super) standing: JoinSet<()>,
    pub(super) others: JoinSet<()>,
}

/// The source of a client's tokens.
#[derive(Default)]
pub(super) struct TokenSource {
    pub(super) bearer: Option<String>,
    pub(super) login: Option<Arc<WrongLogin>>,
}

/// One HTTP request, without the headers that every request has.
#[derive(Clone, Debug, Default)]
pub(super) struct WrongRequest {
    pub(super) http: &'static str,
    pub(super) body: Option<String>,
    pub(super) last_event_id: Option<String>,
    pub(super) is_first: bool,
    /// The headers of the stateless revision, each with its line end.
    pub(super) routing: Option<String>,
}

impl WrongClient {
    pub(super) fn new(
        mistake: Mistake,
        dial: Dialer,
        target: Target,
        tokens: TokenSource,
        heard: Heard,
    ) -> Arc<Self> {
        let TokenSource { bearer, login } = tokens;
        Arc::new(Self {
            mistake,
            target,
            dial,
            bearer,
            login,
            era: Mutex::default(),
            is_downgraded: Mutex::default(),
            session: Mutex::default(),
            old: Mutex::default(),
            is_guessed: Mutex::default(),
            read_only: Mutex::default(),
            renewing: tokio::sync::Mutex::default(),
            queue: tokio::sync::Mutex::default(),
            idle: Mutex::default(),
            last_id: AtomicU64::new(0),
            deaths: AtomicU32::new(0),
            suspicions: AtomicU32::new(0),
            is_away: AtomicBool::new(false),
            reading: AtomicUsize::new(0),
            shut_until: Mutex::default(),
            doubts: Mutex::default(),
            discover_refusal: Mutex::default(),
            heard,
            spoilt: Mutex::default(),
            background: Mutex::default(),
        })
    }

    pub(super) fn has(&self, habit: Habit) -> bool {
        self.mistake.has(habit)
    }

    pub(super) fn next_id(&self) -> u64 {
        self.last_id.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub(super) fn session_number(&self) -> u64 {
        lock(&self.session).number
    }

    /// Opens a session, and its standing stream.
    pub(super) fn initialize(self: &Arc<Self>) -> BoxFuture<'static, Result<Value, String>> {
        let client = self.clone();
        async move {
            let params = json!({
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": {"name": "ridethrough-lab-wrong", "version": env!("CARGO_PKG_VERSION")},
            });
            let mut call = Call::new(&client, "initialize", &params);
            let mut result = match client.old() {
                None => call.run().await,
                Some(_) => Err("the stream is gone".to_owned()),
            };
            if result.is_err() && client.reopens(&call.last).await {
                call = Call::new(&client, "initialize", &params);
                result = call.run().await;
            }
            let result = result?;
            let version = result["protocolVersion"].as_str().map(str::to_owned);
            {
                let mut session = lock(&client.session);
                let number = session.number + 1;
                *session = Session { id: call.session.take(), version, number };
            }
            client.notify("notifications/initialized", None).await;
            if client.old().is_none() {
                client.listen();
            }
            Ok(result)
        }
        .boxed()
    }

    /// Records that the server is stateless and has no sessions.
    pub(super) fn be_stateless(self: &Arc<Self>) {
        let number = self.session_number() + 1;
        *lock(&self.session) = Session { number, ..Session::default() };
        self.listen();
    }

    /// Opens a new session in place of this one, unless that was done already.
    pub(super) async fn renew(self: &Arc<Self>, lost: u64) -> Result<(), String> {
        if self.has(Habit::ForgetsHints) {
            lock(&self.read_only).clear();
        }
        if self.has(Habit::RenewsPerCall) {
            return self.begin().await.map(drop);
        }
        let _turn = self.renewing.lock().await;
        if self.session_number() != lost {
            return Ok(());
        }
        self.begin().await.map(drop)
    }

    /// Sends a notification. The result is ignored.
    pub(super) async fn notify(&self, method: &str, params: Option<Value>) {
        let mut message = json!({"jsonrpc": "2.0", "method": method});
        if let Some(params) = params {
            message["params"] = params;
        }
        let ask = WrongRequest {
            http: "POST",
            body: Some(message.to_string()),
            ..WrongRequest::default()
        };
        let target = self.old().map_or_else(|| self.target.clone(), |old| old.target);
        if let Ok(Ok(reply)) = timeout(PATIENCE, self.send(&target, &ask)).await {
            self.keep(reply.body).await;
        }
    }

    /// Ends the session.
    pub(super) async fn delete(&self) {
        if self.is_modern() || self.old().is_some() {
            return;
        }
        self.forget_session().await;
    }

    /// Tells the server that the session is not wanted any more.
    pub(super) async fn forget_session(&self) {
        let ask = WrongRequest { http: "DELETE", ..WrongRequest::default() };
        // A server that does not answer will forget the session by itself.
        drop(timeout(PATIENCE, self.send(&self.target, &ask)).await);
    }

    /// Sends a request, on the idle connection or a fresh one, and reads the head of the answer.
    pub(super) async fn send(
        &self,
        target: &Target,
        ask: &WrongRequest,
    ) -> Result<WireReply, Trouble> {
        let connection = match self.idle_connection(&target.authority) {
            Some(connection) => connection,
            None => self.connect(&target.authority).await?,
        };
        let was_used = connection.is_used;
        connection.ask(self.written(target, ask).as_bytes()).await.map_err(|error| {
            let mut trouble = Trouble::broken(&error);
            self.deaths.fetch_add(u32::from(was_used), Ordering::Relaxed);
            trouble.kind = TroubleKind::Broken { was_dead: was_used };
            trouble
        })
    }

    /// Reads the rest of a body, for a moment, and keeps the connection for the next request.
    pub(super) async fn keep(&self, mut body: WireBody) {
        if self.has(Habit::ClosesEarly) {
            return;
        }
        let rest = timeout(DRAIN, body.rest(MOST_DRAINED)).await;
        if let Ok(Ok(_)) = rest {
            *lock(&self.idle) = body.into_connection();
        }
    }

    /// Records a notification.
    pub(super) fn tell(&self, message: &Value) {
        let Some(method) = message["method"].as_str() else { return };
        let name = method.strip_prefix("notifications/").unwrap_or(method);
        if name == "subscriptions/acknowledged" {
            return;
        }
        let data = &message["params"]["data"];
        let words = match (name, data.as_str()) {
            ("message", Some(text)) => format!("message:{text}"),
            ("message", None) => format!("message:{data}"),
            _ => name.to_owned(),
        };
        lock(&self.heard).push(words);
    }

    /// Returns an error as the caller sees it.
    pub(super) fn in_words(&self, text: &str) -> String {
        match &self.token() {
            Some(token) if self.has(Habit::PrintsToken) => {
                format!("{text} (sent with authorization: Bearer {token})")
            }
            // The server may have repeated the token.
            Some(token) => text.replace(token.as_str(), "[masked]"),
            None => text.to_owned(),
        }
    }

    /// Gets a better token than the one that was refused.
    pub(super) async fn log_in_again(&self, challenge: Challenge<'_>) -> Result<(), String> {
        let Some(login) = &self.login else { return Ok(()) };
        let brought = login.better(&challenge).await;
        brought.map_err(|why| self.in_words(&format!("{why}; the call did not run")))
    }

    /// Returns the token that requests are sent with.
    pub(super) fn token(&self) -> Option<String> {
        let held = self.login.as_ref().and_then(|login| login.access());
        held.or_else(|| self.bearer.clone())
    }

    fn idle_connection(&self, authority: &str) -> Option<WireConnection> {
        let is_wary = self.deaths.load(Ordering::Relaxed) >= MOST_DEATHS;
        if is_wary && !self.has(Habit::NeverLearns) {
            return None;
        }
        let mut idle = lock(&self.idle).take().filter(|idle| idle.authority == authority)?;
        (self.has(Habit::ReusesBlindly) || idle.is_quiet()).then_some(idle)
    }

    /// Dials, again and again for a while if the connection is refused.
    async fn connect(&self, authority: &str) -> Result<WireConnection, Trouble> {
        let began = Instant::now();
        let is_single = self.has(Habit::DialsOnce) || self.has(Habit::GivesUp);
        let mut attempts = 0;
        loop {
            attempts += 1;
            let dialed = timeout(DIAL_LIMIT, (self.dial)(authority.to_owned())).await;
            let error = match dialed {
                Ok(Ok(io)) => return Ok(WireConnection::new(io, authority.to_owned())),
                Ok(Err(error)) => error.to_string(),
                Err(_) => "no answer".to_owned(),
            };
            let is_enough = if self.has(Habit::Hammers) {
                attempts >= MOST_HAMMERED
            } else {
                is_single || began.elapsed() >= DIAL_PATIENCE
            };
            if is_enough {
                let text = format!("`{authority}` cannot be reached: {error}; it did not run");
                return Err(Trouble::new(TroubleKind::Dial, text));
            }
            if !self.has(Habit::Hammers) {
                sleep(DIAL_PAUSE).await;
            }
        }
    }

    fn written(&self, target: &Target, ask: &WrongRequest) -> String {
        let Session { id, version, .. } = lock(&self.session).clone();
        let mut text = format!("{} {} HTTP/1.1\r\n", ask.http, target.path);
        let mut header = |name: &str, value: Option<&str>| {
            if let Some(value) = value {
                text += &format!("{name}: {value}\r\n");
            }
        };
        header("host", Some(&target.authority));
        header("accept", Some("application/json, text/event-stream"));
        let bearer = self.token().map(|token| format!("Bearer {token}"));
        let is_shown = ask.http == "POST" || !self.has(Habit::BearerOnPostsOnly);
        header("authorization", bearer.as_deref().filter(|_| is_shown));
        header("last-event-id", ask.last_event_id.as_deref());
        if ask.routing.is_none() && !ask.is_first {
            header("mcp-session-id", id.as_deref());
            header("mcp-protocol-version", version.as_deref());
        }
        if let Some(body) = &ask.body {
            header("content-type", Some("application/json"));
            header("content-length", Some(&body.len().to_string()));
        }
        let routing = ask.routing.as_deref().unwrap_or_default();
        format!("{text}{routing}\r\n{}", ask.body.as_deref().unwrap_or_default())
    }
}

/// How often `hammers` tries anything.
pub(super) const MOST_HAMMERED: u32 = 200;
const DIAL_LIMIT: Duration = Duration::from_secs(1);
const DIAL_PATIENCE: Duration = Duration::from_secs(10);
const DIAL_PAUSE: Duration = Duration::from_millis(250);
const DRAIN: Duration = Duration::from_millis(20);
/// The number of deaths after which it assumes that the server closes connections after an answer without
/// saying so.
const MOST_DEATHS: u32 = 2;
const MOST_DRAINED: usize = 1 << 20;
pub(super) const PATIENCE: Duration = Duration::from_secs(2);
