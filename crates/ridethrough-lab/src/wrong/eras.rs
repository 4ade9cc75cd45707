//! The stateless revision, and finding out whether a server speaks it.
//!
//! Only clients that were told to ask for the era come here: to all others every server is legacy.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use super::call::{Call, Last, Way};
use super::client::Client;
use super::mistake::Habit;
use super::next::Next;
use super::trouble::Refusal;
use crate::lock::lock;

/// How a client talks to its server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Era {
    #[default]
    Legacy,
    Modern,
}

impl Client {
    pub(super) fn is_modern(&self) -> bool {
        *lock(&self.era) == Era::Modern
    }

    /// Finds out how to talk to the server, and makes a session if there are any.
    pub(super) fn begin(self: &Arc<Self>) -> BoxFuture<'static, Result<Value, String>> {
        let client = self.clone();
        async move {
            if !client.asks_era() || *lock(&client.is_downgraded) {
                return client.initialize().await;
            }
            client.be(Era::Modern);
            let mut call = Call::new(&client, "server/discover", &json!({}));
            let end = call.run().await;
            match call.era_by(&end) {
                Some(Era::Modern) => {
                    client.be_stateless();
                    end
                }
                Some(Era::Legacy) if client.has(Habit::InsistsOnModern) => {
                    Err("the server does not speak the stateless revision".to_owned())
                }
                Some(Era::Legacy) => {
                    client.be(Era::Legacy);
                    client.initialize().await
                }
                None => end,
            }
        }
        .boxed()
    }

    fn asks_era(&self) -> bool {
        self.mistake.asks_era && !self.has(Habit::InitializesOnly)
    }

    fn be(&self, era: Era) {
        *lock(&self.era) = era;
    }
}

impl Call {
    /// What the end of a `server/discover` says of the server; `None` if nothing.
    fn era_by(&self, end: &Result<Value, String>) -> Option<Era> {
        let is_named = |result: &Value| {
            let versions = result["supportedVersions"].as_array();
            versions.is_some_and(|versions| versions.contains(&VERSION.into()))
        };
        match (end, &self.last) {
            (Ok(result), _) if is_named(result) => Some(Era::Modern),
            (Ok(_), _) | (_, Last::Answer) => Some(Era::Legacy),
            _ if self.has(Habit::DowngradesOnTrouble) => Some(Era::Legacy),
            (_, Last::Refused(refusal)) => is_evidence(refusal.code).then_some(Era::Legacy),
            (_, Last::Broken) => None,
        }
    }

    /// What a refusal means to who knows both eras; `None` if it has nothing to do with them.
    pub(super) fn after_refusal_by_era(&mut self, refusal: &Refusal) -> Option<Next> {
        if !self.client.asks_era() {
            return None;
        }
        let code = refusal.error_code();
        if self.method == "server/discover" {
            let is_end = self.has(Habit::DowngradesOnTrouble) || is_evidence(refusal.code);
            return is_end.then_some(Next::End);
        }
        let is_other = match *lock(&self.client.era) {
            Era::Legacy => code == UNSUPPORTED_VERSION,
            Era::Modern => is_evidence(refusal.code) && !is_modern_word(code),
        };
        if is_other && !self.has(Habit::NeverAsksAgain) {
            return Some(self.renewed());
        }
        match code {
            UNSUPPORTED_VERSION if self.has(Habit::DowngradesOnTrouble) => {
                self.client.be(Era::Legacy);
                *lock(&self.client.is_downgraded) = true;
                Some(self.renewed())
            }
            UNSUPPORTED_VERSION if self.client.is_modern() => Some(self.posted(1, Duration::ZERO)),
            _ if is_modern_word(code) && self.has(Habit::RepeatsUnchanged) => {
                Some(self.posted(5, Duration::from_millis(50)))
            }
            _ if is_modern_word(code) => Some(Next::End),
            _ => None,
        }
    }

    /// Goes into the next round, if the server wants its state back and nothing else.
    pub(super) fn next_round(&mut self, answer: &Value) -> Option<Next> {
        let result = &answer["result"];
        let is_round = self.client.is_modern() && result["resultType"] == "input_required";
        if !is_round || !result["inputRequests"].is_null() || self.rounds >= MOST_ROUNDS {
            return None;
        }
        self.rounds += 1;
        let state = result["requestState"].as_str()?;
        let state = if self.has(Habit::ChangesState) { state.trim() } else { state };
        self.state = Some(state.to_owned());
        Some(Next::Send(Way::Post, Duration::from_millis(100)))
    }

    /// The parameters of a request, with what the stateless revision adds.
    pub(super) fn stateless_params(&self) -> Value {
        let mut params = if self.params.is_object() { self.params.clone() } else { json!({}) };
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": VERSION,
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        if let Some(state) = &self.state {
            params["requestState"] = state.as_str().into();
        }
        params
    }

    /// The headers of a request, each with its line end.
    pub(super) fn routing(&self) -> String {
        let mut headers =
            format!("mcp-protocol-version: {VERSION}\r\nmcp-method: {}\r\n", self.method);
        let name = match self.method.as_str() {
            "prompts/get" | "tools/call" => self.params["name"].as_str(),
            "resources/read" => self.params["uri"].as_str(),
            _ => None,
        };
        if let Some(name) = name {
            headers += &format!("mcp-name: {name}\r\n");
        }
        headers
    }
}

/// Takes the tools out of a list that mark their arguments in a way that is not allowed.
pub(super) fn without_bad_tools(list: Value) -> Value {
    let mut list = list;
    if let Some(tools) = list["tools"].as_array_mut() {
        tools.retain(|tool| !is_bad(&tool["inputSchema"]));
    }
    list
}

fn is_bad(schema: &Value) -> bool {
    let properties = schema["properties"].as_object().into_iter().flatten();
    properties.into_iter().any(|(_, property)| {
        let is_wrong = property["x-mcp-header"].as_str().is_some_and(|name| {
            let is_token = |it: u8| it.is_ascii_alphanumeric() || it == b'-';
            name.is_empty() || !name.bytes().all(is_token) || property["type"] == "number"
        });
        is_wrong || is_bad(property)
    })
}

/// Whether a status comes from the server itself, and not from what stands before it.
fn is_evidence(status: u16) -> bool {
    (400..500).contains(&status) && ![401, 403, 407, 408, 425, 429].contains(&status)
}

/// Whether only a server of the stateless revision says so.
fn is_modern_word(code: i64) -> bool {
    matches!(code, -32602 | -32601 | -32099..=-32020)
}

const MOST_ROUNDS: u32 = 10;
const UNSUPPORTED_VERSION: i64 = -32022;
pub(super) const VERSION: &str = "2026-07-28";
