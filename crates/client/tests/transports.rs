//! Transports of an application's own that break: the client must not break with them.

#![cfg(test)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::future::BoxFuture;
use http::StatusCode;
use ridethrough::Client;
use ridethrough::credentials::{Credentials, NoCredentials, Refused, Token};
use ridethrough::error::Kind;
use ridethrough::machine::head::{AnswerHead, Content};
use ridethrough::machine::{Cause, Failure, Verb};
use ridethrough::transport::{Body, Bytes, Reply, Transport, TransportRequest};
use serde_json::{Value, json};
use tokio::time::Instant;

#[tokio::test(start_paused = true)]
async fn a_request_that_panics_is_in_doubt_and_the_next_call_works() {
    let client = client(|request| match tool(request).as_deref() {
        Some("panics") => Some(Box::pin(async { panic!("a bug of the transport") })),
        _ => None,
    });

    let error = call(&client, "panics").await.unwrap_err();

    assert!(error.may_have_run());
    assert_eq!(call(&client, "works").await.unwrap(), "{}");
}

#[tokio::test(start_paused = true)]
async fn a_transport_that_panics_before_it_begins_is_no_worse() {
    let client = client(|request| match tool(request).as_deref() {
        Some("panics") => panic!("a bug of the transport"),
        _ => None,
    });

    let error = call(&client, "panics").await.unwrap_err();

    assert!(error.may_have_run());
    assert_eq!(call(&client, "works").await.unwrap(), "{}");
}

#[tokio::test(start_paused = true)]
async fn a_credentials_hook_that_panics_ends_the_call_and_the_next_may_succeed() {
    struct Panics(AtomicUsize);

    impl Credentials for Panics {
        fn token<'a>(
            &'a self,
            _: Option<Refused<'a>>,
        ) -> BoxFuture<'a, Result<Option<Token>, NoCredentials>> {
            match self.0.fetch_add(1, Ordering::Relaxed) {
                0 => panic!("a bug of the hook"),
                _ => Box::pin(async { Ok(None) }),
            }
        }
    }

    let hook = Panics(AtomicUsize::new(0));
    let client = Client::builder("http://in-memory/")
        .transport(Broken(Box::new(|_| None)))
        .credentials(hook)
        .build()
        .unwrap();

    let error = call(&client, "works").await.unwrap_err();

    assert_eq!(error.call().unwrap().kind, Kind::Unauthorized);
    assert_eq!(call(&client, "works").await.unwrap(), "{}");
}

#[tokio::test(start_paused = true)]
async fn a_request_that_never_ends_ends_with_the_calls_deadline() {
    let client = client(|request| match tool(request).as_deref() {
        Some("hangs") => Some(Box::pin(std::future::pending())),
        _ => None,
    });
    let began = Instant::now();

    let params = json!({ "name": "hangs" });
    let call = client.request("tools/call", params).timeout(Duration::from_secs(7));
    let error = call.await.unwrap_err();

    assert_eq!(error.call().unwrap().kind, Kind::DeadlinePassed);
    assert_eq!(began.elapsed(), Duration::from_secs(7));
}

/// This needs real time: a paused clock stands still while any task is busy.
#[tokio::test]
async fn a_body_that_never_pauses_holds_nobody_up() {
    struct Endless;

    impl Body for Endless {
        fn poll_chunk(&mut self, _: &mut Context<'_>) -> Poll<Option<Result<Bytes, Failure>>> {
            Poll::Ready(Some(Ok(Bytes::new())))
        }
    }

    let client = client(|request| {
        let head = AnswerHead::new(StatusCode::OK, Content::Json);
        let reply = Reply::Answered { head, body: Box::new(Endless), capacity: None };
        (tool(request).as_deref() == Some("endless"))
            .then(|| Box::pin(async { Ok(reply) }) as Performing)
    });
    let params = json!({ "name": "endless" });
    let endless = client.request("tools/call", params).timeout(Duration::from_secs(2)).answer();

    let began = std::time::Instant::now();
    assert_eq!(call(&client, "works").await.unwrap(), "{}");
    assert!(began.elapsed() < Duration::from_secs(1), "it waited for the other to end");

    assert_eq!(endless.await.unwrap_err().kind, Kind::DeadlinePassed);
}

