//! One conversation with a caller: its requests run side by side, and what servers say finds its way to it.
//!
//! ```text
//!   letters ──▶ ┌──────────────┐ ──requests──▶ catalogue, or the link of a server
//!   sinks ◀──── │ Conversation │ ◀──answers────
//!   voice ◀──── └──────────────┘ ◀──questions, progress, log── links      ◀──changes── catalogue
//! ```
//! It takes letters also while its caller does not read. What is said waits in one place for the reader;
//! while something waits there, nothing more is taken from servers.

mod addressed;
mod asked_logins;
mod calls;
mod context;
mod greeting;
mod logging_in;
mod own_words;
mod passing;
mod questions;
mod relayed;
mod requests;
mod rounds;
mod tasks;

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt, join_all};
use ridethrough::event::Delivered;
use ridethrough_server::{
    Aside, CallEnd, Caller, Conversation, HostMessage, HostSide, Letter, ParsedMessage, Sink, Voice,
};
use ridethrough_wire::message::{Answer, Id, Json, LogLevel, Message, code, notification, splice};
use ridethrough_wire::stateless::untagged;
use serde_json::json;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::timeout;

use crate::catalogue::View;
use crate::state::GatewayState;
use crate::upstreams::{FromServer, Messages, Upstream, set_level};

use calls::Calls;
use context::Context;
use own_words::{OwnWord, OwnWords};
use passing::Request;
use questions::{Questioner, Questions, can_be_asked};

/// Opens a conversation for a caller.
pub(crate) fn open(state: Arc<GatewayState>, caller: Caller, host: HostSide) -> Conversation {
    let HostSide { letters, closing, voice } = host;
    let (mailbox, from_servers) = mpsc::channel(MAILBOX);
    let (words, own_words) = OwnWords::new();
    let (context, changes) = Context::new(state, caller, mailbox, voice.presence(), words);
    let talk = Talk {
        context,
        letters,
        from_servers,
        own_words,
        changes,
        calls: Calls::default(),
        questions: Questions::default(),
        unsaid: VecDeque::new(),
        saying: None,
        voice,
        closing,
    };
    Box::pin(talk.run())
}

/// A conversation that is open.
struct Talk {
    context: Arc<Context>,
    letters: mpsc::Receiver<Letter>,
    from_servers: Messages,
    /// What the gateway itself says to the caller.
    own_words: mpsc::UnboundedReceiver<OwnWord>,
    /// Tells of lists that may have changed.
    changes: watch::Receiver<()>,
    calls: Calls,
    questions: Questions,
    /// What is to be said next.
    unsaid: VecDeque<Word>,
    /// What is being said, while the caller has no room for it.
    saying: Option<BoxFuture<'static, ()>>,
    voice: Voice,
    /// Completes when the conversation is asked to end.
    closing: oneshot::Receiver<Infallible>,
}

/// Something for the caller.
enum Word {
    End(Sink, Answer),
    Say(ParsedMessage, Option<Aside>),
}

/// What the loop woke up for.
enum Woken {
    Ended(Sink, Answer),
    FromServer(Box<FromServer>),
    Letter(Letter),
    ListsChanged,
    Over,
    Own(OwnWord),
    Said,
}

impl Talk {
    async fn run(mut self) {
        loop {
            match self.wait().await {
                Woken::Ended(sink, answer) => self.end_call(sink, answer),
                Woken::FromServer(from) => self.hear(*from),
                Woken::Letter(letter) => letter.into_iter().for_each(|it| self.take(it)),
                Woken::ListsChanged => self.tell_changes(),
                Woken::Over => break,
                Woken::Own(word) => self.speak(word),
                Woken::Said => self.go_on_saying(),
            }
            // A caller that always has more to say must not keep other tasks from the thread.
            tokio::task::consume_budget().await;
        }
        self.end().await;
    }

    async fn wait(&mut self) -> Woken {
        let is_free = self.saying.is_none();
        let takes = self.unsaid.len() < MOST_UNSAID && self.calls.len() < MOST_CALLS;
        tokio::select! {
            biased;
            // It is never sent anything: the other side is dropped.
            _ = &mut self.closing => Woken::Over,
            () = said(&mut self.saying), if !is_free => Woken::Said,
            (sink, answer) = self.calls.next(), if is_free => Woken::Ended(sink, answer),
            letter = self.letters.recv(), if takes => match letter {
                Some(letter) => Woken::Letter(letter),
                None => Woken::Over,
            },
            Some(word) = self.own_words.recv(), if is_free => Woken::Own(word),
            Ok(()) = self.changes.changed(), if is_free => Woken::ListsChanged,
            // After everything else: a server that talks without end holds up no call at another.
            Some(from) = self.from_servers.recv(), if is_free => Woken::FromServer(from),
        }
    }

