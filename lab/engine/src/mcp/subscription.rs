//! `subscriptions/listen`: the standing stream of the stateless revision.
//!
//! Its first message says which of the wanted notifications will come; each notification names the request
//! that asked for it. Nothing is kept for clients that are away.

use serde_json::{Map, Value, json};
use tokio::sync::{mpsc, oneshot};

use super::stateless::{self, SUBSCRIPTION_ID};
use super::{Ask, Mcp, Sse};

/// A client's open `subscriptions/listen`.
pub(super) struct Subscriber {
    id: Value,
    honoured: Map<String, Value>,
    post: mpsc::UnboundedSender<Post>,
}

enum Post {
    End,
    Tell(Value, oneshot::Sender<()>),
}

impl Mcp {
    /// Ends every subscription with its result, as a server that shuts down properly does. Returns how many
    /// there were.
    pub fn end_subscriptions(&self) -> usize {
        let ended = std::mem::take(&mut self.state().subscribers);
        ended.iter().filter(|it| it.post.send(Post::End).is_ok()).count()
    }
}

impl Subscriber {
    pub(super) fn is_there(&self) -> bool {
        !self.post.is_closed()
    }

    /// Passes on a message, if the client asked for it. The returned channel ends when it was sent.
    pub(super) fn tell(&self, message: &Value) -> Option<oneshot::Receiver<()>> {
        if !self.wants(message) {
            return None;
        }
        let mut tagged = message.clone();
        tagged["params"]["_meta"][SUBSCRIPTION_ID] = self.id.clone();
        let (sent, is_sent) = oneshot::channel();
        self.post.send(Post::Tell(tagged, sent)).ok()?;
        Some(is_sent)
    }

    fn wants(&self, message: &Value) -> bool {
        let honours = |name: &str| self.honoured.contains_key(name);
        match message["method"].as_str() {
            Some("notifications/prompts/list_changed") => honours("promptsListChanged"),
            Some("notifications/resources/list_changed") => honours("resourcesListChanged"),
            Some("notifications/tools/list_changed") => honours("toolsListChanged"),
            Some("notifications/resources/updated") => {
                let uris = self.honoured.get("resourceSubscriptions").and_then(Value::as_array);
                uris.is_some_and(|uris| uris.contains(&message["params"]["uri"]))
            }
            _ => false,
        }
    }
}

/// Answers a `subscriptions/listen`, for as long as the client stays.
pub(super) async fn listen(ask: Ask) {
    let (mcp, id) = (ask.mcp().clone(), ask.id());
    let honoured = honoured(&ask.params()["notifications"]);
    let (post, mut box_of_mail) = mpsc::unbounded_channel();
    let subscriber = Subscriber { id: id.clone(), honoured: honoured.clone(), post };
    {
        let mut state = mcp.state();
        state.subscribers.retain(Subscriber::is_there);
        state.subscribers.push(subscriber);
    }
    let mut sse = ask.sse().await;
    if !sse.message(None, &acknowledgement(&id, &honoured)).await {
        return;
    }
    while let Some(post) = next(&mut sse, &mut box_of_mail).await {
        match post {
            Post::End => {
                let result = stateless::complete("subscriptions/listen", json!({}), &mcp.state());
                return sse.answer_and_finish(result).await;
            }
            Post::Tell(message, sent) => {
                if !sse.message(None, &message).await {
                    return;
                }
                // The sender of the message may have stopped waiting.
                let _ = sent.send(());
            }
        }
    }
}

/// Waits for the next message. `None` when the client is gone.
async fn next(sse: &mut Sse, post: &mut mpsc::UnboundedReceiver<Post>) -> Option<Post> {
    tokio::select! {
        biased;
        () = sse.gone() => None,
        post = post.recv() => post,
    }
}

/// Returns the part of the wanted notifications that this server has.
fn honoured(wanted: &Value) -> Map<String, Value> {
    let is_honoured = |(name, value): &(&String, &Value)| match name.as_str() {
        "promptsListChanged" | "resourcesListChanged" | "toolsListChanged" => {
            value == &&json!(true)
        }
        "resourceSubscriptions" => value.is_array(),
        _ => false,
    };
    let wanted = wanted.as_object().into_iter().flatten();
    wanted.filter(is_honoured).map(|(name, value)| (name.clone(), value.clone())).collect()
}

fn acknowledgement(id: &Value, honoured: &Map<String, Value>) -> Value {
    json!({
        "jsonrpc": "2.0",
        "method": "notifications/subscriptions/acknowledged",
        "params": {"_meta": {SUBSCRIPTION_ID: id}, "notifications": honoured},
    })
}
