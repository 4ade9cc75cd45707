//! One call: exchange after exchange, until there is an answer or the client gives up.

use std::collections::HashSet;
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use tokio::time::sleep;

use super::client::{WrongClient, WrongRequest};
use super::login::Challenge;
use super::mistake::Habit;
use super::next::{Counts, Next};
use super::sse::{Item, Parser};
use super::target::Target;
use super::trouble::{Trouble, TroubleKind, TroubleRefusal};
use crate::http1_client::WireBody;

pub(super) struct Call {
    pub(super) client: Arc<WrongClient>,
    pub(super) id: u64,
    pub(super) method: String,
    pub(super) params: Value,
    /// The token that the last request was sent with.
    token: Option<String>,
    /// How often it was posted.
    posts: u32,
    pub(super) target: Target,
    /// The session that the server gave with the answer.
    pub(super) session: Option<String>,
    /// Whether deadlines are ignored.
    pub(super) is_deaf: Arc<AtomicBool>,
    pub(super) first_event_id: Option<String>,
    pub(super) last_event_id: Option<String>,
    seen: HashSet<String>,
    /// The server's `retry:`, in milliseconds.
    pub(super) retry: Option<String>,
    pub(super) counts: Counts,
    /// How the last exchange ended.
    pub(super) last: Last,
    /// The state that a stateless server wants back; `rounds` counts the rounds.
    pub(super) state: Option<String>,
    pub(super) rounds: u32,
}

/// How an exchange ended.
#[derive(Clone, Debug)]
pub(super) enum Last {
    Answer,
    Broken,
    Refused(TroubleRefusal),
}

/// How the answer is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AnswerWay {
    Post,
    Resume,
}

impl Call {
    pub(super) fn new(client: &Arc<WrongClient>, method: &str, params: &Value) -> Self {
        let id = client.next_id();
        Self {
            client: client.clone(),
            id,
            method: method.to_owned(),
            params: params.clone(),
            token: None,
            posts: 0,
            target: client.target.clone(),
            session: None,
            is_deaf: Arc::new(AtomicBool::new(client.has(Habit::Hangs))),
            first_event_id: None,
            last_event_id: None,
            seen: HashSet::new(),
            retry: None,
            counts: Counts::default(),
            last: Last::Broken,
            state: None,
            rounds: 0,
        }
    }

    pub(super) fn has(&self, habit: Habit) -> bool {
        self.client.has(habit)
    }

    /// Makes the call and returns its result, or says why there is none.
    pub(super) async fn run(&mut self) -> Result<Value, String> {
        let client = self.client.clone();
        let is_queued = self.has(Habit::OneAtATime) && self.method != "initialize";
        let _turn = if is_queued { Some(client.queue.lock().await) } else { None };
        let is_careful = !self.has(Habit::GivesUp) && !self.has(Habit::RushesIn);
        if self.is_unsafe() && is_careful {
            client.wait_for_server().await;
        }
        self.run_from(AnswerWay::Post).await
    }

    /// Continues a call that its caller dropped, from its present state.
    pub(super) async fn go_on(mut self) {
        let is_resumable = self.last_event_id.is_some();
        // The caller does not wait for the answer.
        drop(self.run_from(if is_resumable { AnswerWay::Resume } else { AnswerWay::Post }).await);
    }

    async fn run_from(&mut self, mut way: AnswerWay) -> Result<Value, String> {
        loop {
            if let Some(why) = self.client.why_not() {
                return Err(self.client.in_words(&why));
            }
            let session = self.client.session_number();
            let (next, end) = match self.exchange(way).await {
                Ok(answer) => {
                    self.last = Last::Answer;
                    (self.after_answer(&answer), told(&answer))
                }
                Err(trouble) => {
                    let is_away = way == AnswerWay::Post && trouble.is_outage();
                    self.client.is_away.fetch_or(is_away, Ordering::Relaxed);
                    self.last = Last::of(&trouble);
                    (self.after_trouble(&trouble, way), Err(trouble.text))
                }
            };
            let next = match next {
                Next::AskEra => self.asked_anew(session).await,
                Next::Suspect => self.checked(session).await,
                next => next,
            };
            match next {
                Next::AskEra | Next::End | Next::Suspect => return self.told(end),
                Next::Hang => self.hang().await,
                Next::LogIn(sent, header) => {
                    let used = self.token.clone();
                    self.client.log_in_again(Challenge { used, header: &header }).await?;
                    way = sent;
                }
                Next::Redirect(target) => self.target = target,
                Next::Renew(pause) => {
                    sleep(pause).await;
                    self.client.renew(session).await?;
                    way = AnswerWay::Post;
                }
                Next::Send(again, pause) => {
                    sleep(pause).await;
                    way = again;
                }
            }
        }
    }

