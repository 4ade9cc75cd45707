//! One `subscriptions/listen`: acknowledged first, then every change that it wants, until the client leaves
//! or the conversation ends.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use ridethrough_wire::message::reserved::SUBSCRIPTION;
use ridethrough_wire::message::{Answer, Id, Json, ListKind};
use ridethrough_wire::stateless::{ACKNOWLEDGED, Filter, LISTEN, tagged};
use serde_json::json;
use tokio::time::sleep;

use super::answers::written;
use super::conversation::SharedConversation;
use super::listens::Listen;
use crate::parts::ParsedMessage;
use crate::session::Visit;

/// An open `subscriptions/listen` request. Dropping it ends it.
pub(crate) struct Listening {
    conversation: Arc<SharedConversation>,
    id: Id,
    /// The changes to send; `None` until the request is acknowledged.
    listen: Option<Arc<Listen>>,
    /// The resources that the conversation subscribed to for this request.
    resources: Vec<String>,
    is_over: bool,
    _visit: Visit,
}

/// An item on the stream of the request.
pub(crate) enum Told {
    Message(Bytes),
    /// Nothing has come for a while.
    Silence,
}

impl Listening {
    /// Subscribes to everything in the filter that the backend has; `None` if too many are open.
    pub(crate) async fn begin(
        conversation: Arc<SharedConversation>,
        id: Id,
        wanted: Filter,
    ) -> Option<Self> {
        let visit = conversation.session.visit();
        let mut listening = Self {
            conversation,
            id,
            listen: None,
            resources: Vec::new(),
            is_over: false,
            _visit: visit,
        };
        let conversation = listening.conversation.clone();
        let kinds = wanted.kinds.into_iter();
        let announced = |it: &ListKind| conversation.announces(it.capability(), "listChanged");
        let kinds = kinds.filter(announced).collect();
        if conversation.announces("resources", "subscribe") {
            for uri in wanted.resources {
                listening.subscribe(uri.into()).await;
            }
        }
        let resources = listening.resources.iter().map(|it| it.as_str().into()).collect();
        listening.listen = Some(conversation.listens.open(Filter { kinds, resources })?);
        Some(listening)
    }

    /// Returns the first message: the part of the filter that is honoured.
    pub(crate) fn acknowledgement(&self) -> Bytes {
        let honoured = self.listen.as_ref().map(|it| it.filter.json());
        let honoured = honoured.unwrap_or_else(Json::empty_object);
        let params = Json::empty_object().with_members([("notifications".to_owned(), honoured)]);
        self.tagged(ACKNOWLEDGED, Some(&params))
    }

    /// Waits for the next item; `None` at the end. Nothing is lost if the future is dropped.
    pub(crate) async fn next(&mut self) -> Option<Told> {
        if self.is_over {
            return None;
        }
        let listen = self.listen.clone()?;
        tokio::select! {
            biased;
            change = listen.next() => {
                let (method, params) = change?;
                Some(Told::Message(self.tagged(&method, params.as_ref())))
            }
            // The server is about to end: a result shows that this is no accident.
            () = self.conversation.session.drain.begins() => {
                self.is_over = true;
                Some(Told::Message(self.result()))
            }
            () = sleep(SILENCE) => Some(Told::Silence),
        }
    }

    /// Returns a notification that names the request that it belongs to.
    fn tagged(&self, method: &str, params: Option<&Json>) -> Bytes {
        let params = tagged(params, self.id.json());
        ParsedMessage::notification(method, Some(&params)).text()
    }

    fn result(&self) -> Bytes {
        let id: serde_json::Value = self.id.json().read().unwrap_or_default();
        let result = Json::from(json!({ "_meta": { SUBSCRIPTION: id } }));
        let server = self.conversation.server.as_ref();
        written(&self.id, &Answer::Result(result), LISTEN, server).concat().into()
    }

    async fn subscribe(&mut self, uri: String) {
        let mut all = self.conversation.listens.resources.lock().await;
        let count = all.get(&uri).copied().unwrap_or(0);
        if count == 0 {
            let params = Json::from(json!({ "uri": uri }));
            let answer = self.conversation.request("resources/subscribe", &params).await;
            if !matches!(answer, Some(Answer::Result(_))) {
                return;
            }
        }
        all.insert(uri.clone(), count + 1);
        drop(all);
        self.resources.push(uri);
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        if let Some(listen) = &self.listen {
            self.conversation.listens.close(listen);
        }
        let resources = std::mem::take(&mut self.resources);
        if resources.is_empty() || self.conversation.is_over() {
            return;
        }
        let conversation = self.conversation.clone();
        // Without a runtime the program is ending, and the conversation with it.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        runtime.spawn(async move {
            for uri in resources {
                unsubscribe(&conversation, uri).await;
            }
        });
    }
}

async fn unsubscribe(conversation: &SharedConversation, uri: String) {
    let mut all = conversation.listens.resources.lock().await;
    let Some(count) = all.get_mut(&uri) else { return };
    *count -= 1;
    if *count == 0 {
        all.remove(&uri);
        let params = Json::from(json!({ "uri": uri }));
        // If this fails, the backend sends updates that no client gets.
        let _ = conversation.request("resources/unsubscribe", &params).await;
    }
}

/// The time without a message after which a comment is sent.
const SILENCE: Duration = Duration::from_secs(15);
