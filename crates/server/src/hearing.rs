//! What the conversation of a session says: it waits for its turn and for room, and goes into the stream that it
//! belongs to.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use ridethrough_core::Doubt;
use ridethrough_core::repeat_guard::is_look;
use ridethrough_wire::message::{Answer, Message, notification};
use tokio::time::{Instant, timeout_at};

use crate::calls::Call;
use crate::fault::Over;
use crate::host::{CallEnd, Ending, HostEnd, Lost};
use crate::log::Weight;
use crate::news::SessionNews;
use crate::parts::ParsedMessage;
use crate::reserve::{LONGEST_LAG, Reserve};
use crate::session::Session;
use crate::streams::GREETING;

impl HostEnd for Session {
    fn say(self: Arc<Self>, call: Option<u64>, message: ParsedMessage) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            self.until_over(self.hear(call, message)).await;
        })
    }

    fn end(self: Arc<Self>, call: u64, answered: CallEnd) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            let message = match answered {
                CallEnd::Message(message) => message,
                CallEnd::Answer(answer) => {
                    let id = self.lock().streams.call(call).map(|call| call.id.clone());
                    // One that was cancelled has no answer.
                    let Some(id) = id else { return };
                    ParsedMessage::response(&id, &answer)
                }
            };
            self.until_over(self.hear(Some(call), message)).await;
        })
    }

    fn lose(&self, call: u64, lost: Lost) {
        self.lose_with(call, &lost.doubt(None));
    }

    fn is_over(&self, ending: Ending) {
        self.end_with(Over::Died(ending));
    }

    fn skip(&self) {
        (self.tell)(SessionNews::Rubbish { session: self.number });
    }
}

impl Session {
    /// Does this until the session is over. What is said then, no client hears.
    async fn until_over(&self, saying: impl Future<Output = ()>) {
        tokio::select! {
            biased;
            () = self.ended.turned() => {}
            () = saying => {}
        }
    }

    async fn hear(self: &Arc<Self>, call: Option<u64>, message: ParsedMessage) {
        let _turn = self.turn.lock().await;
        let call = call.or_else(|| self.call_of_log(&message.message));
        let weight = match &message.message {
            Message::Notification { .. } => Weight::Notification,
            Message::Request { .. } => Weight::Question,
            Message::Response { .. } => Weight::Answer,
        };
        self.wait_for_reader(call, weight).await;
        let answer = match &message.message {
            Message::Response { answer, .. } => Some(answer.clone()),
            Message::Notification { .. } | Message::Request { .. } => None,
        };
        let said = self.said(message);
        let bytes = said.len();
        let Some(reservation) = Reserve(self).take(bytes).await else {
            if let (Some(call), Weight::Answer) = (call, weight) {
                self.lose_with(call, &Lost::Dropped.doubt(Some(bytes)));
            }
            return;
        };
        let said = said.holding(reservation);
        let Some(answer) = answer else {
            self.lock().streams.push(call, said, weight);
            return;
        };
        self.note_look(call, &answer);
        let mut state = self.lock();
        let stream = state.streams.push(call, said, weight);
        if stream.is_some() {
            state.last_use = Instant::now();
        }
        if let (Some(GREETING), Answer::Result(result)) = (stream, &answer) {
            let agreed = result.member("protocolVersion");
            state.version = agreed.and_then(|it| it.read::<String>());
        }
    }

    /// Returns the only call of stateless callers that a log can belong to. Each call has a level of its own.
    fn call_of_log(&self, message: &Message) -> Option<u64> {
        let Message::Notification { method, .. } = message else { return None };
        let is_log = self.caller.is_stateless && &**method == notification::LOG;
        is_log.then(|| self.lock().streams.only_read_call()).flatten()
    }

    fn lose_with(&self, call: u64, doubt: &Doubt) {
        self.lock().streams.fail(call, |call: &Call| self.in_doubt(call, doubt));
    }

    /// Records an answer of the backend: its client may see by it what became of another call.
    fn note_look(&self, call: Option<u64>, answer: &Answer) {
        if self.repeats.is_empty() || !is_look("tools/call", answer) {
            return;
        }
        let state = self.lock();
        let call = call.and_then(|call| state.streams.call(call));
        if let Some(look) = call.and_then(|call| call.repeatable.as_ref()) {
            self.repeats.looked(look);
        }
    }

    /// Waits for a reader that lags, so that it loses no event. A reader that accepts nothing for too long is
    /// cut off, so that the session goes on; it can resume what is kept.
    async fn wait_for_reader(&self, call: Option<u64>, weight: Weight) {
        let laggard = || {
            let state = self.lock();
            let target = state.streams.target(call, weight)?;
            Some((target, state.streams.lags_at(target)?))
        };
        let mut waited_for = None;
        let mut deadline = Instant::now() + LONGEST_LAG;
        while let Some(place) = laggard() {
            let now = Instant::now();
            // Only the progress of this reader gives it more time, not that of others.
            if waited_for.replace(place) != Some(place) {
                deadline = now + LONGEST_LAG;
            }
            if now < deadline {
                // The reader is checked again, whether it read in time or not.
                drop(timeout_at(deadline, self.room.notified()).await);
            } else {
                self.lock().streams.cut(place.0);
            }
        }
    }
}
