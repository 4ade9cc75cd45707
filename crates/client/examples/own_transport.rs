//! Implements a transport, which answers without a network and refuses every third request.
//!
//! ```text
//! cargo run -p ridethrough --example own_transport
//! ```

use std::sync::atomic::{AtomicU64, Ordering};

use ridethrough::Client;
use ridethrough::machine::head::Content;
use ridethrough::transport::{
    AnswerHead, BoxFuture, Cause, Failure, Reply, StatusCode, TransportRequest,
};
use ridethrough::transport::{Transport, Verb};
use serde_json::{Value, json};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let client = Client::builder("http://in-memory/").transport(InMemory::default()).build()?;

    for number in 0..5 {
        let result = client.call_tool("double", json!({ "number": number })).await?;
        println!("double of {number}: {}", result.text());
    }
    client.close().await;
    Ok(())
}

/// A transport that answers in this process.
#[derive(Default)]
struct InMemory {
    asked: AtomicU64,
}

impl Transport for InMemory {
    fn perform(&self, request: TransportRequest) -> BoxFuture<'static, Result<Reply, Failure>> {
        let reply = match request {
            TransportRequest::Connect => Ok(Reply::Connected),
            // A transport may say "not sent" only if it is sure: the client then sends the request again.
            TransportRequest::Request { .. }
                if self.asked.fetch_add(1, Ordering::Relaxed) % 3 == 2 =>
            {
                Err(Failure::not_sent(Cause::ConnectRefused))
            }
            TransportRequest::Request { outgoing, .. } => Ok(answer(outgoing.verb)),
        };
        Box::pin(async { reply })
    }
}

fn answer(verb: Verb) -> Reply {
    let Verb::Post { body } = verb else {
        return Reply::whole(AnswerHead::new(StatusCode::METHOD_NOT_ALLOWED, Content::Nothing), "");
    };
    let message: Value = serde_json::from_slice(&body).unwrap_or_default();
    let result = match message["method"].as_str() {
        Some("initialize") => json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "serverInfo": { "name": "in-memory", "version": "1" },
        }),
        Some("tools/call") => {
            let number = message["params"]["arguments"]["number"].as_i64().unwrap_or_default();
            json!({ "content": [{ "type": "text", "text": (2 * number).to_string() }] })
        }
        _ => json!({}),
    };
    if message["id"].is_null() {
        return Reply::whole(AnswerHead::new(StatusCode::ACCEPTED, Content::Nothing), "");
    }
    let body = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result });
    Reply::whole(AnswerHead::new(StatusCode::OK, Content::Json), body.to_string())
}