    /// Returns the end of a call, as its caller sees it.
    fn told(&self, end: Result<Value, String>) -> Result<Value, String> {
        if end.is_ok() && self.method == "tools/call" {
            self.client.suspicions.store(0, Ordering::Relaxed);
        }
        end.map_err(|text| self.client.in_words(&text))
    }

    /// Waits for ever, past every deadline.
    async fn hang(&self) {
        self.be_deaf();
        pending::<()>().await;
    }

    pub(super) fn be_deaf(&self) {
        self.is_deaf.store(true, Ordering::Relaxed);
    }

    pub(super) async fn exchange(&mut self, way: AnswerWay) -> Result<Value, Trouble> {
        if let Some(login) = &self.client.login {
            login.before_request().await;
        }
        self.token = self.client.token();
        let ask = self.ask(way);
        let old = self.client.old();
        let awaited = old.as_ref().map(|old| old.answer_to(self.id));
        let target = old.as_ref().map_or(&self.target, |old| &old.target);
        let reply = self.client.send(target, &ask).await?;
        if let (202, Some(awaited)) = (reply.status, awaited) {
            self.client.keep(reply.body).await;
            // Held longer, it would keep calls waiting whose stream is gone.
            drop(old);
            return self.heard(awaited).await;
        }
        self.session = reply.header("mcp-session-id").map(str::to_owned);
        if reply.status == 202 {
            let text = "the server accepted the request and promised no answer (status 202)";
            return Err(Trouble::new(TroubleKind::Accepted, text));
        }
        match (reply.status, reply.kind().as_str()) {
            (200, "text/event-stream") => self.listen(reply.body).await,
            (200, "application/json") => self.read(reply.body).await,
            (200, _) if self.has(Habit::BelievesAnyType) => {
                self.listen(reply.body).await.map_err(|trouble| match trouble.kind {
                    TroubleKind::Ended => Trouble::new(TroubleKind::WrongType, trouble.text),
                    _ => trouble,
                })
            }
            (200, kind) => {
                Err(Trouble::new(TroubleKind::Odd, format!("an answer of type `{kind}`")))
            }
            _ => self.refused(reply).await,
        }
    }

    /// Returns the request that is posted first.
    pub(super) fn posted_ask(mut self) -> WrongRequest {
        self.ask(AnswerWay::Post)
    }

    fn ask(&mut self, way: AnswerWay) -> WrongRequest {
        let is_modern = self.client.is_modern() && self.method != "initialize";
        let routing = is_modern.then(|| self.routing());
        if way == AnswerWay::Resume {
            let last_event_id = self.resumed_id();
            return WrongRequest { http: "GET", last_event_id, routing, ..WrongRequest::default() };
        }
        if is_modern && self.posts > 0 && !self.has(Habit::KeepsIds) {
            self.id = self.client.next_id();
        }
        self.posts += 1;
        let params = if is_modern { self.stateless_params() } else { self.params.clone() };
        let mut message = json!({"jsonrpc": "2.0", "id": self.id, "method": self.method});
        if !params.is_null() {
            message["params"] = params;
        }
        let is_first = self.method == "initialize";
        WrongRequest {
            http: "POST",
            body: Some(message.to_string()),
            is_first,
            routing,
            ..WrongRequest::default()
        }
    }

    fn resumed_id(&self) -> Option<String> {
        if self.has(Habit::ResumesWithoutId) {
            None
        } else if self.has(Habit::ResumesFromFirstId) {
            self.first_event_id.clone()
        } else {
            self.last_event_id.clone()
        }
    }

