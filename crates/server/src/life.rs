//! The task of a session: it drives the conversation until that or the session ends.
//!
//! ```text
//!   Going on ──the conversation ends───────────────▶ Over: calls are answered with its story
//!       └──deleted, idle, or everything is closed───▶ Over ──asked to end──▶ conversation gone
//!   Over ──60 s, for streams to be resumed──▶ forgotten
//! ```

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until};

use crate::backend::Conversation;
use crate::fault::Over;
use crate::host::Ending;
use crate::news::SessionNews;
use crate::session::Session;

/// A running session.
pub(crate) struct Life {
    pub(crate) session: Arc<Session>,
    /// The name of the backend.
    pub(crate) name: String,
    pub(crate) idle: Duration,
    /// The conversation, until nothing is left of it.
    pub(crate) conversation: Option<Conversation>,
    /// The sender that is dropped to end the conversation.
    pub(crate) open: oneshot::Sender<Infallible>,
}

impl Life {
    /// Drives the conversation until it or the session ends. The session's calls are answered then.
    pub(crate) async fn go_on(&mut self) {
        let mut asked = self.session.asked_to_end.subscribe();
        let ended = tokio::select! {
            biased;
            Ok(why) = async { asked.wait_for(Option::is_some).await.map(|why| *why) } => {
                Some(why.unwrap_or_default())
            }
            () = is_idle(&self.session, self.idle) => Some("it was not used any more"),
            () = rest(&mut self.conversation) => None,
            () = self.session.ended.turned() => None,
        };
        let number = self.session.number;
        // Clients are told first, because reporting to people may take time.
        let news = match ended {
            Some(why) => {
                self.session.end_with(Over::Closed(why));
                SessionNews::Ended { session: number, why }
            }
            None => SessionNews::Died { session: number, what: self.died() },
        };
        (self.session.tell)(news);
    }

    /// Ends the conversation, and waits until nothing is left of it.
    pub(crate) async fn bury(mut self) {
        drop(self.open);
        rest(&mut self.conversation).await;
    }

    /// Returns the story of a conversation that ended by itself, perhaps without telling one.
    fn died(&self) -> String {
        if self.session.lock().over.is_none() {
            let what = format!("`{}` has ended", self.name);
            let data = json!({ "kind": "sessionEnded", "mayHaveRun": true });
            let ending = Ending { what, data, retry_after: Duration::ZERO };
            self.session.end_with(Over::Died(ending));
        }
        self.session.lock().over.as_ref().map(Over::story).unwrap_or_default()
    }
}

/// Drives a conversation until nothing is left of it.
async fn rest(conversation: &mut Option<Conversation>) {
    if let Some(going_on) = conversation {
        going_on.await;
        *conversation = None;
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
