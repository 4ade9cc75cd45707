//! Whether all readers of a message understand one thing.
//!
//! A door decides by a message what may be done, and passes its bytes on to a program with a reader of its own. Of
//! two equal members one reader takes the first and another the last; an id that is none makes a request a
//! notification for some. What could be understood in two ways is refused at every door.

use super::{Json, Message, notification, reserved};

/// Why a message is refused although it can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unclear {
    /// A member that decides what becomes of the message occurs twice.
    Doubled,
    /// It has an id that is none.
    WrongId,
}

impl Message {
    /// Checks that this message, which was read from `json`, can be understood in one way only.
    pub fn check_clear(&self, json: &Json) -> Result<(), Unclear> {
        if !has_valid_id(self, json) {
            return Err(Unclear::WrongId);
        }
        let params = match self {
            Self::Request { params, .. } | Self::Notification { params, .. } => params,
            Self::Response { .. } => &None,
        };
        let is_clear = !json.repeats(&ENVELOPE) && params.as_ref().is_none_or(are_clear);
        if is_clear { Ok(()) } else { Err(Unclear::Doubled) }
    }
}

/// Whether what passes for a notification has no id. A request whose id is an object, for example, would be one
/// that nothing answers, and that no right was asked for. Some clients write `null` with every notification.
fn has_valid_id(message: &Message, json: &Json) -> bool {
    let Message::Notification { method, .. } = message else { return true };
    json.member("id").is_none_or(|id| id.as_str() == "null" && notification::is_one(method))
}

fn are_clear(params: &Json) -> bool {
    let [meta, of] = params.pick(["_meta", "ref"]);
    !params.repeats(&PARAMS)
        && !meta.is_some_and(|it| it.repeats(&META))
        && !of.is_some_and(|it| it.repeats(&REFERENCE))
}

/// The members that say what a message is.
const ENVELOPE: [&str; 6] = ["error", "id", "jsonrpc", "method", "params", "result"];
/// The members of params by which a request is routed, checked or matched with another.
const PARAMS: [&str; 15] = [
    "_meta",
    "arguments",
    "capabilities",
    "cursor",
    "inputResponses",
    "level",
    "name",
    "notifications",
    "protocolVersion",
    "ref",
    "requestId",
    "requestState",
    "task",
    "taskId",
    "uri",
];
/// The members of `_meta` that doors read.
const META: [&str; 4] =
    [reserved::CAPABILITIES, reserved::LOG_LEVEL, reserved::VERSION, "progressToken"];
const REFERENCE: [&str; 3] = ["name", "type", "uri"];

#[cfg(test)]
mod tests {
    use super::super::Incoming;
    use super::*;

    /// A filter by name reads one of the two, and the program behind it perhaps the other.
    #[test]
    fn a_member_that_decides_and_is_there_twice_is_unclear() {
        let call = |params: &str| format!(r#"{{"id":1,"method":"tools/call","params":{params}}}"#);
        for text in [
            r#"{"id":1,"id":2,"method":"m"}"#.to_owned(),
            r#"{"id":1,"method":"ping","method":"tools/call"}"#.to_owned(),
            r#"{"id":1,"method":"m","params":{},"params":{}}"#.to_owned(),
            call(r#"{"name":"a","name":"b"}"#),
            call(r#"{"name":"a","Name":"b"}"#),
            call(r#"{"uri":"a","ur\u0069":"b"}"#),
            call(r#"{"ref":{"name":"a","name":"b"}}"#),
            call(r#"{"_meta":{"progressToken":1,"progressToken":2}}"#),
        ] {
            assert_eq!(check(&text), Err(Unclear::Doubled), "{text}");
        }
        let harmless = call(r#"{"name":"a","arguments":{"name":"b","n":1,"n":2},"x":1,"x":2}"#);
        assert_eq!(check(&harmless), Ok(()));
    }

    #[test]
    fn a_request_whose_id_is_none_is_no_notification() {
        for id in ["{}", "[]", "true", "null"] {
            let call = format!(r#"{{"id":{id},"method":"tools/call","params":{{"name":"a"}}}}"#);
            assert_eq!(check(&call), Err(Unclear::WrongId), "{call}");
        }
        assert_eq!(check(r#"{"id":null,"method":"notifications/initialized"}"#), Ok(()));
        assert_eq!(check(r#"{"method":"tools/call","params":{}}"#), Ok(()));
    }

    fn check(text: &str) -> Result<(), Unclear> {
        let json = Json::new(text.to_owned()).unwrap();
        let Ok(Incoming::One(message)) = Incoming::parse(json.as_bytes()) else {
            panic!("not read: {text}")
        };
        message.check_clear(&json)
    }
}
