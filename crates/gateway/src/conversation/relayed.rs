//! Errors of servers, as a caller can take them.
//!
//! An error may speak of the session that the gateway has with the server. A caller could take it for word about
//! its own session with the gateway, which is another one, and might send the call again. The words stay as they
//! are, and the data says whose they are.

use ridethrough_core::answer::words::names_a_lost_session;
use ridethrough_wire::message::splice::{is_object, text, with_member};
use ridethrough_wire::message::{Answer, Json};

/// Returns the answer of a server; one that a caller could take for word about its own session names the server.
pub(crate) fn relayed(server: &str, answer: Answer) -> Answer {
    let Answer::Error(error) = &answer else { return answer };
    let said: String = error.member("message").and_then(|it| it.read()).unwrap_or_default();
    if !names_a_lost_session(&said) {
        return answer;
    }
    let data = match error.member("data") {
        Some(data) if is_object(&data) => data,
        Some(other) => Json::empty_object().with_members([("said".to_owned(), other)]),
        None => Json::empty_object(),
    };
    let facts =
        [("mayHaveRun", Json::of(&true).expect("a bool is JSON")), ("server", text(server))];
    // What the data says of the call already is better known.
    let new = facts.into_iter().filter(|(key, _)| data.member(key).is_none());
    let data = data.with_members(new.map(|(key, value)| (key.to_owned(), value)));
    Answer::Error(with_member(error, "data", &data))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn words_about_the_gateways_session_say_whose_they_are() {
        for words in ["Session not found", "Bad Request: No valid session ID provided"] {
            let error = json!({"code": -32001, "message": words});

            let said = read(relayed("issues", Answer::Error(Json::from(error))));

            assert_eq!((&said["code"], &said["message"]), (&json!(-32001), &json!(words)));
            assert_eq!(said["data"]["mayHaveRun"], true);
            assert_eq!(said["data"]["server"], "issues");
        }
    }

    #[test]
    fn what_is_known_of_the_call_stays() {
        let data = json!({"kind": "sessionLost", "mayHaveRun": false, "more": [1]});
        let error = json!({"code": -32000, "message": "it said: session expired", "data": data});

        let said = read(relayed("issues", Answer::Error(Json::from(error))));

        assert_eq!(said["data"]["kind"], "sessionLost");
        assert_eq!(said["data"]["mayHaveRun"], false);
        assert_eq!(said["data"]["more"], json!([1]));
    }

    #[test]
    fn data_that_is_no_object_is_put_into_one() {
        let error = json!({"code": -32001, "message": "Session not found", "data": "gone"});

        let said = read(relayed("issues", Answer::Error(Json::from(error))));

        let data = json!({"said": "gone", "mayHaveRun": true, "server": "issues"});
        assert_eq!(said["data"], data);
    }

    #[test]
    fn every_other_answer_stays_as_it_is() {
        for answer in [
            Answer::Error(Json::new(r#"{"code":-32000, "message":"no","data":1.10}"#).unwrap()),
            Answer::Result(Json::new(r#"{"message":"session not found"}"#).unwrap()),
        ] {
            assert_eq!(relayed("issues", answer.clone()), answer);
        }
    }

    fn read(answer: Answer) -> Value {
        answer.json().read().unwrap()
    }
}
