//! HTTP+SSE over a transport of the application's own.

use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use http::StatusCode;
use ridethrough::machine::head::{AnswerHead, Content};
use ridethrough::machine::{Failure, Verb};
use ridethrough::server::Version;
use ridethrough::transport::{Body, BoxFuture, Bytes, Reply, Transport, TransportRequest};
use ridethrough::{Client, Era};
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

#[tokio::test(start_paused = true)]
async fn a_transport_that_speaks_http_carries_it() {
    let server = OldServer::new(true);
    let client = server.client();

    let connected = client.connect().await.unwrap();
    let answer = client.request("tools/call", json!({ "name": "echo" })).await.unwrap();

    assert_eq!(connected.version, Version::V2024_11_05);
    assert_eq!(answer.as_str(), r#"{"ran":"echo"}"#);
    assert_eq!(server.asked()[..2], ["POST /", "GET /"]);
    assert!(server.asked()[2..].iter().all(|it| it == "POST /messages?id=1"));
}

#[tokio::test(start_paused = true)]
async fn any_other_transport_is_not_asked_for_a_stream() {
    let server = OldServer::new(false);

    server.client().connect().await.unwrap_err();

    assert_eq!(server.asked(), ["POST /"]);
}

/// A server of 2024-11-05 without a network.
#[derive(Clone)]
struct OldServer {
    speaks_http: bool,
    asked: Arc<Mutex<Vec<String>>>,
    stream: Arc<Mutex<Option<UnboundedSender<Bytes>>>>,
}

impl OldServer {
    fn new(speaks_http: bool) -> Self {
        Self { speaks_http, asked: Arc::default(), stream: Arc::default() }
    }

    fn client(&self) -> Client {
        let builder = Client::builder("http://in-memory/").transport(self.clone());
        builder.eras(Era::Legacy).seed(7).build().unwrap()
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }

    fn answer(&self, verb: &Verb, path: &str) -> Reply {
        match verb {
            Verb::Get { .. } => self.open_stream(),
            Verb::Post { body } if path == "/messages?id=1" => {
                self.take(&serde_json::from_slice(body).unwrap());
                status(StatusCode::ACCEPTED)
            }
            _ => status(StatusCode::METHOD_NOT_ALLOWED),
        }
    }

    fn open_stream(&self) -> Reply {
        let (sender, pieces) = unbounded_channel();
        sender.send(Bytes::from("event: endpoint\ndata: /messages?id=1\n\n")).unwrap();
        *self.stream.lock().unwrap() = Some(sender);
        let head = AnswerHead::new(StatusCode::OK, Content::EventStream);
        Reply::Answered { head, body: Box::new(Pieces(pieces)), capacity: None }
    }

    /// Puts the answer to a request on the stream.
    fn take(&self, message: &Value) {
        let result = match message["method"].as_str() {
            Some("initialize") => json!({ "protocolVersion": "2024-11-05", "capabilities": {} }),
            Some("tools/call") => json!({ "ran": message["params"]["name"] }),
            _ => return,
        };
        let answer = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result });
        let event = Bytes::from(format!("event: message\ndata: {answer}\n\n"));
        self.stream.lock().unwrap().as_ref().unwrap().send(event).unwrap();
    }
}

impl Transport for OldServer {
    fn perform(&self, request: TransportRequest) -> BoxFuture<'static, Result<Reply, Failure>> {
        let TransportRequest::Request { outgoing, .. } = request else {
            return Box::pin(async { Ok(Reply::Connected) });
        };
        let path = outgoing.to.target.as_deref().unwrap_or("/");
        let method = match outgoing.verb {
            Verb::Delete => "DELETE",
            Verb::Get { .. } => "GET",
            Verb::Post { .. } => "POST",
        };
        self.asked.lock().unwrap().push(format!("{method} {path}"));
        let reply = self.answer(&outgoing.verb, path);
        Box::pin(async { Ok(reply) })
    }

    fn speaks_http(&self) -> bool {
        self.speaks_http
    }
}

/// A body that arrives in pieces.
struct Pieces(UnboundedReceiver<Bytes>);

impl Body for Pieces {
    fn poll_chunk(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, Failure>>> {
        self.0.poll_recv(context).map(|piece| piece.map(Ok))
    }
}

fn status(status: StatusCode) -> Reply {
    Reply::whole(AnswerHead::new(status, Content::Nothing), "")
}
