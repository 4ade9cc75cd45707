//! The outcome of a call through a gateway, as its caller got it.

use ridethrough::{Error, Json};
use serde_json::Value;

use crate::world::told::Told;

/// Reads the outcome of a call. An error of the gateway says what it knows of the call in its `data`.
pub(super) fn by_gateway(result: Result<Json, Error>) -> Told {
    let Err(Error::Server(error)) = &result else {
        return match Told::by_client(result) {
            Told::Answered(text) => Told::Answered(without_server(text)),
            other => other,
        };
    };
    let said: Value = serde_json::from_str(error.json.as_str()).unwrap_or_default();
    let (data, message) = (&said["data"], said["message"].as_str().unwrap_or_default());
    match (data["kind"].as_str(), data["mayHaveRun"].as_bool()) {
        (Some(kind), Some(may_have_run)) => {
            Told::Failed { kind: format!("gateway: {kind}"), may_have_run }
        }
        // There is no server to which it could have been sent.
        _ if UNKNOWN.iter().any(|words| message.contains(words)) => {
            Told::Failed { kind: "gateway: unknown".to_owned(), may_have_run: false }
        }
        _ => Told::ServerError(said.to_string()),
    }
}

/// Takes away what the stateless revision demands behind a result: the name of the server.
fn without_server(text: String) -> String {
    let Some(at) = text.rfind(SERVER).filter(|_| text.ends_with("}}}")) else { return text };
    // What is added is the last member, and an object in an object.
    let is_last = text[at + SERVER.len()..]
        .find('}')
        .is_some_and(|end| at + SERVER.len() + end + 3 == text.len());
    if is_last { format!("{}}}", &text[..at]) } else { text }
}

const SERVER: &str = r#","_meta":{"io.modelcontextprotocol/serverInfo":{"#;
const UNKNOWN: [&str; 2] = ["there is no tool", "is not here any more"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_name_of_the_server_at_the_end_is_taken_away() {
        let of = |text: &str| without_server(text.to_owned());
        let name = r#""io.modelcontextprotocol/serverInfo":{"name":"ridethrough","version":"1"}"#;

        assert_eq!(of(&format!(r#"{{"a":1,"_meta":{{{name}}}}}"#)), r#"{"a":1}"#);
        for text in [
            r#"{"a":1}"#.to_owned(),
            format!(r#"{{"a":1,"_meta":{{{name},"b":{{}}}}}}"#),
            format!(r#"{{"a":1,"_meta":{{{name}}},"b":2}}"#),
        ] {
            assert_eq!(of(&text), text);
        }
    }
}
