//! The task of a session: it reads the messages of the conversation until that or the session ends.
//!
//! ```text
//!   Listening ──the conversation ends───────────────▶ Over: calls are answered with its story
//!       └──deleted, idle, or everything is closed───▶ Over ──asked to end──▶ conversation gone
//!   Over ──60 s, for streams to be resumed──▶ forgotten
//! ```

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::{BoxStream, Fuse};
use ridethrough_core::Doubt;
use ridethrough_wire::message::{Json, Message};
use serde_json::json;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until, timeout_at};

use crate::backend::{Ending, Said};
use crate::calls::Call;
use crate::fault::Over;
use crate::news::SessionNews;
use crate::parts::ParsedMessage;
use crate::reserve::{LONGEST_LAG, Reserve};
use crate::session::Session;

/// A running session.
pub(crate) struct Life {
    pub(crate) ears: Ears,
    pub(crate) idle: Duration,
    pub(crate) inbox: Fuse<BoxStream<'static, Said>>,
    /// The sender that is dropped to end the conversation.
    pub(crate) open: oneshot::Sender<Infallible>,
}

/// Puts messages of the conversation into the streams they belong to.
pub(crate) struct Ears {
    pub(crate) session: Arc<Session>,
    /// The name of the backend.
    pub(crate) name: String,
    pub(crate) tell: Arc<dyn Fn(SessionNews) + Send + Sync>,
    pub(crate) room: Reserve,
}

impl Life {
    /// Ends the session: its calls are answered.
    pub(crate) fn is_over(&mut self, over: Over) {
        let session = self.ears.session.number;
        let news = match &over {
            Over::Closed(why) => SessionNews::Ended { session, why },
            Over::Died(_) => SessionNews::Died { session, what: over.story() },
        };
        // Clients are told first, because reporting to people may take time.
        self.ears.session.is_over(over);
        (self.ears.tell)(news);
    }

    /// Ends the conversation, and waits until nothing is left of it.
    pub(crate) async fn bury(mut self) {
        drop(self.open);
        while self.inbox.next().await.is_some() {}
    }

    /// Handles the messages of the conversation until it or the session ends, and returns why it ended.
    pub(crate) async fn listen(&mut self) -> Over {
        let session = self.ears.session.clone();
        let mut asked = session.asked_to_end.subscribe();
        let idle = self.idle;
        tokio::select! {
            biased;
            Ok(why) = async { asked.wait_for(Option::is_some).await.map(|why| *why) } => {
                Over::Closed(why.unwrap_or_default())
            }
            () = is_idle(&session, idle) => Over::Closed("nobody used it any more"),
            ending = self.listen_on() => Over::Died(ending),
        }
    }

    async fn listen_on(&mut self) -> Ending {
        loop {
            match self.inbox.next().await {
                Some(Said::Message { message, call }) => self.ears.hear(message, call).await,
                Some(Said::Unreadable { id }) => self.ears.skip(id.as_ref()),
                Some(Said::Ended(ending)) => return ending,
                None => return self.ears.vanished(),
            }
            // Many small messages may have arrived at once.
            tokio::task::consume_budget().await;
        }
    }
}

impl Ears {
    async fn hear(&self, mut message: ParsedMessage, call: Option<Json>) {
        self.wait_for_reader(&message, call.as_ref()).await;
        let Some(reservation) = self.room.take(message.text.len()).await else {
            return self.lose(&message);
        };
        message.text = reservation.hold(message.text);
        if let Message::Response { id: Some(id), answer } = &message.message {
            self.session.note_look(id.json(), answer);
        }
        // A message without a receiver is dropped: the answer to a cancelled call, for example.
        self.session.lock().hear(&message, call.as_ref());
    }

    /// Handles a message for which there is no room. If it is an answer, its call gets an error instead.
    fn lose(&self, part: &ParsedMessage) {
        if let Message::Response { id: Some(id), .. } = &part.message {
            let data =
                json!({ "kind": "answerLost", "mayHaveRun": true, "bytes": part.text.len() });
            let doubt = Doubt::new("answerLost", Json::from(data));
            let answer = |call: &Call| self.session.in_doubt(call, &doubt);
            self.session.lock().streams.fail(id.json(), answer);
        }
    }

    /// Handles something that is not a message. If it names a call, that call gets an error, because no other
    /// answer will come.
    fn skip(&self, id: Option<&Json>) {
        if let Some(id) = id {
            let data = json!({ "kind": "peerMisbehaved", "mayHaveRun": true });
            let doubt = Doubt::new("peerMisbehaved", Json::from(data));
            let answer = |call: &Call| self.session.in_doubt(call, &doubt);
            self.session.lock().streams.fail(id, answer);
        }
        (self.tell)(SessionNews::Rubbish { session: self.session.number });
    }

    /// Returns the ending of a conversation that ended without reporting one.
    fn vanished(&self) -> Ending {
        let what = format!("`{}` has ended", self.name);
        let data = json!({ "kind": "sessionEnded", "mayHaveRun": true });
        Ending { what, data, retry_after: Duration::ZERO }
    }

    /// Waits for a reader that lags, so that it loses no event. A reader that accepts nothing for too long is
    /// cut off, so that the session goes on; it can resume what is kept.
    async fn wait_for_reader(&self, part: &ParsedMessage, call: Option<&Json>) {
        let laggard = || {
            let state = self.session.lock();
            let target = state.streams.target(&part.message, call)?;
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
                drop(timeout_at(deadline, self.session.room.notified()).await);
            } else {
                self.session.lock().streams.cut(place.0);
            }
        }
    }
}

/// Waits until the session was unused for this long.
async fn is_idle(session: &Session, idle: Duration) {
    loop {
        let now = Instant::now();
        let at = session.idle_at(now, idle);
        if at <= now {
            return;
        }
        sleep_until(at).await;
    }
}
