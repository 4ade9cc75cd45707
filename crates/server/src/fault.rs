//! What clients get in place of an answer of the backend.

use std::time::Duration;

use bytes::Bytes;
use ridethrough_core::{Doubt, DoubtForm};
use ridethrough_wire::message::{Id, Json, code};
use serde_json::{Value, json};

use crate::backend::Unavailable;
use crate::calls::Call;
use crate::host::Ending;
use crate::parts::ParsedMessage;

/// The reason why a session is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Over {
    /// The session was ended on purpose.
    Closed(&'static str),
    /// Its conversation ended by itself.
    Died(Ending),
}

impl Over {
    /// Returns what happened, in words.
    pub(crate) fn story(&self) -> String {
        match self {
            Self::Closed(why) => format!("the session was ended: {why}"),
            Self::Died(ending) => ending.what.clone(),
        }
    }

    /// Returns what is told of a call that was under way.
    pub(crate) fn doubt(&self) -> Doubt {
        let data = match self {
            Self::Closed(_) => json!({ "kind": "sessionEnded", "mayHaveRun": true }),
            // The words of the backend are facts: in a message they could make a program repeat the call.
            Self::Died(ending) => {
                let mut data = ending.data.clone();
                data["what"] = ending.what.clone().into();
                data
            }
        };
        let kind = data["kind"].as_str().unwrap_or_default().to_owned();
        Doubt::new(&kind, Json::from(data))
    }
}

/// Returns the answer to a call that may have run. This is the form for calls of tools.
pub(crate) fn in_doubt(call: &Call, doubt: &Doubt, form: DoubtForm) -> ParsedMessage {
    let form = if call.is_of_tool { form } else { DoubtForm::Error };
    ParsedMessage::response(&call.id, &doubt.answer(form))
}

/// Returns a JSON-RPC error as a whole message. Without an id it belongs to no request in particular.
pub(crate) fn error(id: Option<&Id>, code: i64, message: &str, data: Option<Value>) -> Bytes {
    let mut error = json!({ "code": code, "message": message });
    if let Some(data) = data {
        error["data"] = data;
    }
    // The client's own id is repeated byte for byte.
    let id = id.map_or("null", |id| id.json().as_str());
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#).into()
}

/// Returns the error that says that a request cannot be taken now, and that nothing was run.
///
/// A status says nothing of whether a call has run, because proxies make it too. That the error names the request
/// and says `mayHaveRun: false` is the proof.
pub(crate) fn unavailable(id: Option<&Id>, why: &Unavailable) -> Bytes {
    let Unavailable { what, retry_after } = why;
    let seconds = whole_seconds(*retry_after).max(1);
    let message = format!("{what}; nothing was run; come again in {seconds} s");
    let data = json!({
        "kind": "unavailable",
        "mayHaveRun": false,
        "retryAfterMs": seconds * 1000,
    });
    error(id, code::SERVER_ERROR, &message, Some(data))
}

/// Returns a time in whole seconds, rounded up, so that a client never comes back too early.
pub(crate) fn whole_seconds(time: Duration) -> u64 {
    time.as_secs() + u64::from(time.subsec_nanos() > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls::NewCalls;

    #[test]
    fn a_call_whose_conversation_ended_is_in_doubt_under_its_own_id_and_words_of_the_child_are_facts()
     {
        let data =
            json!({ "kind": "childDied", "mayHaveRun": true, "lastWords": ["connection reset"] });
        let what = "`server` has ended, exit status: 7".to_owned();
        let over = Over::Died(Ending { what, data: data.clone(), retry_after: Duration::ZERO });
        let told = |body: &'static str, form| -> Value {
            let text = in_doubt(&call(body), &over.doubt(), form).text();
            assert!(text.starts_with(br#"{"jsonrpc":"2.0","id":1.0,""#));
            serde_json::from_slice(&text).unwrap()
        };
        let (tool, list) = (
            r#"{"id":1.0,"method":"tools/call","params":{"name":"pay"}}"#,
            r#"{"id":1.0,"method":"resources/read","params":{"uri":"a"}}"#,
        );

        let result = told(tool, DoubtForm::Result);
        let errors = [told(tool, DoubtForm::Error), told(list, DoubtForm::Result)];

        let mut data = data;
        data["what"] = json!("`server` has ended, exit status: 7");
        assert_eq!(result["result"]["_meta"]["ridethrough/doubt"], data);
        for error in errors {
            assert_eq!((&error["error"]["code"], &error["error"]["data"]), (&json!(-32050), &data));
            let words = error["error"]["message"].as_str().unwrap();
            assert!(words.starts_with("The server's process ended"), "{words}");
        }
    }

    fn call(text: &'static str) -> Call {
        let json = Json::new(text).unwrap();
        NewCalls::read(&[ParsedMessage::read(&json).unwrap()]).unwrap().into_first().unwrap()
    }
}
