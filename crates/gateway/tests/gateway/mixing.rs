//! Two callers that use one id at one time: no answer ever reaches the other.

use std::time::Duration;

use ridethrough::machine::head::Content;
use ridethrough::transport::{
    AnswerHead, BoxFuture, Failure, Reply, StatusCode, Transport, TransportRequest, Verb,
};
use ridethrough::{Client, ClientBuilder, Era};
use ridethrough_gateway::{Connect, ServerSettings, Share};
use ridethrough_server::{Caller, Principal};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use crate::rig::Rig;
use crate::small_host::SmallHost;

/// The most dangerous way: one link, on which nothing but our ids tells two callers apart.
#[tokio::test(start_paused = true)]
async fn the_same_ids_in_flight_ten_thousand_times_never_meet() {
    let mut a = ServerSettings::new("a", Overtaking);
    a.share = Share::All;
    let rig = Rig::new(vec![a]);
    let mut callers = Vec::new();
    for name in ["ada", "bob"] {
        let caller = Caller::new(Principal::new(name), "");
        callers.push((name, SmallHost::new(&rig.gateway, &caller).await));
    }

    for batch in 0..ROUNDS / AT_ONCE {
        for (name, host) in &callers {
            host.send((0..AT_ONCE).map(|id| call(id, name, batch))).await;
        }
        for (name, host) in &mut callers {
            let mut answered = Vec::new();
            for _ in 0..AT_ONCE {
                let (id, text) = next_answer(host).await;
                assert_eq!(text, format!(r#"a {{"from":"{name} {batch} {id}"}}"#));
                answered.push(id);
            }
            answered.sort_unstable();
            assert_eq!(answered, (0..AT_ONCE).collect::<Vec<_>>(), "each is answered once");
        }
    }
}

fn call(id: u64, name: &str, batch: u64) -> Value {
    let arguments = json!({"from": format!("{name} {batch} {id}")});
    let params = json!({"name": "a_echo", "arguments": arguments});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
}

async fn next_answer(host: &mut SmallHost) -> (u64, String) {
    let answer = timeout(Duration::from_secs(60), host.read()).await.unwrap();
    let text = answer["result"]["content"][0]["text"].as_str();
    let text = text.unwrap_or_else(|| panic!("{answer}")).to_owned();
    (answer["id"].as_u64().unwrap(), text)
}

/// A server whose later answers overtake earlier ones.
struct Overtaking;

impl Connect for Overtaking {
    fn builder(&self) -> Result<ClientBuilder, String> {
        Ok(Client::builder("http://in.memory/mcp").transport(Self).eras(Era::Legacy).seed(7))
    }

    fn is_local(&self) -> bool {
        false
    }

    fn fingerprint(&self) -> String {
        String::new()
    }
}

impl Transport for Overtaking {
    fn perform(&self, request: TransportRequest) -> BoxFuture<'static, Result<Reply, Failure>> {
        Box::pin(async {
            match request {
                TransportRequest::Connect => Ok(Reply::Connected),
                TransportRequest::Request { outgoing, .. } => Ok(answer(outgoing.verb).await),
            }
        })
    }
}

async fn answer(verb: Verb) -> Reply {
    let nothing = |status| Reply::whole(AnswerHead::new(status, Content::Nothing), "");
    let Verb::Post { body } = verb else { return nothing(StatusCode::METHOD_NOT_ALLOWED) };
    let message: Value = serde_json::from_slice(&body).unwrap();
    let Some(id) = message["id"].as_u64() else { return nothing(StatusCode::ACCEPTED) };
    let result = match message["method"].as_str().unwrap() {
        "initialize" => json!({
            "protocolVersion": "2025-11-25",
            "capabilities": { "tools": {} },
            "serverInfo": { "name": "a", "version": "1" },
        }),
        "tools/list" => json!({ "tools": [{ "name": "echo" }] }),
        _ => {
            sleep(Duration::from_millis(100 - id % 7 * 10)).await;
            let text = format!("a {}", message["params"]["arguments"]);
            json!({ "content": [{ "type": "text", "text": text }] })
        }
    };
    let body = json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string();
    Reply::whole(AnswerHead::new(StatusCode::OK, Content::Json), body)
}

const ROUNDS: u64 = 10_000;
const AT_ONCE: u64 = 20;
