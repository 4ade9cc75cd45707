//! Two callers that use one id at one time: no answer ever reaches the other.

use std::time::Duration;

use futures_util::StreamExt;
use ridethrough::machine::head::Content;
use ridethrough::transport::{
    AnswerHead, BoxFuture, Failure, Reply, StatusCode, Transport, TransportRequest, Verb,
};
use ridethrough::{Client, ClientBuilder, Era};
use ridethrough_gateway::{Connect, ServerSettings, Share};
use ridethrough_server::{Backend, Caller, Conversation, ParsedMessage, Principal, Said};
use ridethrough_wire::message::{Id, Json, Message};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use crate::rig::Rig;

/// The most dangerous way: one link, on which nothing but our ids tells two callers apart.
#[tokio::test(start_paused = true)]
async fn the_same_ids_in_flight_ten_thousand_times_never_meet() {
    let mut a = ServerSettings::new("a", Overtaking);
    a.share = Share::All;
    let rig = Rig::new(vec![a]);
    let mut callers = Vec::new();
    for name in ["ada", "bob"] {
        let caller = Caller::new(Principal::new(name), "");
        callers.push((name, rig.gateway.open(&caller).await.unwrap()));
    }

    for batch in 0..ROUNDS / AT_ONCE {
        for (name, conversation) in &callers {
            let calls = (0..AT_ONCE).map(|id| call(id, name, batch));
            conversation.outbox.send(calls.collect()).await.unwrap();
        }
        for (name, conversation) in &mut callers {
            let mut answered = Vec::new();
            for _ in 0..AT_ONCE {
                let (id, text) = next_answer(conversation).await;
                assert_eq!(text, format!(r#"a {{"from":"{name} {batch} {id}"}}"#));
                answered.push(id);
            }
            answered.sort_unstable();
            assert_eq!(answered, (0..AT_ONCE).collect::<Vec<_>>(), "each is answered once");
        }
    }
}

fn call(id: u64, name: &str, batch: u64) -> ParsedMessage {
    let arguments = json!({"from": format!("{name} {batch} {id}")});
    let params = Json::from(json!({"name": "a_echo", "arguments": arguments}));
    ParsedMessage::request(Id::of_number(id), "tools/call", Some(&params))
}

async fn next_answer(conversation: &mut Conversation) -> (u64, String) {
    let said = timeout(Duration::from_secs(60), conversation.inbox.next()).await.unwrap();
    let Some(Said::Message { message, .. }) = said else { panic!("{said:?}") };
    let Message::Response { id, answer } = message.message else { panic!("{message:?}") };
    let result: Value = answer.json().read().unwrap();
    let text = result["content"][0]["text"].as_str();
    (id.unwrap().number().unwrap(), text.unwrap_or_else(|| panic!("{result}")).to_owned())
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
