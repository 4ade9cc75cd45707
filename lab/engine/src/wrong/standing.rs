//! The standing stream: a task that reads it for as long as there is a session, or a server without sessions.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::sleep;

use super::call::Call;
use super::client::{WrongClient, WrongRequest};
use super::mistake::Habit;
use super::sse::{Item, Parser};
use crate::http1_client::WireBody;
use crate::lock::lock;

impl WrongClient {
    /// Opens the standing stream, in place of that of an older session.
    pub(super) fn listen(self: &Arc<Self>) {
        let streams = match self.mistake {
            it if it.has(Habit::NeverListens) => 0,
            it if it.has(Habit::StandingTwice) => 2,
            _ => 1,
        };
        let standing = &mut lock(&self.background).standing;
        standing.abort_all();
        for _ in 0..streams {
            standing.spawn(Standing::new(self.clone()).stand());
        }
    }
}

struct Standing {
    client: Arc<WrongClient>,
    last_event_id: Option<String>,
    seen: HashSet<String>,
    retry: Option<Duration>,
}

/// Why the stream is closed.
enum Closed {
    /// It ended or broke.
    Lost,
    /// The server refused it.
    Refused(u16),
}

impl Standing {
    fn new(client: Arc<WrongClient>) -> Self {
        Self { client, last_event_id: None, seen: HashSet::new(), retry: None }
    }

    async fn stand(mut self) {
        loop {
            let closed = self.listen().await;
            if self.client.has(Habit::StandingIsFatal) {
                let why = "the standing stream is lost, and so is the client".to_owned();
                *lock(&self.client.spoilt) = Some(why);
            }
            let Some(pause) = self.pause(&closed) else { return };
            sleep(pause).await;
        }
    }

    /// Returns how long to wait before it is opened again; `None` if never.
    fn pause(&self, closed: &Closed) -> Option<Duration> {
        if self.client.has(Habit::StandingHammers) {
            // Not zero, because a paused clock would never go on.
            return Some(Duration::from_millis(5));
        }
        match closed {
            Closed::Refused(404 | 405) if self.client.has(Habit::InsistsOnStanding) => {
                Some(Duration::from_millis(200))
            }
            Closed::Refused(code) if *code < 500 => None,
            _ => Some(self.retry.unwrap_or(PAUSE)),
        }
    }

    async fn listen(&mut self) -> Closed {
        let ask = self.ask();
        match self.client.send(&self.client.target, &ask).await {
            Ok(reply) if reply.status == 200 && reply.kind() == "text/event-stream" => {
                self.read(reply.body).await;
                Closed::Lost
            }
            Ok(reply) => {
                let status = reply.status;
                self.client.keep(reply.body).await;
                Closed::Refused(status)
            }
            Err(_) => Closed::Lost,
        }
    }

    fn ask(&self) -> WrongRequest {
        if self.client.is_modern() {
            let wanted = json!({"toolsListChanged": true});
            let params = json!({"notifications": wanted});
            return Call::new(&self.client, "subscriptions/listen", &params).posted_ask();
        }
        let is_forgotten = self.client.has(Habit::ResumesWithoutId);
        let last_event_id = self.last_event_id.clone().filter(|_| !is_forgotten);
        WrongRequest { http: "GET", last_event_id, ..WrongRequest::default() }
    }

    /// Reads until the stream ends, breaks or cannot be parsed.
    async fn read(&mut self, mut body: WireBody) {
        let mut parser = Parser::new(self.client.mistake);
        while let Ok(Some(piece)) = body.piece().await {
            let Ok(items) = parser.push(&piece) else { return };
            for item in items {
                self.take(item);
            }
        }
    }

    fn take(&mut self, item: Item) {
        match item {
            Item::Event { id, data } => {
                let is_new = id.clone().is_none_or(|id| self.seen.insert(id));
                self.last_event_id = id.or(self.last_event_id.take());
                if is_new || self.client.has(Habit::TellsReplays) {
                    let message: Value = serde_json::from_str(&data).unwrap_or_default();
                    self.client.tell(&message);
                }
            }
            Item::Retry(digits) => {
                let wait = digits.parse().ok().map(Duration::from_millis);
                self.retry = wait.filter(|wait| *wait <= LONGEST);
            }
        }
    }
}

const LONGEST: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_secs(1);
