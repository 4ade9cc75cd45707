//! The lines that a client reports, one for each step.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The report of one step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// The place of the step in the script; the first is 0.
    pub step: usize,
    /// How it ended.
    #[serde(flatten)]
    pub done: Done<Answer>,
    /// The server's notifications since the last line: `message:<data>` for a log message, otherwise the
    /// method without `notifications/`.
    #[serde(default)]
    pub notifications: Vec<String>,
}

/// How a step or a call ended, and when.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Done<T> {
    /// Whether there was an answer; the result of a tool that failed is one.
    pub ok: bool,
    /// The answer. For several calls at once, the list of their ends is an answer even if not all of them are
    /// `ok`.
    #[serde(default = "none")]
    pub result: Option<T>,
    /// The error, as a user of the client sees it, with its codes.
    #[serde(default)]
    pub error: Option<String>,
    /// How long it took.
    pub elapsed_ms: f64,
}

/// The answer to a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Answer {
    /// Calls that were made at once, in order.
    Many(Vec<Done<Outcome>>),
    /// One call or request.
    One(Outcome),
}

/// What one call or request brought.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The text of a tool's result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Whether the tool said that it failed.
    #[serde(default, rename = "isError", skip_serializing_if = "Option::is_none")]
    pub is_error: Option<bool>,
    /// The whole result of a request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub json: Option<Value>,
}

const fn none<T>() -> Option<T> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_a_call_is_read() {
        let line = r#"{"step":1,"ok":true,"result":{"text":"hi","isError":false},"error":null,"elapsed_ms":12,"notifications":["message:n1","tools/list_changed"]}"#;

        let line: Line = serde_json::from_str(line).unwrap();

        assert_eq!(line.step, 1);
        let text = Some("hi".to_owned());
        let outcome = Outcome { text, is_error: Some(false), json: None };
        assert_eq!(line.done.result, Some(Answer::One(outcome)));
        assert_eq!(line.notifications, ["message:n1", "tools/list_changed"]);
    }

    #[test]
    fn the_line_of_many_calls_is_read() {
        let line = r#"{"step":2,"ok":false,"error":"one failed","elapsed_ms":3.5,"result":[{"ok":true,"result":{"text":"c0"},"error":null,"elapsed_ms":1},{"ok":false,"result":null,"error":"no","elapsed_ms":2}]}"#;

        let line: Line = serde_json::from_str(line).unwrap();

        let Some(Answer::Many(calls)) = line.done.result else { panic!("a list") };
        assert_eq!(calls.iter().map(|call| call.ok).collect::<Vec<_>>(), [true, false]);
    }
}
