//! A server of the test's own, without a network. It keeps no record, so a million messages cost it nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use futures_util::future::BoxFuture;
use ridethrough::machine::head::Content;
use ridethrough::transport::{
    AnswerHead, Cause, Failure, Reply, StatusCode, Transport, TransportRequest, Verb,
};
use ridethrough::{Client, Era};
use serde_json::{Value, json};

/// What the server does with notifications.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Notifications {
    NeverAnswered,
    Taken,
}

#[derive(Clone)]
pub(crate) struct Upstream {
    state: Arc<State>,
}

struct State {
    takes_notifications: AtomicBool,
    is_down: AtomicBool,
    notified: AtomicUsize,
}

impl Upstream {
    pub(crate) fn new(notifications: Notifications) -> Self {
        let state = State {
            takes_notifications: AtomicBool::new(notifications == Notifications::Taken),
            is_down: AtomicBool::new(false),
            notified: AtomicUsize::new(0),
        };
        Self { state: Arc::new(state) }
    }

    pub(crate) fn client(&self) -> Client {
        let builder = Client::builder("http://server.test/mcp").transport(self.clone());
        builder.eras(Era::Legacy).seed(7).build().unwrap()
    }

    pub(crate) fn goes_down(&self) {
        self.state.is_down.store(true, Ordering::Relaxed);
    }

    pub(crate) fn takes_notifications(&self) {
        self.state.takes_notifications.store(true, Ordering::Relaxed);
    }

    /// Returns how many notifications the server has accepted, without those of a handshake.
    pub(crate) fn notified(&self) -> usize {
        self.state.notified.load(Ordering::Relaxed)
    }
}

impl Transport for Upstream {
    fn perform(&self, request: TransportRequest) -> BoxFuture<'static, Result<Reply, Failure>> {
        let state = self.state.clone();
        Box::pin(async move {
            // No answer arrives before the request is out.
            tokio::task::yield_now().await;
            if state.is_down.load(Ordering::Relaxed) {
                return Err(Failure::not_sent(Cause::ConnectRefused));
            }
            match request {
                TransportRequest::Connect => Ok(Reply::Connected),
                TransportRequest::Request { outgoing, .. } => state.answer(outgoing.verb).await,
            }
        })
    }
}

impl State {
    async fn answer(&self, verb: Verb) -> Result<Reply, Failure> {
        let Verb::Post { body } = verb else {
            return Ok(status(StatusCode::METHOD_NOT_ALLOWED));
        };
        let message: Value = serde_json::from_slice(&body).unwrap();
        let result = match message["method"].as_str() {
            Some("notifications/x") if !self.takes_notifications.load(Ordering::Relaxed) => {
                return std::future::pending().await;
            }
            Some("notifications/x") => {
                self.notified.fetch_add(1, Ordering::Relaxed);
                return Ok(status(StatusCode::ACCEPTED));
            }
            Some("initialize") => json!({
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "serverInfo": {"name": "in-memory", "version": "1"},
            }),
            _ if message["id"].is_null() => return Ok(status(StatusCode::ACCEPTED)),
            _ => json!({"content": []}),
        };
        let body = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
        Ok(Reply::whole(AnswerHead::new(StatusCode::OK, Content::Json), body.to_string()))
    }
}

fn status(status: StatusCode) -> Reply {
    Reply::whole(AnswerHead::new(status, Content::Nothing), "")
}
