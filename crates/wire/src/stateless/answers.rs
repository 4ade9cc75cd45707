//! Answers of a server with sessions in the form of the stateless revision.
//!
//! A result passes byte for byte; the members that the revision demands in addition stand after its own.

use serde_json::json;

use super::offers::Offers;
use super::{DISCOVER, can_ask};
use crate::message::reserved::{SERVER_INFO, SUBSCRIPTION, likely_meta};
use crate::message::splice::{self, is_object, text};
use crate::message::{Answer, Json, code};

/// Returns the members that the revision demands of a result and that this one does not have.
pub fn additions(result: &Json, method: &str, server: Option<&Json>) -> Vec<(String, Json)> {
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

/// Returns the result with the name of the server in the `_meta` that it already has.
pub fn with_server(result: &Json, server: Option<&Json>) -> Json {
    match (server, result.member("_meta")) {
        (Some(server), Some(meta)) if is_object(&meta) && meta.member(SERVER_INFO).is_none() => {
            let meta = meta.with_members([(SERVER_INFO.to_owned(), server.clone())]);
            splice::with_member(result, "_meta", &meta)
        }
        _ => result.clone(),
    }
}

/// Returns a result with every member that the revision demands.
pub fn dressed(result: &Json, method: &str, server: Option<&Json>) -> Json {
    let more = additions(result, method, server);
    let result = with_server(result, server);
    if more.is_empty() { result } else { result.with_members(more) }
}

/// Returns the result that asks a client these questions first, each a method and params under its key. The client
/// comes back with the state; without one its next call begins anew.
pub fn input_required<'a>(
    questions: impl IntoIterator<Item = (String, &'a str, Option<Json>)>,
    state: Option<&str>,
) -> Json {
    let asked = questions.into_iter().map(|(key, method, params)| {
        let method = ("method".to_owned(), text(method));
        let params = params.map(|params| ("params".to_owned(), params));
        (key, Json::empty_object().with_members([method].into_iter().chain(params)))
    });
    let asked = Json::empty_object().with_members(asked);
    let said = [("resultType", text("input_required")), ("inputRequests", asked)];
    let state = state.map(|state| ("requestState", text(state)));
    let said = said.into_iter().chain(state).map(|(key, value)| (key.to_owned(), value));
    Json::empty_object().with_members(said)
}

/// Returns the refusal of a request in a revision that is not spoken here, which names those that are.
pub fn unsupported(requested: &str, supported: &[&str]) -> Answer {
    Answer::Error(Json::from(json!({
        "code": code::UNSUPPORTED_VERSION,
        "message": "Unsupported protocol version",
        "data": { "supported": supported, "requested": requested },
    })))
}

/// Returns the result of `server/discover`, made from that of `initialize`, for a program that speaks these
/// revisions.
pub fn discovered(initialized: &Json, supported: &[&str]) -> Json {
    let [can, told] = initialized.pick(["capabilities", "instructions"]);
    let can = can.filter(is_object).unwrap_or_else(Json::empty_object);
    // The older revisions' tasks work differently, so their capability is not passed on.
    let can = match can.member("tasks") {
        Some(_) => can.without(&["tasks"]),
        None => can,
    };
    let supported = Json::of(supported).expect("names are JSON");
    let said = [("supportedVersions", supported), ("capabilities", can)];
    let told = told.map(|told| ("instructions", told));
    let said = said.into_iter().chain(told).map(|(key, value)| (key.to_owned(), value));
    Json::empty_object().with_members(said)
}

/// Returns an answer in terms of the stateless revision, where URLs that a person must visit before the call
/// are not an error but `input_required`. `is_told` says whether who answers was told what the client can do.
pub fn translated(answer: Answer, method: &str, offers: Offers, is_told: bool) -> Answer {
    let Answer::Error(error) = answer else { return answer };
    match error.member("code").and_then(|code| code.read()) {
        Some(code::MISSING_CAPABILITY) if is_told && names_capabilities(&error) => {
            Answer::Error(error)
        }
        Some(code::RESOURCE_NOT_FOUND) => with_code(&error, code::INVALID_PARAMS),
        Some(code::URL_REQUIRED) => {
            let pages = Some(&error).filter(|_| can_ask(method) && offers.urls()).and_then(pages);
            pages.map_or_else(|| with_code(&error, code::INTERNAL_ERROR), Answer::Result)
        }
        // These codes are about the way between a client and its server, which is not this one.
        Some(code) if code::is_modern(code) => with_code(&error, code::INTERNAL_ERROR),
        _ => Answer::Error(error),
    }
}

/// Whether an error says what its client lacks. The code alone does not: in older revisions it is free for any use.
fn names_capabilities(error: &Json) -> bool {
    let data = error.member("data");
    data.and_then(|data| data.member("requiredCapabilities")).is_some_and(|it| is_object(&it))
}

/// Returns the params of a notification without the id of the subscription that brought it: that is one of the
/// link to its server, and no business of a host.
pub fn untagged(params: Option<Json>) -> Option<Json> {
    let meta = likely_meta(params.as_ref()).filter(|meta| meta.member(SUBSCRIPTION).is_some());
    match (params, meta) {
        (Some(params), Some(_)) => Some(splice::without_meta(&params, &[SUBSCRIPTION])),
        (params, _) => params,
    }
}

/// Whether these are answers to the URLs that [`translated`] asked a client to visit.
pub fn are_pages(responses: &Json) -> bool {
    let responses = responses.members();
    !responses.is_empty() && responses.iter().all(|(key, _)| key.starts_with(PAGE))
}

/// Whether the person has visited all URLs.
pub fn were_visited(responses: &Json) -> bool {
    let is_accepted = |(_, said): (String, Json)| {
        said.member("action").is_some_and(|it| it.string().as_deref() == Some("accept"))
    };
    responses.members().into_iter().all(is_accepted)
}

/// Returns this error with another code.
fn with_code(error: &Json, code: i64) -> Answer {
    Answer::Error(splice::with_member(error, "code", &Json::from(json!(code))))
}

/// Returns the URLs that an error of an older revision names, as questions.
fn pages(error: &Json) -> Option<Json> {
    let pages = error.member("data")?.member("elicitations")?.elements()?;
    let asked = pages.iter().enumerate().map(|(number, page)| {
        let page = page.without(&["elicitationId"]);
        (format!("{PAGE}{number}"), "elicitation/create", Some(page))
    });
    (!pages.is_empty()).then(|| input_required(asked, None))
}

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
    use serde_json::Value;

    use super::*;

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

            let answer = translated(Answer::Error(error.unwrap()), "tools/call", urls, true);

            assert_eq!(answer.error().unwrap().code, expected);
            assert!(answer.json().as_str().contains(r#""data":[1.0]"#));
        }
    }

    #[test]
    fn what_a_client_lacks_is_told_by_a_backend_that_knows_what_it_can_do_and_by_no_other() {
        let error = r#"{"code":-32021,"message":"m","data":{"requiredCapabilities":{"roots":{}}}}"#;
        for (understands, expected) in [(true, -32021), (false, -32603)] {
            let error = Answer::Error(Json::new(error).unwrap());

            let answer = translated(error, "tools/call", Offers::default(), understands);

            assert_eq!(answer.error().unwrap().code, expected);
        }
    }

    #[test]
    fn a_result_has_what_the_revision_wants_and_keeps_every_byte_of_its_own() {
        let server = json_of(r#"{"name":"s"}"#);
        let info = r#""io.modelcontextprotocol/serverInfo":{"name":"s"}"#;
        for (method, said, expected) in [
            (
                "tools/call",
                r#"{ "content":[ 1.10 ]}"#,
                format!(r#"{{ "content":[ 1.10 ],"resultType":"complete","_meta":{{{info}}}}}"#),
            ),
            (
                "tools/list",
                r#"{"_meta":{ "n":1e2 },"tools":[]}"#,
                format!(
                    r#"{{"_meta":{{ "n":1e2 ,{info}}},"tools":[],"resultType":"complete","ttlMs":0,"cacheScope":"private"}}"#
                ),
            ),
            (
                "resources/read",
                r#"{"resultType":"complete","ttlMs":9,"_meta":{"io.modelcontextprotocol/serverInfo":{}}}"#,
                r#"{"resultType":"complete","ttlMs":9,"_meta":{"io.modelcontextprotocol/serverInfo":{}},"cacheScope":"private"}"#.into(),
            ),
            (
                "resources/read",
                r#"{"resultType":"input_required","requestState":"s","_meta":[]}"#,
                r#"{"resultType":"input_required","requestState":"s","_meta":[]}"#.into(),
            ),
            ("tools/call", "7", "7".into()),
        ] {
            assert_eq!(dressed(&json_of(said), method, Some(&server)).as_str(), expected, "{said}");
        }
    }

    #[test]
    fn questions_stand_under_their_keys_and_a_state_only_where_there_is_one() {
        let questions = || {
            let params = json_of(r#"{"n":1.10}"#);
            [("1".to_owned(), "roots/list", None), ("x".to_owned(), "acme/ask", Some(params))]
        };
        let asked = r#"{"resultType":"input_required","inputRequests":{"1":{"method":"roots/list"},"x":{"method":"acme/ask","params":{"n":1.10}}}"#;

        let with_state = input_required(questions(), Some("s"));

        assert_eq!(with_state.as_str(), format!(r#"{asked},"requestState":"s"}}"#));
        assert_eq!(input_required(questions(), None).as_str(), format!("{asked}}}"));
    }

    #[test]
    fn the_id_of_a_subscription_is_not_told_and_everything_else_is() {
        for (params, expected) in [
            (
                r#"{"_meta":{"io.modelcontextprotocol/subscriptionId":4},"uri":"x:/a"}"#,
                r#"{"uri":"x:/a"}"#,
            ),
            (
                r#"{"uri":"a","_meta":{"b":1.10,"io.modelcontextprotocol/subscriptionId":"s"}}"#,
                r#"{"uri":"a","_meta":{"b":1.10}}"#,
            ),
            (r#"{"uri":"a","_meta":{"b":1}}"#, r#"{"uri":"a","_meta":{"b":1}}"#),
        ] {
            assert_eq!(untagged(Some(json_of(params))).unwrap().as_str(), expected);
        }
        assert_eq!(untagged(None), None);
    }

    #[test]
    fn a_resource_that_is_not_found_has_the_newer_code_and_keeps_its_data() {
        let older = json_of(r#"{"code":-32002 ,"message":"no","data":{"uri":"a:b"}}"#);
        let other = json_of(r#"{"code":-32050,"message":"no"}"#);

        let in_new_words = |json| {
            translated(Answer::Error(json), "resources/read", Offers::default(), true)
                .json()
                .clone()
        };

        let expected = r#"{"code":-32602 ,"message":"no","data":{"uri":"a:b"}}"#;
        assert_eq!(in_new_words(older).as_str(), expected);
        assert_eq!(in_new_words(other.clone()), other);
    }

    #[test]
    fn pages_that_must_be_visited_first_are_asked_for_where_the_client_can_and_are_an_error_elsewhere()
     {
        let said = r#"{"code":-32042,"message":"visit","data":{"elicitations":[{"mode":"url","elicitationId":"e","url":"https://a.b","message":"log in"}]}}"#;
        let said = || Answer::Error(json_of(said));
        let urls = Offers::of(&json_of(r#"{"elicitation":{"url":{}}}"#));

        let asked: Value = translated(said(), "tools/call", urls, true).json().read().unwrap();
        let refused = translated(said(), "tools/call", Offers::default(), true);
        let elsewhere = translated(said(), "tools/list", urls, true);

        let page = json!({"mode": "url", "url": "https://a.b", "message": "log in"});
        let question = json!({"method": "elicitation/create", "params": page});
        assert_eq!(
            asked,
            json!({
                "resultType": "input_required",
                "inputRequests": {"ridethrough-page-0": question},
            })
        );
        assert_eq!(refused.error().unwrap().code, -32603);
        assert_eq!(elsewhere.error().unwrap().code, -32603);
    }

    #[test]
    fn only_answers_to_pages_are_taken_for_visits_and_only_all_of_them_accepted() {
        let visited = |other: &str| {
            json_of(&format!(r#"{{"ridethrough-page-0":{{"action":"accept"}}{other}}}"#))
        };

        assert!(are_pages(&visited("")) && were_visited(&visited("")));
        assert!(!were_visited(&visited(r#","ridethrough-page-1":{"action":"cancel"}"#)));
        assert!(!are_pages(&visited(r#","page":{"action":"accept"}"#)));
        assert!(!are_pages(&Json::empty_object()));
    }

    fn json_of(text: &str) -> Json {
        Json::new(text.to_owned()).unwrap()
    }
}
