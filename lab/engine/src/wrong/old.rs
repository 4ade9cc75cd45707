//! HTTP+SSE of 2024-11-05: a stream that carries every answer, and the address for POST that it names.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::call::{Call, Last};
use super::client::{PATIENCE, WrongClient, WrongRequest};
use super::sse::{Item, Parser};
use super::target::Target;
use super::trouble::{Trouble, TroubleKind};
use crate::http1_client::WireBody;
use crate::lock::lock;

/// An open stream, and the calls that wait for an answer on it.
#[derive(Clone)]
pub(super) struct OpenSse {
    pub(super) target: Target,
    waiting: Waiting,
}

type Waiting = Arc<Mutex<HashMap<u64, oneshot::Sender<Value>>>>;

impl OpenSse {
    /// Returns a channel for the answer to this request.
    pub(super) fn answer_to(&self, id: u64) -> oneshot::Receiver<Value> {
        let (sender, receiver) = oneshot::channel();
        lock(&self.waiting).insert(id, sender);
        receiver
    }
}

impl WrongClient {
    /// Returns the open stream of HTTP+SSE, if the server speaks nothing newer.
    pub(super) fn old(&self) -> Option<OpenSse> {
        lock(&self.old).clone()
    }

    /// Opens a stream if the server has refused Streamable HTTP, now or before. Returns whether there is a
    /// new one.
    pub(super) async fn reopens(self: &Arc<Self>, last: &Last) -> bool {
        let is_refused = last.refusal().is_some_and(|(status, _)| status == 405);
        if !is_refused && self.old().is_none() {
            return false;
        }
        matches!(timeout(PATIENCE, self.open()).await, Ok(Some(())))
    }

    async fn open(self: &Arc<Self>) -> Option<()> {
        let ask = WrongRequest { http: "GET", is_first: true, ..WrongRequest::default() };
        let mut reply = self.send(&self.target, &ask).await.ok()?;
        let mut parser = Parser::new(self.mistake);
        let mut items = Vec::new();
        while items.is_empty() {
            items = parser.push(&reply.body.piece().await.ok()??).ok()?;
        }
        let Item::Event { data, .. } = items.remove(0) else { return None };
        let target = Target::of(&data, Some(&self.target))?;
        let waiting = Waiting::default();
        *lock(&self.old) = Some(OpenSse { target, waiting: waiting.clone() });
        let standing = &mut lock(&self.background).standing;
        standing.abort_all();
        standing.spawn(hear(self.clone(), waiting, reply.body, parser));
        Some(())
    }
}

impl Call {
    /// Waits for the answer on the stream to a request that was accepted.
    pub(super) async fn heard(&self, answer: oneshot::Receiver<Value>) -> Result<Value, Trouble> {
        answer.await.map_err(|_| {
            let text = "the stream ended without the answer; the server may have run it";
            Trouble::new(TroubleKind::Ended, text)
        })
    }
}

/// Gives each answer to the call that waits for it. When the stream ends, these calls end.
async fn hear(client: Arc<WrongClient>, waiting: Waiting, mut body: WireBody, mut parser: Parser) {
    while let Ok(Some(piece)) = body.piece().await {
        let Ok(items) = parser.push(&piece) else { break };
        for item in items {
            let Item::Event { data, .. } = item else { continue };
            let message: Value = serde_json::from_str(&data).unwrap_or_default();
            let waiter = message["id"].as_u64().and_then(|id| lock(&waiting).remove(&id));
            match waiter {
                // A caller that has given up needs no answer.
                Some(waiter) => drop(waiter.send(message)),
                None => client.tell(&message),
            }
        }
    }
    lock(&waiting).clear();
}
