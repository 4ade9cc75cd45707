//! A host in memory, right before the gateway: it says several things at once, and reads when it wants.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use futures_util::future::{BoxFuture, FutureExt};
use ridethrough_gateway::Gateway;
use ridethrough_server::{
    Backend, CallEnd, Caller, Ending, HostEnd, HostMessage, HostSide, Letter, Lost, ParsedMessage,
    Presence, Sink, Voice,
};
use ridethrough_wire::message::{Id, Json, Message};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

pub(crate) struct SmallHost {
    outbox: mpsc::Sender<Letter>,
    said: mpsc::Receiver<ParsedMessage>,
    end: Arc<End>,
    _open: oneshot::Sender<Infallible>,
}

struct End {
    words: mpsc::Sender<ParsedMessage>,
    /// The ids of open calls, by their numbers.
    ids: Mutex<BTreeMap<u64, Id>>,
    last: AtomicU64,
}

impl SmallHost {
    /// Opens a conversation with a gateway.
    pub(crate) async fn new(gateway: &Gateway, caller: &Caller) -> Self {
        let (outbox, letters) = mpsc::channel(1);
        let (open, closing) = oneshot::channel();
        let (words, said) = mpsc::channel(1);
        let end = Arc::new(End { words, ids: Mutex::default(), last: AtomicU64::new(0) });
        let voice = Voice::new(end.clone(), Presence::default());
        let conversation = gateway.open(caller, HostSide { letters, closing, voice }).await;
        tokio::spawn(conversation.unwrap());
        Self { outbox, said, end, _open: open }
    }

    /// Sends requests together.
    pub(crate) async fn send(&self, requests: impl IntoIterator<Item = Value>) {
        let letter = requests.into_iter().map(|request| {
            let request = ParsedMessage::read(&Json::from(request)).unwrap();
            let Message::Request { id, .. } = &request.message else { panic!("{request:?}") };
            let call = self.end.last.fetch_add(1, Ordering::Relaxed) + 1;
            self.end.ids.lock().unwrap().insert(call, id.clone());
            HostMessage::Call(request, Sink::new(self.end.clone(), call))
        });
        self.outbox.send(letter.collect()).await.unwrap();
    }

    /// Reads a message.
    pub(crate) async fn read(&mut self) -> Value {
        let said = self.said.recv().await.expect("the conversation is over");
        serde_json::from_slice(&said.text()).unwrap()
    }
}

impl HostEnd for End {
    fn say(self: Arc<Self>, _: Option<u64>, message: ParsedMessage) -> BoxFuture<'static, ()> {
        async move { drop(self.words.send(message).await) }.boxed()
    }

    fn end(self: Arc<Self>, call: u64, answered: CallEnd) -> BoxFuture<'static, ()> {
        let id = self.ids.lock().unwrap().remove(&call).expect("it ends once");
        let CallEnd::Answer(answer) = answered else { panic!("{answered:?}") };
        self.say(None, ParsedMessage::response(&id, &answer))
    }

    fn lose(&self, call: u64, lost: Lost) {
        let open = self.ids.lock().unwrap().remove(&call);
        assert!(open.is_none() || self.words.is_closed(), "{lost:?}");
    }

    fn is_over(&self, ending: Ending) {
        panic!("{ending:?}");
    }

    fn skip(&self) {}
}
