//! The tools of the backend. Each shows one thing that a door may do to a call.

use std::fmt;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::room::{Room, rank};
use super::{Answer, Asked, Era, dressed, error, notification};

/// All tools, by name.
pub(super) const NAMES: [&str; 16] = [
    "asks-form",
    "asks-roots",
    "asks-sampling",
    "echo",
    "fails",
    "fails-reserved",
    "fate",
    "flops",
    "grown",
    "grows",
    "holds",
    "logs",
    "moves",
    "raw",
    "secret",
    "touches",
];

/// Runs a tool.
pub(super) async fn call(room: &Arc<Room>, asked: &Asked) -> Answer {
    let name = asked.params["name"].as_str().unwrap_or_default();
    let arguments = &asked.params["arguments"];
    let result = match name {
        "asks-form" | "asks-roots" | "asks-sampling" => Ok(question(room, asked, name).await),
        "secret" if !room.has_secret => Err(error(-32602, "no such tool")),
        "echo" | "secret" | "grown" => Ok(said(&echoed(name, asked))),
        "fails" => {
            let mut failed = error(-31055, "it failed");
            failed["data"] = json!({"why": "it was asked to"});
            Err(failed)
        }
        "fails-reserved" => {
            Err(error(-32055, "a code that the stateless revision keeps for itself"))
        }
        "fate" => Ok(said(&format!("{:?}", room.fate().await))),
        "flops" => {
            let mut flopped = said("it flopped");
            flopped["isError"] = true.into();
            Ok(flopped)
        }
        "grows" => {
            room.grow();
            Ok(said("grown"))
        }
        "holds" => return hold(room, asked).await,
        "logs" => {
            log(room, asked).await;
            Ok(said("logged"))
        }
        "moves" => {
            report(asked, &[1, 2]);
            Ok(said("moved"))
        }
        "raw" => return raw(room.era, asked),
        "touches" => {
            room.touch(arguments["uri"].as_str().unwrap_or_default());
            Ok(said("touched"))
        }
        _ => Err(error(-32602, "no such tool")),
    };
    match result {
        Ok(_) if asked.params["task"].is_object() && room.era == Era::Sessions => {
            Ok(json!({"task": described("working")}).to_string())
        }
        Ok(result) => Ok(dressed(room.era, "tools/call", result).to_string()),
        Err(error) => Err(error.to_string()),
    }
}

/// Answers a request about the only task.
pub(super) fn task(method: &str, params: &Value) -> Result<Value, Value> {
    if params["taskId"] != TASK {
        return Err(error(-32602, "no such task"));
    }
    match method {
        "tasks/result" => Ok(said("the task is done")),
        "tasks/cancel" => Ok(described("cancelled")),
        _ => Ok(described("completed")),
    }
}

fn described(status: &str) -> Value {
    let at = "2026-01-01T00:00:00Z";
    json!({"taskId": TASK, "status": status, "createdAt": at, "lastUpdatedAt": at, "ttl": 60000})
}

fn said(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

/// Says which tool ran, with which arguments, and which members came twice.
fn echoed(name: &str, asked: &Asked) -> String {
    let mut said = format!("{name} {}", asked.params["arguments"]);
    let Keys(mut keys) = serde_json::from_str(&asked.text).unwrap_or_default();
    keys.sort();
    for twice in keys.windows(2).filter(|pair| pair[0] == pair[1]) {
        said.push_str(&format!(", `{}` came twice", twice[0]));
    }
    said
}

/// Asks in the way of the era, and says what was answered.
async fn question(room: &Arc<Room>, asked: &Asked, name: &str) -> Value {
    let text = json!({"type": "text", "text": "why?"});
    let sampling = json!({"messages": [{"role": "user", "content": text}], "maxTokens": 1});
    let schema = json!({"type": "object", "properties": {"why": {"type": "string"}}});
    let (method, params) = match name {
        "asks-roots" => ("roots/list", json!({})),
        "asks-sampling" => ("sampling/createMessage", sampling),
        _ => ("elicitation/create", json!({"message": "why?", "requestedSchema": schema})),
    };
    if room.era == Era::Sessions {
        let answer = room.ask(&asked.out, method, &params).await;
        return said(&format!("answered {answer}"));
    }
    let answers = &asked.params["inputResponses"];
    if answers["why"].is_null() {
        let asks = json!({"why": {"method": method, "params": params}});
        return json!({
            "resultType": "input_required", "inputRequests": asks, "requestState": STATE,
        });
    }
    let state = if asked.params["requestState"] == STATE { "" } else { ", and the state is lost" };
    said(&format!("answered {}{state}", answers["why"]))
}

async fn hold(room: &Arc<Room>, asked: &Asked) -> Answer {
    // Whoever asked for progress learns by it that the call has arrived.
    report(asked, &[0]);
    if room.hold(&asked.peer, &asked.id).await {
        // What is cancelled has no answer.
        std::future::pending::<()>().await;
    }
    Ok(dressed(room.era, "tools/call", said("held for too long")).to_string())
}

/// Reports progress, if it was asked for.
fn report(asked: &Asked, steps: &[u64]) {
    let token = &asked.params["_meta"]["progressToken"];
    for step in steps.iter().filter(|_| !token.is_null()) {
        let params = json!({"progressToken": token, "progress": step, "total": 2});
        // Without a reader it goes nowhere.
        let _ = asked.out.send(notification("notifications/progress", &params));
    }
}

/// Logs at three levels; a request of the stateless era says which of them it wants.
async fn log(room: &Arc<Room>, asked: &Asked) {
    let wanted = rank(&asked.params["_meta"]["io.modelcontextprotocol/logLevel"]);
    for level in ["debug", "warning", "error"] {
        let is_wanted = match room.era {
            Era::Sessions => room.wants_log(&asked.peer, level),
            Era::Stateless => wanted.is_some_and(|it| rank(&json!(level)) >= Some(it)),
        };
        if is_wanted {
            let params = json!({"level": level, "data": format!("said at {level}")});
            // Without a reader it goes nowhere.
            let _ = asked.out.send(notification("notifications/message", &params));
        }
    }
    if !room.has_secret {
        // Nothing says to a program's host to which call a record belongs. It has been read when this is answered.
        room.ask(&asked.out, "ping", &json!({})).await;
    }
}

/// Answers with bytes that no typed model keeps, and with those of the arguments.
fn raw(era: Era, asked: &Asked) -> Answer {
    #[derive(Deserialize)]
    struct Params<'a> {
        #[serde(borrow)]
        arguments: Option<&'a RawValue>,
    }

    let read: Option<Params<'_>> = serde_json::from_str(&asked.text).ok();
    let arguments = read.and_then(|it| it.arguments).map_or("nothing", RawValue::get);
    let text = json!(arguments);
    let kind = if era == Era::Stateless { r#""resultType":"complete","# } else { "" };
    Ok(format!(
        r#"{{{kind}"content":[{{"type":"text", "text":{text}}}],"z":1.10,"a":123456789012345678901234567890,"e":"\u00e9"}}"#
    ))
}

/// The names of an object's members, also those that come twice.
#[derive(Default)]
struct Keys(Vec<String>);

impl<'de> Deserialize<'de> for Keys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;

        impl<'de> Visitor<'de> for Reader {
            type Value = Keys;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Keys, A::Error> {
                let mut keys = Vec::new();
                while let Some((key, IgnoredAny)) = map.next_entry::<String, _>()? {
                    keys.push(key);
                }
                Ok(Keys(keys))
            }
        }

        deserializer.deserialize_map(Reader)
    }
}

const STATE: &str = "backend-state";
const TASK: &str = "backend-task";