    /// Reads a stream until the answer comes.
    async fn listen(&mut self, mut body: WireBody) -> Result<Value, Trouble> {
        let mut parser = Parser::new(self.client.mistake);
        let mut answer = None;
        loop {
            let piece = match (body.piece().await, &answer) {
                (Err(_), Some(answer)) if self.has(Habit::ResumesAfterAnswer) => {
                    let ask = self.ask(AnswerWay::Resume);
                    let resumed = self.client.send(&self.target, &ask).await;
                    // The answer is there already, so the resume is not read.
                    drop(resumed);
                    return Ok(Value::clone(answer));
                }
                (piece, _) => piece.map_err(|error| Trouble::broken(&error))?,
            };
            let Some(piece) = piece else {
                self.client.keep(body).await;
                let text = "the stream ended without the answer; the server may have run it";
                return answer.ok_or_else(|| Trouble::new(TroubleKind::Ended, text));
            };
            let items = parser.push(&self.joined(&[piece])).map_err(|_| {
                Trouble::new(TroubleKind::Odd, "the stream has an event that does not end")
            })?;
            for item in items {
                let found = self.take(item)?;
                let is_last = self.has(Habit::TakesLastAnswer);
                answer = if is_last { found.or(answer) } else { answer.or(found) };
            }
            if !self.reads_on()
                && let Some(answer) = answer.take()
            {
                self.client.keep(body).await;
                return Ok(answer);
            }
        }
    }

    /// Whether it reads a stream to its end, although it has the answer.
    fn reads_on(&self) -> bool {
        let those = [Habit::ResumesAfterAnswer, Habit::TakesLastAnswer, Habit::WaitsForTheEnd];
        those.iter().any(|habit| self.has(*habit))
    }

    /// Takes in an item of a stream; returns the answer, if it is that.
    fn take(&mut self, item: Item) -> Result<Option<Value>, Trouble> {
        let (id, data) = match item {
            Item::Retry(digits) => {
                self.retry = Some(digits);
                return Ok(None);
            }
            Item::Event { id, data } => (id, data),
        };
        if let Some(id) = id {
            let is_new = self.seen.insert(id.clone());
            self.first_event_id.get_or_insert_with(|| id.clone());
            self.last_event_id = Some(id);
            if is_new {
                self.counts.barren = 0;
            } else if !self.has(Habit::TellsReplays) {
                return Ok(None);
            }
        }
        let message: Value = serde_json::from_str(&data).unwrap_or_default();
        let is_bad = !data.is_empty() && (!message.is_object() || data.contains('\u{fffd}'));
        if is_bad && self.has(Habit::DiesOfBadEvent) {
            return Err(Trouble::new(TroubleKind::Odd, "an event is no message"));
        }
        if self.is_answer(&message) {
            return Ok(Some(message));
        }
        self.client.tell(&message);
        Ok(None)
    }

    pub(super) fn is_answer(&self, message: &Value) -> bool {
        let is_any = message.get("result").is_some() || message.get("error").is_some();
        is_any && (self.has(Habit::TakesAnyAnswer) || message["id"] == self.id)
    }
}

impl Last {
    fn of(trouble: &Trouble) -> Self {
        match &trouble.kind {
            TroubleKind::Status(refusal) => Self::Refused(refusal.clone()),
            _ => Self::Broken,
        }
    }

    /// Returns the status and the code of a refusal.
    pub(super) fn refusal(&self) -> Option<(u16, i64)> {
        match self {
            Self::Refused(refusal) => Some((refusal.code, refusal.error_code())),
            Self::Answer | Self::Broken => None,
        }
    }
}

/// Returns the result in an answer, or its error as text.
fn told(answer: &Value) -> Result<Value, String> {
    match answer.get("error") {
        None if answer["result"]["resultType"] == "input_required" => {
            Err("the server wants input that cannot be given; it may have run".to_owned())
        }
        None => Ok(answer["result"].clone()),
        Some(error) => {
            let message = error["message"].as_str().unwrap_or_default();
            Err(format!("the server answered with error {}: {message}", error["code"]))
        }
    }
}
