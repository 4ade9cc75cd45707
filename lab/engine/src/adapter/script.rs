//! The steps that a client is asked to carry out.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One step of a script. Times are in seconds, because adapters are written in any language.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "lowercase", deny_unknown_fields)]
pub enum Step {
    /// Calls a tool; without `timeout_s` under the client's own default.
    Call {
        /// The tool.
        tool: String,
        /// Its arguments.
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        args: Map<String, Value>,
        /// How long the caller waits.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        timeout_s: Option<f64>,
        /// Makes this many calls at once, whose argument `msg` is `c0`, `c1` and so on.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        concurrency: Option<usize>,
        /// Cancels after this many seconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cancel_after_s: Option<f64>,
    },
    /// Ends the session and drops the client.
    Close {},
    /// Creates a client and connects it.
    Initialize {
        /// The bearer token that it sends.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bearer: Option<String>,
        /// Lets it log in by OAuth when the server asks for that.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        login: Option<LoginStep>,
    },
    /// Sends any request.
    Request {
        /// Its method.
        method: String,
        /// Its parameters.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        params: Option<Value>,
        /// How long the caller waits.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        timeout_s: Option<f64>,
    },
    /// Does nothing for a while, but goes on listening.
    Sleep {
        /// How long, in seconds.
        s: f64,
    },
}

/// How a client logs in: the authorization URL is opened by the program in `BROWSER`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoginStep {
    /// How long the person has to log in.
    pub within_s: f64,
}

impl Step {
    /// Returns how many calls or requests the step makes.
    pub fn asks(&self) -> usize {
        match self {
            Self::Call { concurrency, .. } => concurrency.unwrap_or(1),
            Self::Request { .. } => 1,
            Self::Close {} | Self::Initialize { .. } | Self::Sleep { .. } => 0,
        }
    }

    /// Returns why the step cannot be played, though it could be read.
    pub fn nonsense(&self) -> Option<String> {
        match self {
            Self::Call { timeout_s, cancel_after_s, concurrency, .. } => {
                wrong_time("timeout_s", *timeout_s)
                    .or_else(|| wrong_time("cancel_after_s", *cancel_after_s))
                    .or_else(|| wrong_concurrency(*concurrency))
            }
            Self::Request { timeout_s, .. } => wrong_time("timeout_s", *timeout_s),
            Self::Sleep { s } => wrong_time("s", Some(*s)),
            Self::Initialize { login, .. } => {
                wrong_time("within_s", login.as_ref().map(|login| login.within_s))
            }
            Self::Close {} => None,
        }
    }
}

fn wrong_time(name: &str, given: Option<f64>) -> Option<String> {
    let given = given.filter(|given| !(0.0..=LONGEST_S).contains(given))?;
    Some(format!("`{name}` is {given}, must be 0 to {LONGEST_S} seconds"))
}

fn wrong_concurrency(given: Option<usize>) -> Option<String> {
    let given = given.filter(|given| !(1..=MOST_AT_ONCE).contains(given))?;
    Some(format!("`concurrency` is {given}, must be 1 to {MOST_AT_ONCE}"))
}

/// The longest wait of a script: more than a day is a mistake in its units.
const LONGEST_S: f64 = 86_400.0;
/// The most calls at once: more than any client is asked for, and less than would exhaust a process.
const MOST_AT_ONCE: usize = 10_000;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_step_is_read_and_written_as_the_protocol_has_it() {
        let script = json!([
            {"op": "initialize"},
            {"op": "initialize", "bearer": "t1"},
            {"op": "initialize", "login": {"within_s": 3.0}},
            {"op": "call", "tool": "echo", "args": {"msg": "a"}, "timeout_s": 5.0, "concurrency": 10,
             "cancel_after_s": 0.5},
            {"op": "request", "method": "prompts/list", "params": {"cursor": "2"}},
            {"op": "sleep", "s": 0.4},
            {"op": "close"},
        ]);

        let steps: Vec<Step> = serde_json::from_value(script.clone()).unwrap();

        assert_eq!(serde_json::to_value(&steps).unwrap(), script);
    }

    #[test]
    fn a_step_with_a_word_that_nobody_knows_is_refused() {
        let script = json!({"op": "call", "tool": "echo", "timeout_ms": 5});

        assert!(serde_json::from_value::<Step>(script).is_err());
    }
}
