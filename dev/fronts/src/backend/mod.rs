//! The server behind every door: scripted, strict, and a stranger to the programs under test.
//!
//! It speaks one era, over lines (behind `expose`) or over HTTP (behind everything else). Each sequence of the
//! script has a room of its own, so that sequences which run side by side share nothing.

pub(crate) mod http;
mod lines;
mod listed;
mod room;
mod tools;

pub(crate) use lines::serve as serve_lines;
pub(crate) use room::Room;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::mpsc;

/// The two forms of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Era {
    /// 2025-11-25 and before.
    Sessions,
    /// 2026-07-28.
    Stateless,
}

/// All rooms of a server over HTTP.
pub(crate) struct Backend {
    era: Era,
    rooms: Mutex<HashMap<String, Arc<Room>>>,
}

/// A request, and the way back to the one who asked.
pub(crate) struct Asked {
    /// The session it came in, or the connection.
    pub(crate) peer: String,
    /// The id as it was written.
    pub(crate) id: String,
    pub(crate) method: String,
    pub(crate) params: Value,
    /// The params as they were written.
    pub(crate) text: String,
    /// Where messages go that belong to this request.
    pub(crate) out: mpsc::UnboundedSender<String>,
}

/// The text of a result, or of an error.
pub(crate) type Answer = Result<String, String>;

/// A message as the backend reads it.
#[derive(Deserialize)]
pub(crate) struct Envelope<'a> {
    #[serde(borrow)]
    pub(crate) id: Option<&'a RawValue>,
    pub(crate) method: Option<String>,
    #[serde(borrow)]
    pub(crate) params: Option<&'a RawValue>,
    pub(crate) result: Option<Value>,
}

impl Backend {
    pub(crate) fn new(era: Era) -> Arc<Self> {
        Arc::new(Self { era, rooms: Mutex::default() })
    }

    /// Returns the room of this name, which is made when it is first asked for.
    pub(crate) fn room(&self, name: &str) -> Arc<Room> {
        let mut rooms = self.rooms.lock().unwrap_or_else(PoisonError::into_inner);
        rooms.entry(name.to_owned()).or_insert_with(|| Arc::new(Room::new(self.era))).clone()
    }
}

/// Answers a request of either era.
pub(crate) async fn answer(room: &Arc<Room>, asked: &Asked) -> Answer {
    let params = &asked.params;
    let answer = match &*asked.method {
        "initialize" if room.era == Era::Sessions => Ok(listed::initialized(params)),
        "server/discover" if room.era == Era::Stateless => Ok(listed::discovered()),
        "ping" if room.era == Era::Sessions => Ok(json!({})),
        "tools/call" => return tools::call(room, asked).await,
        "logging/setLevel" if room.era == Era::Sessions => match room::rank(&params["level"]) {
            Some(level) => {
                room.set_level(&asked.peer, level);
                Ok(json!({}))
            }
            None => Err(error(-32602, "no such level")),
        },
        "resources/subscribe" if room.era == Era::Sessions => {
            room.subscribe(&asked.peer, params["uri"].as_str().unwrap_or_default());
            Ok(json!({}))
        }
        "resources/unsubscribe" if room.era == Era::Sessions => {
            room.unsubscribe(&asked.peer, params["uri"].as_str().unwrap_or_default());
            Ok(json!({}))
        }
        "tasks/get" | "tasks/cancel" | "tasks/result" if room.era == Era::Sessions => {
            tools::task(&asked.method, params)
        }
        method => listed::answer(method, params, room),
    };
    match answer {
        Ok(result) => Ok(dressed(room.era, &asked.method, result).to_string()),
        Err(error) => Err(error.to_string()),
    }
}

/// Returns a result with what its era demands of it.
pub(crate) fn dressed(era: Era, method: &str, mut result: Value) -> Value {
    if era == Era::Stateless && result["resultType"].is_null() {
        result["resultType"] = "complete".into();
    }
    if era == Era::Stateless && listed::is_kept(method) {
        result["ttlMs"] = 0.into();
        result["cacheScope"] = "private".into();
    }
    result
}

/// Returns an error.
pub(crate) fn error(code: i64, words: &str) -> Value {
    json!({"code": code, "message": words})
}

/// Returns the text of a response.
pub(crate) fn response(id: &str, answer: &Answer) -> String {
    match answer {
        Ok(result) => format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#),
        Err(error) => format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#),
    }
}

/// Returns the text of a notification.
pub(crate) fn notification(method: &str, params: &Value) -> String {
    json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string()
}

/// What the backend calls itself.
pub(crate) const NAME: &str = "backend";