/// The server sends until it has an answer, which a handler has to give.
#[tokio::test]
async fn a_body_that_never_pauses_holds_up_no_handler() {
    struct Talks {
        call: Value,
        has_asked: bool,
        is_answered: Arc<AtomicUsize>,
    }

    impl Body for Talks {
        fn poll_chunk(&mut self, _: &mut Context<'_>) -> Poll<Option<Result<Bytes, Failure>>> {
            let said = if !std::mem::replace(&mut self.has_asked, true) {
                r#"data: {"jsonrpc":"2.0","id":"q","method":"own"}"#.to_owned()
            } else if self.is_answered.load(Ordering::Relaxed) > 0 {
                format!(r#"data: {{"jsonrpc":"2.0","id":{},"result":{{}}}}"#, self.call)
            } else {
                ":".to_owned()
            };
            Poll::Ready(Some(Ok(Bytes::from(said + "\n\n"))))
        }
    }

    let is_answered = Arc::new(AtomicUsize::new(0));
    let talks = move |request: &TransportRequest| -> Option<Performing> {
        let message = message(request);
        if message["id"] == "q" {
            is_answered.fetch_add(1, Ordering::Relaxed);
        }
        if message["params"]["name"] != "talks" {
            return None;
        }
        let (call, is_answered) = (message["id"].clone(), is_answered.clone());
        let head = AnswerHead::new(StatusCode::OK, Content::EventStream);
        let body = Box::new(Talks { call, has_asked: false, is_answered });
        Some(Box::pin(async { Ok(Reply::Answered { head, body, capacity: None }) }))
    };
    let client = Client::builder("http://in-memory/")
        .transport(Broken(Box::new(talks)))
        .on_request("own", |_| async { Ok(ridethrough::Json::empty_object()) })
        .build()
        .unwrap();

    let params = json!({ "name": "talks" });
    let call = client.request("tools/call", params).timeout(Duration::from_secs(3));

    assert_eq!(call.await.unwrap().as_str(), "{}");
}

#[tokio::test(start_paused = true)]
async fn a_connect_that_panics_or_hangs_is_tried_again() {
    let panics: fn() -> Performing = || Box::pin(async { panic!("a bug of the transport") });
    let hangs: fn() -> Performing = || Box::pin(std::future::pending());
    for breaks in [panics, hangs] {
        let (refusals, connects) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let client = client(move |request| match request {
            // The first tool call finds no connection, and the first connect after it breaks.
            TransportRequest::Request { .. } if tool(request).is_some() => {
                let is_first = refusals.fetch_add(1, Ordering::Relaxed) == 0;
                is_first.then(refused)
            }
            TransportRequest::Connect if connects.fetch_add(1, Ordering::Relaxed) == 0 => {
                Some(breaks())
            }
            _ => None,
        });

        assert_eq!(call(&client, "works").await.unwrap(), "{}");
    }
}

type Performing = BoxFuture<'static, Result<Reply, Failure>>;

/// Creates a client whose transport does what `broken` returns, and otherwise answers as it should.
fn client(
    broken: impl Fn(&TransportRequest) -> Option<Performing> + Send + Sync + 'static,
) -> Client {
    Client::builder("http://in-memory/").transport(Broken(Box::new(broken))).build().unwrap()
}

async fn call(client: &Client, tool: &str) -> Result<String, ridethrough::Error> {
    let result = client.request("tools/call", json!({ "name": tool })).await?;
    Ok(result.as_str().to_owned())
}

type Breakage = Box<dyn Fn(&TransportRequest) -> Option<Performing> + Send + Sync>;

struct Broken(Breakage);

impl Transport for Broken {
    fn perform(&self, request: TransportRequest) -> Performing {
        (self.0)(&request).unwrap_or_else(|| {
            let reply = match &request {
                TransportRequest::Connect => Reply::Connected,
                TransportRequest::Request { .. } => answer(&message(&request)),
            };
            Box::pin(async { Ok(reply) })
        })
    }
}

fn answer(message: &Value) -> Reply {
    if message["id"].is_null() {
        return Reply::whole(AnswerHead::new(StatusCode::ACCEPTED, Content::Nothing), "");
    }
    let result = match message["method"].as_str() {
        Some("initialize") => json!({ "protocolVersion": "2025-11-25", "capabilities": {} }),
        _ => json!({}),
    };
    let body = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result });
    Reply::whole(AnswerHead::new(StatusCode::OK, Content::Json), body.to_string())
}

fn refused() -> Performing {
    Box::pin(async { Err(Failure::not_sent(Cause::ConnectRefused)) })
}

fn tool(request: &TransportRequest) -> Option<String> {
    message(request)["params"]["name"].as_str().map(str::to_owned)
}

fn message(request: &TransportRequest) -> Value {
    match request {
        TransportRequest::Request { outgoing, .. } => match &outgoing.verb {
            Verb::Post { body } => serde_json::from_slice(body).unwrap(),
            _ => Value::Null,
        },
        TransportRequest::Connect => Value::Null,
    }
}
