//! The stateless revision, and finding out whether a server speaks it.
//!
//! Only clients that ask for the era use this: for all others every server is legacy.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use super::call::{AnswerWay, Call, Last};
use super::client::WrongClient;
use super::mistake::Habit;
use super::next::{DISCOVER, Next};
use super::trouble::TroubleRefusal;
use crate::lock::lock;

/// The era in which a client talks to its server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum WrongEra {
    #[default]
    Legacy,
    Modern,
}

impl WrongClient {
    pub(super) fn is_modern(&self) -> bool {
        *lock(&self.era) == WrongEra::Modern
    }

    /// Finds out the era of the server, and opens a session if it has sessions.
    pub(super) fn begin(self: &Arc<Self>) -> BoxFuture<'static, Result<Value, String>> {
        let client = self.clone();
        async move {
            let has_session = client.session_number() > 0 && !client.is_modern();
            let is_sure = client.has(Habit::NeverAsksAgain) && has_session;
            if !client.asks_era() || *lock(&client.is_downgraded) || is_sure {
                return client.initialize().await;
            }
            client.be(WrongEra::Modern);
            let mut call = Call::new(&client, DISCOVER, &json!({}));
            let is_patient = client.has(Habit::NeverFallsBack) || client.has(Habit::Hangs);
            let limit = if is_patient { Duration::MAX } else { LONGEST_DISCOVER };
            let end = timeout(limit, call.run()).await.unwrap_or_else(|_| {
                call.counts.useless = ENOUGH_USELESS;
                Err("no answer in time".to_owned())
            });
            *lock(&client.discover_refusal) = call.last.refusal();
            match call.era_by(&end) {
                Some(WrongEra::Modern) => {
                    client.leave_guess().await;
                    client.be_stateless();
                    end
                }
                Some(WrongEra::Legacy) if client.has(Habit::InsistsOnModern) => {
                    Err("the server does not speak the stateless revision".to_owned())
                }
                Some(WrongEra::Legacy) => {
                    client.be(WrongEra::Legacy);
                    *lock(&client.is_guessed) = call.counts.useless >= ENOUGH_USELESS;
                    client.initialize().await
                }
                None => end,
            }
        }
        .boxed()
    }

    /// Ends the session that was opened on a guess, because the server has none after all.
    async fn leave_guess(&self) {
        let is_guessed = std::mem::take(&mut *lock(&self.is_guessed));
        if is_guessed && !self.has(Habit::LeavesGuesses) {
            self.forget_session().await;
        }
    }

    /// Records the tools of a list with `readOnlyHint`.
    pub(super) fn learn(&self, list: &Value) {
        let tools = list["tools"].as_array().map(Vec::as_slice).unwrap_or_default();
        let only_reads = |tool: &&Value| tool["annotations"]["readOnlyHint"] == true;
        let names = tools.iter().filter(only_reads).filter_map(|tool| tool["name"].as_str());
        lock(&self.read_only).extend(names.map(str::to_owned));
    }

    fn asks_era(&self) -> bool {
        self.mistake.asks_era && !self.has(Habit::InitializesOnly)
    }

    fn be(&self, era: WrongEra) {
        *lock(&self.era) = era;
    }
}

impl Call {
    /// Returns the era that the end of a `server/discover` proves; `None` if it proves none.
    fn era_by(&self, end: &Result<Value, String>) -> Option<WrongEra> {
        let is_named = |result: &Value| {
            let versions = result["supportedVersions"].as_array();
            versions.is_some_and(|versions| versions.contains(&VERSION.into()))
        };
        match (end, &self.last) {
            (Ok(result), _) if is_named(result) => Some(WrongEra::Modern),
            (Ok(_), _) | (_, Last::Answer) => Some(WrongEra::Legacy),
            _ if self.has(Habit::DowngradesOnTrouble) => Some(WrongEra::Legacy),
            _ if self.counts.useless >= ENOUGH_USELESS => Some(WrongEra::Legacy),
            (_, Last::Refused(refusal)) => is_evidence(refusal.code).then_some(WrongEra::Legacy),
            (_, Last::Broken) => None,
        }
    }

