//! Reading the server's era from its answer to `server/discover`.
//!
//! That request is the safest first request to an unknown server: a modern server must know it, and a legacy
//! one cannot mistake it for work. The verdict is read from the shape of the answer. An answer that a proxy,
//! a limit or a guard may have given in the server's place is no evidence at all: a legacy verdict from a 503
//! would keep a modern server in the legacy era for as long as it is remembered.

use http::StatusCode;
use ridethrough_wire::era::{Era, Version};
use ridethrough_wire::message::code::{
    HEADER_MISMATCH, METHOD_NOT_FOUND, MISSING_CAPABILITY, UNSUPPORTED_VERSION,
};
use ridethrough_wire::message::{Answer, RpcError};
use serde::Deserialize;

use super::status;
use super::words::names_no_handshake;
use crate::head::AnswerHead;

/// What an answer to `server/discover` says about the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is modern and shares no revision with the client. `initialize` would not help.
    Disjoint {
        /// The revisions that it names.
        supported: Vec<String>,
    },
    /// It begins with `initialize`.
    Legacy,
    /// It is modern, and this is the newest revision that both speak.
    Modern(Version),
    /// The answer says nothing: ask again later, or once the guard before the server is satisfied.
    NoEvidence,
    /// It is modern and refused the request for its own reasons: the request must be corrected.
    Refused,
}

/// Reads the answer to a `server/discover` that carried everything it must.
///
/// `answer` is what the body said, whatever the status; `None` if it was no JSON-RPC.
pub fn verdict(status: StatusCode, answer: Option<&Answer>) -> Verdict {
    if is_no_evidence(status) {
        return Verdict::NoEvidence;
    }
    match answer {
        Some(Answer::Result(result)) => {
            // A result of another shape comes from servers that answer any request.
            let discovered: Option<Discovered> = result.read();
            discovered.map_or(Verdict::Legacy, |it| by_versions(it.supported_versions))
        }
        Some(Answer::Error(error)) => match error.read::<RpcError>().map(|it| it.code) {
            Some(UNSUPPORTED_VERSION) => {
                let data = error.member("data").and_then(|data| data.read::<Supported>());
                data.map_or(Verdict::Legacy, |it| by_versions(it.supported))
            }
            Some(HEADER_MISMATCH | MISSING_CAPABILITY) => Verdict::Refused,
            // Legacy servers answer unknown requests by -32601 and -32602. A modern server sends neither: it
            // must have this method, and the request's metadata was complete.
            _ => Verdict::Legacy,
        },
        None => Verdict::Legacy,
    }
}

/// Whether an error about the revision names one that the client speaks.
pub(crate) fn names_our_revision(answer: &Answer) -> bool {
    matches!(verdict(StatusCode::BAD_REQUEST, Some(answer)), Verdict::Modern(_))
}

fn by_versions(supported: Vec<String>) -> Verdict {
    let spoken = supported.iter().filter_map(|name| Version::parse(name));
    if let Some(newest) = spoken.filter(|it| it.era() == Era::Modern).max() {
        return Verdict::Modern(newest);
    }
    // Revisions are dates, and dates are ordered as text.
    let is_modern = |name: &String| name.as_str() > Version::LATEST_LEGACY.as_str();
    let is_disjoint = !supported.is_empty() && supported.iter().all(is_modern);
    if is_disjoint { Verdict::Disjoint { supported } } else { Verdict::Legacy }
}

/// Reads a whole answer to `server/discover`: `named` is the answer in it that names the request by its id,
/// and `answer` is any answer in it.
pub(crate) fn verdict_of(
    head: &AnswerHead,
    named: Option<&Answer>,
    answer: Option<&Answer>,
) -> Verdict {
    if named.is_some_and(is_told_by_an_older_server) && !status::is_challenged(head) {
        Verdict::Legacy
    } else {
        verdict(head.status, answer)
    }
}

/// Whether an answer to `server/discover` that names the request is one that only a legacy server gives: it
/// does not know the method, or wants to be initialized. No intermediary knows the request's id, so this is
/// evidence under any status.
pub fn is_told_by_an_older_server(answer: &Answer) -> bool {
    let Some(error) = answer.error() else { return false };
    error.code == METHOD_NOT_FOUND || names_no_handshake(&error.message)
}

