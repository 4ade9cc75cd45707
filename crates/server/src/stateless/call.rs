//! One call of a stateless client, from the request to its answer; over several requests, if the backend asks
//! something in between.
//!
//! ```text
//!   running ──asked──▶ gathering ──a moment──▶ held: the client has the questions, the call goes on
//!      ▲                                           │  └──10 minutes──▶ cancelled
//!      └──────the client is back with answers──────┘
//!   running ──the client disconnects──▶ cancelled
//! ```

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use ridethrough_core::Doubt;
use ridethrough_wire::message::splice::with_member;
use ridethrough_wire::message::{Answer, Id, Json, LogLevel, Message, code, notification};
use ridethrough_wire::stateless::{self, needed};
use serde_json::json;
use tokio::time::{Instant, sleep_until};

use super::conversation::SharedConversation;
use super::question::{CallState, Question};
use super::refusal::missing_capability;
use super::seal::Digest;
use super::sender::Sender;
use crate::log::Said;
use crate::reader::{Piece, Reader};

/// A call that is under way. Dropping it cancels it.
pub(crate) struct StatelessCall {
    pub(crate) conversation: Arc<SharedConversation>,
    pub(crate) number: u64,
    pub(crate) state: Arc<CallState>,
    pub(crate) reader: Reader,
    /// The id of the request that waits for it.
    pub(crate) id: Id,
    /// The digest of method and params.
    pub(crate) subject: Digest,
    /// The time until which questions are gathered.
    pub(crate) gathers: Option<Instant>,
    /// Whether the call has its answer.
    pub(crate) is_over: bool,
}

/// Something that the client of a call gets.
#[derive(Debug)]
pub(crate) enum CallEvent {
    Answer(Answer),
    Ask(Vec<Question>),
    Notice(Bytes),
    /// Nothing has come for a while.
    Silence,
}