    fn take(&mut self, message: HostMessage) {
        match message {
            HostMessage::Call(part, sink) => {
                let Message::Request { method, params, .. } = part.message else { return };
                self.ask(sink, method, params);
            }
            HostMessage::Cancel(_, call) => self.calls.cancel(call),
            HostMessage::Other(part) => match part.message {
                Message::Response { id, answer } => {
                    if let Some(number) = id.and_then(|id| id.number()) {
                        self.questions.answer(number, tasks::as_answered(&self.context, answer));
                    }
                }
                Message::Notification { method, params } => self.notify(&method, params),
                Message::Request { .. } => {}
            },
        }
    }

    fn ask(&mut self, sink: Sink, method: Box<str>, params: Option<Json>) {
        match &*method {
            "ping" => self.answer(sink, Answer::Result(Json::empty_object())),
            "logging/setLevel" => self.log_from(sink, params.as_ref()),
            _ => {
                let aside = Some(sink.aside().clone());
                let request = Request::read(&self.context, aside, method, params);
                self.calls.begin(sink, requests::answer(self.context.clone(), request));
            }
        }
    }

    /// Sets the level of log messages, at the servers that only this caller uses.
    fn log_from(&mut self, sink: Sink, params: Option<&Json>) {
        let Some(level) = params.and_then(LogLevel::of_params) else {
            let why = "`level` must be a level of syslog, such as `warning`";
            return self.answer(sink, Answer::refusal(code::INVALID_PARAMS, why));
        };
        for upstream in self.upstreams() {
            if let Some(link) = upstream.links.own(self.context.number) {
                set_level(&link, level);
            }
        }
        self.context.set_level(level);
        self.answer(sink, Answer::Result(Json::empty_object()));
    }

    fn notify(&mut self, method: &str, params: Option<Json>) {
        match method {
            // It cancels nothing that is known.
            notification::CANCELLED => {}
            // Each client of a server says that for itself.
            "notifications/initialized" => {}
            // A request without an id is none: names, rights and quotas are those of requests.
            _ if !notification::is_one(method) => {}
            // All others, such as changed roots, go to the servers that know only this caller.
            _ => {
                for upstream in self.upstreams() {
                    if let Some(link) = upstream.links.own(self.context.number) {
                        link.notify(method, params.clone());
                    }
                }
            }
        }
    }

    /// Handles a message of a server that is not an answer.
    fn hear(&mut self, from: FromServer) {
        let FromServer { link, delivered, call } = from;
        // The right to a server may be taken away while its link is open.
        let view = self.context.view();
        let is_seen = view.sees(&link.server);
        match delivered {
            Delivered::Notification { .. } if !is_seen && call.is_none() => {}
            Delivered::Notification { method, .. }
                if &*method == notification::RESOURCE_UPDATED
                    && !view.rights.reads_all(&link.server) => {}
            Delivered::Notification { method, params, .. } => {
                // A log that is of no call would be taken for that of a call at another server.
                let is_of_call = call.is_some() || !self.context.caller.is_stateless;
                if &*method == notification::LOG && !(is_of_call && self.wants_log(params.as_ref()))
                {
                    return;
                }
                let params = self.as_seen(&link.server, &method, untagged(params), &view);
                self.say(ParsedMessage::notification(&method, params.as_ref()), call);
            }
            Delivered::Question { question, method, params, .. } => {
                // A client without a session can be asked only in answer to a call, and that must be a call at
                // the server that asks.
                let is_of_call = call.is_some() || !self.context.caller.is_stateless;
                let can = is_seen && can_be_asked(&method, &self.context.capabilities());
                if !can || !is_of_call {
                    let why = format!("the caller cannot be asked `{method}`");
                    return link.answer(question, Answer::refusal(code::METHOD_NOT_FOUND, &why));
                }
                let Some(number) = self.questions.ask(Questioner::Server(link.clone(), question))
                else {
                    let why = "too many questions of this server wait for the caller";
                    return link.answer(question, Answer::refusal(code::INTERNAL_ERROR, why));
                };
                let id = Id::of_number(number);
                let seen = |it| tasks::as_seen(&self.context, &link.server, &method, it);
                let params = params.map(seen);
                self.say(ParsedMessage::request(id, &method, params.as_ref()), call);
            }
            Delivered::Withdrawn { question } => {
                let Some(number) = self.questions.withdraw(&link, question) else { return };
                self.say_withdrawn(
                    number,
                    "the server does not wait for the answer any more",
                    call,
                );
            }
        }
    }

