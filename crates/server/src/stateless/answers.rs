//! Answers of a session-based backend in the form of the stateless revision.
//!
//! A result passes byte for byte; the members that the revision demands in addition are written after its
//! own.

use bytes::Bytes;
use ridethrough_core::message::splice::{self, is_object, text};
use ridethrough_core::message::{Answer, Id, Json, code};
use serde_json::json;

use super::refusal::supported;
use super::sender::Offers;

/// Returns the text of an answer, in pieces: a large result is not copied.
pub(crate) fn written(id: &Id, answer: &Answer, method: &str, server: Option<&Json>) -> Vec<Bytes> {
    let (key, json) = match answer {
        Answer::Error(error) => ("error", error.clone()),
        Answer::Result(result) => ("result", with_server(result, server)),
    };
    let head = format!(r#"{{"jsonrpc":"2.0","id":{},"{key}":"#, id.json().as_str());
    let more = match answer {
        Answer::Result(_) => additions(&json, method, server),
        Answer::Error(_) => Vec::new(),
    };
    let whole = json.as_bytes();
    if more.is_empty() {
        return vec![head.into(), whole.clone(), Bytes::from_static(b"}")];
    }
    let open = whole.slice(..whole.len() - 1);
    let added = Json::empty_object().with_members(more);
    // The new members, without their opening brace, follow the existing ones.
    let added = &added.as_str()[1..];
    let is_empty = open[1..].iter().all(u8::is_ascii_whitespace);
    let tail = if is_empty { format!("{added}}}") } else { format!(",{added}}}") };
    vec![head.into(), open, tail.into()]
}

/// Returns an error of the backend in terms of the stateless revision, where URLs that a person must visit
/// before the call are not an error but `input_required`.
pub(crate) fn translated(answer: Answer, method: &str, offers: Offers) -> Answer {
    let Answer::Error(error) = answer else { return answer };
    let code: Option<i64> = error.member("code").and_then(|code| code.read());
    let with_code =
        |code: i64| Answer::Error(splice::with_member(&error, "code", &Json::from(json!(code))));
    match code {
        Some(code::RESOURCE_NOT_FOUND) => with_code(code::INVALID_PARAMS),
        Some(code::URL_REQUIRED) => {
            let pages = Some(&error).filter(|_| can_ask(method) && offers.urls).and_then(pages);
            pages.map_or_else(|| with_code(code::INTERNAL_ERROR), Answer::Result)
        }
        // These codes are about the way between a client and its server, and the client's server is this one.
        Some(code) if code::is_modern(code) => with_code(code::INTERNAL_ERROR),
        _ => Answer::Error(error),
    }
}

/// Returns the result of `server/discover`, made from that of `initialize`.
pub(crate) fn discovered(initialized: &Json) -> Json {
    let [can, told] = initialized.pick(["capabilities", "instructions"]);
    let can = can.filter(is_object).unwrap_or_else(Json::empty_object);
    // The older revisions' tasks work differently, so their capability is not passed on.
    let can = match can.member("tasks") {
        Some(_) => can.without(&["tasks"]),
        None => can,
    };
    let supported = Json::of(&supported()).expect("names are JSON");
    let said = [("supportedVersions", supported), ("capabilities", can)];
    let told = told.map(|told| ("instructions", told));
    let said = said.into_iter().chain(told).map(|(key, value)| (key.to_owned(), value));
    Json::empty_object().with_members(said)
}

/// Whether the answer to this method may be `input_required`.
pub(crate) fn can_ask(method: &str) -> bool {
    matches!(method, "prompts/get" | "resources/read" | "tools/call")
}

/// Whether this method is not passed on: it exists in the older revisions only, or differs there.
pub(crate) fn is_gone(method: &str) -> bool {
    matches!(
        method,
        "initialize"
            | "logging/setLevel"
            | "ping"
            | "resources/subscribe"
            | "resources/unsubscribe"
    ) || method.starts_with("tasks/")
}

/// Whether these are answers to the URLs that [`translated`] asked the client to visit.
pub(crate) fn are_pages(responses: &Json) -> bool {
    let responses = responses.members();
    !responses.is_empty() && responses.iter().all(|(key, _)| key.starts_with(PAGE))
}

/// Whether the person has visited all URLs.
pub(crate) fn were_visited(responses: &Json) -> bool {
    let is_accepted = |(_, said): (String, Json)| {
        said.member("action").is_some_and(|it| it.string().as_deref() == Some("accept"))
    };
    responses.members().into_iter().all(is_accepted)
}

/// Returns the URLs that an error of an older revision names, as questions. They come without a state: the
/// next call begins anew.
fn pages(error: &Json) -> Option<Json> {
    let pages = error.member("data")?.member("elicitations")?.elements()?;
    let asked = pages.iter().enumerate().map(|(number, page)| {
        let page = page.without(&["elicitationId"]);
        let asked =
            [("method".to_owned(), text("elicitation/create")), ("params".to_owned(), page)];
        (format!("{PAGE}{number}"), Json::empty_object().with_members(asked))
    });
    let asked: Vec<_> = asked.collect();
    (!asked.is_empty()).then(|| {
        Json::empty_object().with_members([
            ("resultType".to_owned(), text("input_required")),
            ("inputRequests".to_owned(), Json::empty_object().with_members(asked)),
        ])
    })
}

/// Returns the result with the name of the server in the `_meta` that it already has.
fn with_server(result: &Json, server: Option<&Json>) -> Json {
    match (server, result.member("_meta")) {
        (Some(server), Some(meta)) if is_object(&meta) && meta.member(SERVER_INFO).is_none() => {
            let meta = meta.with_members([(SERVER_INFO.to_owned(), server.clone())]);
            splice::with_member(result, "_meta", &meta)
        }
        _ => result.clone(),
    }
}

/// Returns the members that the revision demands and the result does not have.
fn additions(result: &Json, method: &str, server: Option<&Json>) -> Vec<(String, Json)> {
    if !is_object(result) {
        return Vec::new();
    }
    let [kind, ttl, scope, meta] = result.pick(["resultType", "ttlMs", "cacheScope", "_meta"]);
    let is_complete = kind.as_ref().is_none_or(|kind| kind.string().as_deref() == Some("complete"));
    let may_be_kept = is_complete && KEPT.contains(&method);
    let kind = kind.is_none().then(|| ("resultType", text("complete")));
    let ttl = (may_be_kept && ttl.is_none()).then(|| ("ttlMs", Json::from(json!(0))));
    let scope = (may_be_kept && scope.is_none()).then(|| ("cacheScope", text("private")));
    let meta = server.filter(|_| meta.is_none()).map(|server| {
        ("_meta", Json::empty_object().with_members([(SERVER_INFO.to_owned(), server.clone())]))
    });
    let more = [kind, ttl, scope, meta].into_iter().flatten();
    more.map(|(key, value)| (key.to_owned(), value)).collect()
}

pub(crate) const DISCOVER: &str = "server/discover";
const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
/// The methods whose results say how long they may be kept.
const KEPT: [&str; 6] = [
    DISCOVER,
    "prompts/list",
    "resources/list",
    "resources/read",
    "resources/templates/list",
    "tools/list",
];
/// The beginning of the keys of URLs, chosen so that no server's own key begins with it by chance.
const PAGE: &str = "ridethrough-page-";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_passes_byte_for_byte_and_has_what_the_revision_demands_behind_it() {
        let server = Json::new(r#"{"name":"s"}"#).unwrap();
        let meta = r#""_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s"}}"#;
        for (method, result, expected) in [
            ("tools/call", "{ }", format!(r#"{{ "resultType":"complete",{meta}}}"#)),
            (
                "tools/call",
                r#"{"n":1.10, "n":2}"#,
                format!(r#"{{"n":1.10, "n":2,"resultType":"complete",{meta}}}"#),
            ),
            (
                "tools/list",
                r#"{"tools":[]}"#,
                format!(
                    r#"{{"tools":[],"resultType":"complete","ttlMs":0,"cacheScope":"private",{meta}}}"#
                ),
            ),
            (
                "tools/call",
                r#"{"resultType":"complete","_meta":{"a":1}}"#,
                r#"{"resultType":"complete","_meta":{"a":1,"io.modelcontextprotocol/serverInfo":{"name":"s"}}}"#.to_owned(),
            ),
            ("tools/call", "7", "7".to_owned()),
        ] {
            let answer = Answer::Result(Json::new(result).unwrap());

            let text = written(&Id::of_number(3), &answer, method, Some(&server)).concat();

            let whole = format!(r#"{{"jsonrpc":"2.0","id":3,"result":{expected}}}"#);
            assert_eq!(String::from_utf8(text).unwrap(), whole);
        }
    }

    #[test]
    fn codes_of_the_other_era_are_translated() {
        let urls = Offers::of(&Json::new(r#"{"elicitation":{"url":{}}}"#).unwrap());
        for (code, expected) in [
            (-32002, -32602),
            (-32042, -32603),
            (-32020, -32603),
            (-32021, -32603),
            (-32602, -32602),
            (-32000, -32000),
        ] {
            let error = Json::new(format!(r#"{{"code":{code},"message":"m","data":[1.0]}}"#));

            let answer = translated(Answer::Error(error.unwrap()), "tools/call", urls);

            assert_eq!(answer.error().unwrap().code, expected);
            assert!(answer.json().as_str().contains(r#""data":[1.0]"#));
        }
    }

    #[test]
    fn urls_that_must_be_visited_are_asked_for_where_the_client_can() {
        let error = r#"{"code":-32042,"message":"m","data":{"elicitations":[{"mode":"url","elicitationId":"e","url":"https://a.b"}]}}"#;
        let error = || Answer::Error(Json::new(error).unwrap());
        let urls = Offers::of(&Json::new(r#"{"elicitation":{"url":{}}}"#).unwrap());

        let asked = translated(error(), "tools/call", urls);

        assert_eq!(
            asked.json().as_str(),
            r#"{"resultType":"input_required","inputRequests":{"ridethrough-page-0":{"method":"elicitation/create","params":{"mode":"url","url":"https://a.b"}}}}"#
        );
        assert!(translated(error(), "tools/list", urls).error().is_some());
        assert!(translated(error(), "tools/call", Offers::default()).error().is_some());
    }
}