impl StatelessCall {
    /// Waits for the next event. Nothing is lost if the future is dropped.
    pub(crate) async fn next(&mut self) -> CallEvent {
        loop {
            if let Some(notice) = self.next_record() {
                return CallEvent::Notice(notice);
            }
            let has_questions = !self.state.lock().questions.is_empty();
            self.gathers =
                has_questions.then(|| self.gathers.unwrap_or_else(|| Instant::now() + A_MOMENT));
            let until = self.gathers;
            let gathered = async {
                match until {
                    Some(until) => sleep_until(until).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                piece = self.reader.next() => {
                    if let Some(event) = self.read(piece).await {
                        return event;
                    }
                }
                () = self.state.changed.notified() => {}
                () = gathered => return CallEvent::Ask(self.state.lock().questions.clone()),
            }
        }
    }

    /// Goes on for a client that came back, with what it answers. Questions without an answer are asked
    /// again.
    pub(crate) async fn resume(&mut self, id: Id, sender: Sender, responses: Option<Json>) {
        self.id = id;
        self.gathers = None;
        self.reader.resume();
        let answered: Vec<_> = {
            let mut state = self.state.lock();
            state.sender = sender;
            state.is_held = false;
            let answer_to = |key: &str| responses.as_ref()?.member(key);
            let mut answered = Vec::new();
            for question in std::mem::take(&mut state.questions) {
                match answer_to(&question.key) {
                    Some(answer) => answered.push((question.id, answer)),
                    None => state.questions.push(question),
                }
            }
            answered
        };
        for (question, answer) in answered {
            self.conversation.answer(&question, &Answer::Result(answer)).await;
        }
    }

    /// Answers all open questions with an error, because they cannot be asked.
    pub(crate) async fn refuse_questions(&self, why: &str) {
        let open = std::mem::take(&mut self.state.lock().questions);
        refuse(&self.conversation, open, why).await;
    }

    async fn read(&mut self, piece: Option<Piece>) -> Option<CallEvent> {
        let said = match piece {
            Some(Piece::Event(entry)) => entry.said,
            Some(Piece::Nothing) => return Some(CallEvent::Silence),
            Some(Piece::Farewell | Piece::Priming) => return None,
            // No other code reads the stream or cancels the call, so the conversation has ended.
            None => {
                self.is_over = true;
                let data = json!({ "kind": "sessionEnded", "mayHaveRun": true });
                let form = self.conversation.session.doubt.of_request(&self.state.method, None);
                let doubt = Doubt::new("sessionEnded", Json::from(data));
                return Some(CallEvent::Answer(doubt.answer(form)));
            }
        };
        match said {
            Said::Message(Message::Response { answer, .. }) => {
                self.is_over = true;
                // It must be forgotten before its client can have the answer: a record of the next call would
                // otherwise be one of two.
                self.conversation.forget(self.number);
                Some(CallEvent::Answer(self.translated(answer)))
            }
            Said::Message(Message::Notification { method, params: Some(params) }) => {
                self.notice(&method, &params)
            }
            Said::Message(Message::Request { id, method, params }) => {
                self.ask(id, &method, params).await;
                None
            }
            Said::Message(Message::Notification { params: None, .. }) | Said::Text(_) => None,
        }
    }

    fn translated(&self, answer: Answer) -> Answer {
        let state = self.state.lock();
        match (&answer, state.missing) {
            // It says how a person can log in although the client cannot be asked.
            (Answer::Error(error), Some(_)) if needs_login(error) => answer,
            (Answer::Error(_), Some(missing)) => missing_capability(missing),
            _ => {
                let understands = self.state.is_understood;
                stateless::translated(answer, &self.state.method, state.sender.offers, understands)
            }
        }
    }

    fn notice(&self, method: &str, params: &Json) -> Option<CallEvent> {
        match method {
            notification::PROGRESS => {
                let token = self.state.lock().sender.token.clone()?;
                let params = with_member(params, "progressToken", &token);
                Some(CallEvent::Notice(notification_text(notification::PROGRESS, &params)))
            }
            notification::LOG => {
                self.state.log(LogLevel::of_params(params), params);
                None
            }
            _ => None,
        }
    }

    /// Adds a question that belongs to this call, as the backend says.
    async fn ask(&self, id: Id, method: &str, params: Option<Json>) {
        let is_allowed = self.state.lock().sender.offers.allow(method, params.as_ref());
        let missing = needed(method, params.as_ref());
        if is_allowed && self.state.ask(id.clone(), method, params) {
            return;
        }
        self.state.lock().missing = missing;
        let refusal = Answer::refusal(code::METHOD_NOT_FOUND, "the client cannot be asked this");
        self.conversation.answer(&id, &refusal).await;
    }

    fn next_record(&self) -> Option<Bytes> {
        let record = self.state.lock().records.pop_front()?;
        Some(notification_text(notification::LOG, &record))
    }
}

impl Drop for StatelessCall {
    fn drop(&mut self) {
        self.conversation.forget(self.number);
        let open = std::mem::take(&mut self.state.lock().questions);
        if self.is_over && open.is_empty() {
            return;
        }
        let (conversation, number, is_over) =
            (self.conversation.clone(), self.number, self.is_over);
        // Without a runtime the program is ending, and the conversation with it.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        runtime.spawn(async move {
            refuse(&conversation, open, "the call was ended before this was answered").await;
            if !is_over {
                conversation.cancel(number, "the client has left").await;
            }
        });
    }
}

async fn refuse(conversation: &SharedConversation, open: Vec<Question>, why: &str) {
    for question in open {
        let refusal = Answer::refusal(code::INTERNAL_ERROR, why);
        conversation.answer(&question.id, &refusal).await;
    }
}

/// Whether an error of the backend says that a person must log in.
fn needs_login(error: &Json) -> bool {
    let kind = error.member("data").and_then(|data| data.member("kind"));
    kind.is_some_and(|kind| kind.string().as_deref() == Some("loginNeeded"))
}

fn notification_text(method: &str, params: &Json) -> Bytes {
    format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{}}}"#, params.as_str()).into()
}

/// How long questions are gathered: servers that ask several things at once send them one after the other.
const A_MOMENT: Duration = Duration::from_millis(20);