    /// Says to the caller what the gateway itself has to say.
    fn speak(&mut self, word: OwnWord) {
        match word {
            OwnWord::Ask { key, method, params, call, answer } => {
                // Without a number the answer is dropped, which is noticed.
                let number = self.questions.ask(Questioner::Gateway(key, answer));
                if let Some(number) = number {
                    let id = Id::of_number(number);
                    self.say(ParsedMessage::request(id, method, Some(&params)), call);
                }
            }
            OwnWord::Tell { method, params, call } => {
                self.say(ParsedMessage::notification(method, Some(&params)), call);
            }
            OwnWord::Withdraw(key) => {
                if let Some(number) = self.questions.withdraw_own(key) {
                    self.say_withdrawn(number, "nobody waits for the answer any more", None);
                }
            }
        }
    }

    fn say_withdrawn(&mut self, number: u64, why: &str, call: Option<Aside>) {
        let params = Json::from(json!({ "requestId": number, "reason": why }));
        self.say(ParsedMessage::notification(notification::CANCELLED, Some(&params)), call);
    }

    /// Returns the params of a notification with the URI that the caller knows.
    fn as_seen(
        &self,
        server: &str,
        method: &str,
        params: Option<Json>,
        view: &View,
    ) -> Option<Json> {
        let params = tasks::as_seen(&self.context, server, method, params?);
        let uri = params.member("uri").filter(|_| method == notification::RESOURCE_UPDATED);
        let Some(uri) = uri.and_then(|uri| uri.read::<String>()) else { return Some(params) };
        let seen = self.context.state.catalogue().shown_uri(server, &uri, view);
        if seen == uri {
            return Some(params);
        }
        Some(splice::with_member(&params, "uri", &splice::text(&seen)))
    }

    /// Whether a log message is of the level that the caller wants. A server that others use too may be told of
    /// no level, or of another.
    fn wants_log(&self, params: Option<&Json>) -> bool {
        let said = params.and_then(LogLevel::of_params);
        said.zip(self.context.level()).is_none_or(|(said, wanted)| said >= wanted)
    }

    fn tell_changes(&mut self) {
        self.changes.mark_unchanged();
        let mut told = Vec::new();
        for kind in self.context.outdated() {
            // Resources and templates share a notification.
            if !told.contains(&kind.changed()) {
                told.push(kind.changed());
            }
        }
        for method in told {
            self.say(ParsedMessage::notification(method, None), None);
        }
    }

    /// Answers a call, after what servers have said so far: some of it may belong to the call.
    fn end_call(&mut self, sink: Sink, answer: Answer) {
        for _ in 0..self.from_servers.len() {
            if let Ok(from) = self.from_servers.try_recv() {
                self.hear(*from);
            }
        }
        while let Ok(word) = self.own_words.try_recv() {
            self.speak(word);
        }
        self.answer(sink, answer);
    }

    fn answer(&mut self, sink: Sink, answer: Answer) {
        self.unsaid.push_back(Word::End(sink, answer));
        self.go_on_saying();
    }

    fn say(&mut self, message: ParsedMessage, call: Option<Aside>) {
        self.unsaid.push_back(Word::Say(message, call));
        self.go_on_saying();
    }

    /// Says what is to be said, for as long as the caller has room for it.
    fn go_on_saying(&mut self) {
        while self.saying.is_none()
            && let Some(word) = self.unsaid.pop_front()
        {
            let voice = self.voice.clone();
            let mut saying = match word {
                Word::End(sink, answer) => sink.end(CallEnd::Answer(answer)).boxed(),
                Word::Say(message, Some(aside)) => async move { aside.say(message).await }.boxed(),
                Word::Say(message, None) => async move { voice.say(message).await }.boxed(),
            };
            if saying.as_mut().now_or_never().is_none() {
                self.saying = Some(saying);
            }
        }
    }

    fn upstreams(&self) -> Vec<Arc<Upstream>> {
        self.context.state.seen(&self.context.view())
    }

    /// Drops what is under way, which cancels it, and closes the links that only this conversation has.
    async fn end(self) {
        let (upstreams, number) = (self.context.state.upstreams(), self.context.number);
        self.context.state.leave(number);
        drop((self.calls, self.questions, self.from_servers));
        let released = join_all(upstreams.iter().map(|it| it.links.release(number)));
        // The conversation counts as open until then. What takes longer is killed when it is dropped.
        let _ = timeout(FAREWELL, released).await;
    }
}

/// Completes when what is being said has found room.
async fn said(saying: &mut Option<BoxFuture<'static, ()>>) {
    if let Some(going_on) = saying {
        going_on.await;
        *saying = None;
    }
}

/// Messages of servers that wait for a caller that does not read.
const MAILBOX: usize = 256;
/// Answers to small requests that wait for a caller that does not read.
const MOST_UNSAID: usize = 1000;
const MOST_CALLS: usize = 10_000;
/// A client takes up to 5 s to close; a process may take as long again.
const FAREWELL: Duration = Duration::from_secs(10);
