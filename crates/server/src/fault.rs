//! The JSON-RPC errors that clients get.

use bytes::Bytes;
use ridethrough_core::message::Id;
use ridethrough_core::message::code;
use serde_json::{Value, json};

use crate::backend::Ending;

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

    /// Returns the answer to a call that was under way.
    pub(crate) fn answer(&self, id: &Id) -> Bytes {
        let message = format!(
            "{}; there is no answer, the call was not repeated and may have run; begin a new session",
            self.story()
        );
        let data = match self {
            Self::Closed(_) => json!({ "kind": "sessionEnded", "mayHaveRun": true }),
            Self::Died(ending) => ending.data.clone(),
        };
        error(Some(id), code::SERVER_ERROR, &message, Some(data))
    }
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ridethrough_core::message::{Incoming, Message};

    use super::*;

    #[test]
    fn a_call_whose_conversation_ended_has_the_whole_story_under_its_own_id() {
        let data = json!({ "kind": "childDied", "mayHaveRun": true });
        let what = "`server` has ended, exit status: 7".to_owned();
        let over = Over::Died(Ending { what, data: data.clone(), retry_after: Duration::ZERO });
        let asked = Bytes::from_static(br#"{"id":1.0,"method":"m"}"#);
        let Ok(Incoming::One(Message::Request { id, .. })) = Incoming::parse(&asked) else {
            panic!("not a request");
        };

        let text = over.answer(&id);

        assert!(text.starts_with(br#"{"jsonrpc":"2.0","id":1.0,"error":{"#));
        let said: Value = serde_json::from_slice(&text).unwrap();
        assert_eq!(
            said["error"],
            json!({
                "code": -32000,
                "message": "`server` has ended, exit status: 7; \
                            there is no answer, the call was not repeated and may have run; begin a new session",
                "data": data,
            })
        );
    }
}