    /// Returns the step after a refusal, in a client that knows both eras; `None` if the refusal says nothing
    /// about them.
    pub(super) fn after_refusal_by_era(&mut self, refusal: &TroubleRefusal) -> Option<Next> {
        if !self.client.asks_era() {
            return None;
        }
        let code = refusal.error_code();
        if self.method == DISCOVER {
            let is_end = self.has(Habit::DowngradesOnTrouble) || is_evidence(refusal.code);
            return match refusal.code {
                _ if is_end => Some(Next::End),
                403 | 500..=599 => Some(self.useless()),
                _ => None,
            };
        }
        let is_other = match *lock(&self.client.era) {
            WrongEra::Legacy => code == UNSUPPORTED_VERSION,
            WrongEra::Modern => is_evidence(refusal.code) && !is_modern_word(code),
        };
        if is_other && !self.has(Habit::NeverAsksAgain) {
            return Some(Next::AskEra);
        }
        match code {
            UNSUPPORTED_VERSION if self.has(Habit::DowngradesOnTrouble) => {
                self.client.be(WrongEra::Legacy);
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

    /// Asks again after an answer that says nothing about the era, a few times.
    pub(super) fn useless(&mut self) -> Next {
        self.counts.useless += 1;
        let is_enough = self.counts.useless >= ENOUGH_USELESS && !self.has(Habit::NeverFallsBack);
        if is_enough || self.has(Habit::DowngradesOnTrouble) {
            return Next::End;
        }
        Next::Send(AnswerWay::Post, USELESS_PAUSE)
    }

    /// Decides about a refused call after the server was asked for its era again.
    ///
    /// If the server is as before, the refusal stands. If it has changed, it may have run the call before it
    /// changed, unless it refuses `server/discover` likewise.
    pub(super) async fn asked_anew(&mut self, session: u64) -> Next {
        let Next::Renew(pause) = self.renewed() else { return Next::End };
        let before = *lock(&self.client.era);
        sleep(pause).await;
        if self.client.renew(session).await.is_err() {
            return Next::End;
        }
        let refusal = self.last.refusal();
        let is_of_other_era = matches!(refusal, Some((_, UNSUPPORTED_VERSION)));
        let is_refused_likewise = refusal == *lock(&self.client.discover_refusal);
        let has_changed = before != *lock(&self.client.era);
        let is_repeated = self.has(Habit::RepeatsInAnyEra)
            || has_changed && (is_of_other_era || is_refused_likewise);
        if is_repeated { Next::Send(AnswerWay::Post, Duration::ZERO) } else { Next::End }
    }

    /// Begins the next round, if the server wants only its state back.
    pub(super) fn next_round(&mut self, answer: &Value) -> Option<Next> {
        let result = &answer["result"];
        let is_round = self.client.is_modern() && result["resultType"] == "input_required";
        if !is_round || !result["inputRequests"].is_null() || self.rounds >= MOST_ROUNDS {
            return None;
        }
        self.rounds += 1;
        if result["requestState"].is_null() && self.has(Habit::GoesRound) {
            return Some(Next::Send(AnswerWay::Post, Duration::from_millis(100)));
        }
        let state = result["requestState"].as_str()?;
        let state = if self.has(Habit::ChangesState) { state.trim() } else { state };
        self.state = Some(state.to_owned());
        Some(Next::Send(AnswerWay::Post, Duration::from_millis(100)))
    }

    /// Returns the parameters of a request, with what the stateless revision adds.
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

    /// Returns the headers of a request, each with its line end.
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

/// Removes tools from a list whose arguments are marked in a way that the revision forbids.
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

/// Whether a status comes from the server itself, and not from a proxy in front of it.
fn is_evidence(status: u16) -> bool {
    (400..500).contains(&status) && ![401, 403, 407, 408, 425, 429].contains(&status)
}

/// Whether only a server of the stateless revision uses this code.
fn is_modern_word(code: i64) -> bool {
    matches!(code, -32602 | -32601 | -32099..=-32020)
}

const ENOUGH_USELESS: u32 = 3;
const LONGEST_DISCOVER: Duration = Duration::from_secs(5);
const MOST_ROUNDS: u32 = 10;
const UNSUPPORTED_VERSION: i64 = -32022;
const USELESS_PAUSE: Duration = Duration::from_millis(750);
pub(super) const VERSION: &str = "2026-07-28";
