//! Reads a doubt that a program between here and the server has told.

use std::sync::LazyLock;
use std::time::Duration;

use http::StatusCode;
use memchr::memmem;
use ridethrough_wire::message::{Answer, Json, code};
use serde::Deserialize;

use super::KEY;
use crate::answer::words::quoted;
use crate::failure::Delivery;
use crate::outcome::{CallError, CallName, Kind, Reason};
use crate::rule::Rule;

/// Whether a result of `tools/call` tells that the call may have run, in place of what the tool gave.
pub fn is_told_in(result: &Json) -> bool {
    facts_in(result).is_some()
}

/// Returns the error that a result of `tools/call` tells; `None` if it is what the tool gave.
pub(crate) fn told_in(answer: &Answer, call: &CallName) -> Option<CallError> {
    let Answer::Result(result) = answer else { return None };
    call.tool.as_ref()?;
    facts_in(result).map(|facts| facts.error(call))
}

/// Returns the error that a JSON-RPC error tells in its `data`; `None` if it is the server's own.
pub fn told_as_error(error: &Json, call: &CallName) -> Option<CallError> {
    let [number, data] = error.pick(["code", "data"]);
    if number?.read::<i64>()? != code::MAY_HAVE_RUN {
        return None;
    }
    let facts = data?.read::<ToldFacts>()?;
    (facts.may_have_run == Some(true)).then(|| facts.error(call))
}

fn facts_in(result: &Json) -> Option<ToldFacts> {
    let text = result.as_bytes();
    // A search in the bytes is enough for all other results.
    if text.len() > LARGEST || OUR_NAME.find(text).is_none() {
        return None;
    }
    let facts: ToldFacts = result.member("_meta")?.member(KEY)?.read()?;
    facts.may_have_run.unwrap_or(true).then_some(facts)
}

/// The facts as a front has written them. A front has kinds of its own, and words where others have a status.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ToldFacts {
    #[serde(default)]
    kind: String,
    #[serde(default)]
    status: Option<serde_json::Value>,
    may_have_run: Option<bool>,
    #[serde(default)]
    attempts: u32,
    #[serde(default)]
    handshakes: u32,
    #[serde(default)]
    elapsed_ms: u64,
    #[serde(default)]
    retry_after_ms: Option<u64>,
    #[serde(default)]
    said: Option<String>,
    /// What a process wrote before it ended.
    #[serde(default)]
    last_words: Vec<String>,
}

impl ToldFacts {
    fn error(self, call: &CallName) -> CallError {
        let of_process = self.status.as_ref().and_then(|it| it.as_str()).map(str::to_owned);
        let status = self.status.and_then(|it| u16::try_from(it.as_u64()?).ok());
        let kind = Kind::of_name(&self.kind, status).unwrap_or(Kind::Interrupted);
        let status: Option<StatusCode> = status.and_then(|it| it.try_into().ok());
        let last_words = of_process.into_iter().chain(self.last_words).collect::<Vec<_>>();
        let last_words = (!last_words.is_empty()).then(|| last_words.join(" | "));
        let said = self.said.or(last_words);
        let reason = status.map_or(Reason::Rule(Rule::ToldByFront), Reason::Status);
        let error = CallError::new(kind, Delivery::Unknown, call.clone(), reason);
        CallError {
            attempts: self.attempts,
            handshakes: self.handshakes,
            elapsed: Duration::from_millis(self.elapsed_ms),
            retry_after: self.retry_after_ms.map(Duration::from_millis),
            status,
            said: said.as_deref().and_then(quoted),
            ..error
        }
    }
}

/// The part of the key that has one spelling: the slash behind it may be escaped. Made once, because every result of
/// a tool is searched for it.
static OUR_NAME: LazyLock<memmem::Finder<'static>> =
    LazyLock::new(|| memmem::Finder::new("ridethrough"));

/// No doubt that a front tells is nearly as large.
const LARGEST: usize = 64 * 1024;