/// Whether a status may come from something before the server, or from a temporary state of the server. It
/// then says nothing about the request.
pub fn is_no_evidence(status: StatusCode) -> bool {
    status::is_guard(status)
        || status.is_server_error()
        || status.is_redirection()
        || status.is_informational()
}

#[derive(Deserialize)]
struct Discovered {
    #[serde(rename = "supportedVersions")]
    supported_versions: Vec<String>,
}

#[derive(Deserialize)]
struct Supported {
    supported: Vec<String>,
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use ridethrough_wire::message::Json;

    #[test]
    fn a_modern_server_names_a_revision_that_we_speak() {
        let named = |versions: Value| result(200, json!({"supportedVersions": versions}));

        assert_eq!(named(json!(["2026-07-28"])), Verdict::Modern(Version::V2026_07_28));
        assert_eq!(
            named(json!(["2027-01-01", "2026-07-28", "2025-11-25"])),
            Verdict::Modern(Version::V2026_07_28)
        );
    }

    #[test]
    fn one_that_names_legacy_revisions_only_is_legacy_though_it_knows_the_method() {
        let named = |versions: Value| result(200, json!({"supportedVersions": versions}));

        assert_eq!(named(json!(["2025-11-25", "2025-06-18"])), Verdict::Legacy);
        assert_eq!(named(json!(["2027-01-01", "2025-11-25"])), Verdict::Legacy);
        assert_eq!(named(json!([])), Verdict::Legacy);
    }

    #[test]
    fn one_that_is_newer_than_we_are_is_never_asked_to_initialize() {
        let supported = vec!["2027-01-01".to_owned()];
        let data = json!({"supported": supported, "requested": "2026-07-28"});

        let by_result = result(200, json!({"supportedVersions": supported}));
        let by_refusal = error(400, -32022, Some(data));

        assert_eq!(by_result, Verdict::Disjoint { supported: supported.clone() });
        assert_eq!(by_refusal, Verdict::Disjoint { supported });
    }

    #[test]
    fn a_refused_revision_is_evidence_under_any_status() {
        for status in [200, 400, 404] {
            let modern = json!({"supported": ["2026-07-28"]});
            let legacy = json!({"supported": ["2025-11-25"]});

            assert_eq!(
                error(status, -32022, Some(modern)),
                Verdict::Modern(Version::V2026_07_28),
                "{status}"
            );
            assert_eq!(error(status, -32022, Some(legacy)), Verdict::Legacy, "{status}");
            assert_eq!(error(status, -32022, None), Verdict::Legacy, "{status}");
        }
    }

    #[test]
    fn errors_that_only_modern_servers_have_ask_for_another_request_not_for_another_era() {
        assert_eq!(error(400, -32020, None), Verdict::Refused);
        assert_eq!(error(400, -32020, Some(json!("Mcp-Name"))), Verdict::Refused);
        assert_eq!(error(400, -32021, Some(json!({"requiredCapabilities": {}}))), Verdict::Refused);
    }

    #[test]
    fn what_legacy_servers_say_to_what_they_do_not_know_is_legacy() {
        for (status, code) in [
            (200, -32601),
            (404, -32601),
            (400, -32602),
            (400, -32000),
            (404, -32001),
            (400, -32600),
        ] {
            assert_eq!(error(status, code, None), Verdict::Legacy, "{status} {code}");
        }
        for status in [200, 202, 400, 404, 405, 406, 415] {
            assert_eq!(of(status, None), Verdict::Legacy, "{status}");
        }
        assert_eq!(result(200, json!({"tools": []})), Verdict::Legacy);
    }

    #[test]
    fn guards_limits_and_trouble_are_no_evidence_whatever_their_body_says() {
        for status in [301, 307, 401, 403, 407, 408, 425, 429, 500, 502, 503, 504] {
            assert_eq!(of(status, None), Verdict::NoEvidence, "{status}");
            assert_eq!(error(status, -32601, None), Verdict::NoEvidence, "{status}");
        }
    }

    fn result(status: u16, result: Value) -> Verdict {
        of(status, Some(&Answer::Result(Json::from(result))))
    }

    fn error(status: u16, code: i64, data: Option<Value>) -> Verdict {
        let mut error = json!({"code": code, "message": "no"});
        if let Some(data) = data {
            error["data"] = data;
        }
        of(status, Some(&Answer::Error(Json::from(error))))
    }

    fn of(status: u16, answer: Option<&Answer>) -> Verdict {
        verdict(StatusCode::from_u16(status).unwrap(), answer)
    }
}
