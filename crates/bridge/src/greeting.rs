//! The answer to the host's `initialize`: what the upstream says of itself, in the revision that the
//! host asked for.

use ridethrough::Error;
use ridethrough_core::{CallError, Identity, Kind, Reason};
use ridethrough_wire::era::Version;
use ridethrough_wire::message::splice;
use ridethrough_wire::message::{Answer, Json};
use ridethrough_wire::secrets::Secrets;

use crate::advice::Advice;
use crate::fault;

/// Returns the revision to speak with the host: the one it asks for if the bridge knows it. The revision that
/// the upstream speaks does not matter here.
pub(crate) fn revision(params: Option<&Json>) -> &'static str {
    let asked: Option<String> =
        params.and_then(|params| params.member("protocolVersion")).and_then(|it| it.read());
    let known = asked.and_then(|asked| Version::parse(&asked));
    known.filter(|it| it.era().has_sessions()).unwrap_or(Version::LATEST_LEGACY).as_str()
}

/// Returns what the host says of itself, and what it can do for the server.
pub(crate) fn identity(params: Option<&Json>) -> Option<Identity> {
    let object = |name| params?.member(name).filter(splice::is_object);
    let capabilities = object("capabilities").unwrap_or_else(Json::empty_object);
    Some(Identity { info: object("clientInfo")?, capabilities })
}

/// Returns the name that the host gives itself.
pub(crate) fn host(params: Option<&Json>) -> Option<String> {
    params?.member("clientInfo")?.member("name")?.read()
}

/// Returns what the upstream said of itself, in the host's revision. It announces `listChanged` even where
/// the upstream does not, because the bridge sends it.
pub(crate) fn dressed(result: &Json, revision: &str) -> Json {
    let revision = Json::of(revision).expect("a string is JSON");
    let result = splice::with_member(result, "protocolVersion", &revision);
    let Some(capabilities) = result.member("capabilities") else { return result };
    splice::with_member(&result, "capabilities", &announcing(capabilities))
}

/// Returns these capabilities, with `listChanged` added to the lists.
pub(crate) fn announcing(mut capabilities: Json) -> Json {
    let yes = Json::of(&true).expect("a bool is JSON");
    for name in ["prompts", "resources", "tools"] {
        let Some(capability) = capabilities.member(name) else { continue };
        if splice::is_object(&capability) && capability.member("listChanged") != Some(yes.clone()) {
            let capability = splice::with_member(&capability, "listChanged", &yes);
            capabilities = splice::with_member(&capabilities, name, &capability);
        }
    }
    capabilities
}

/// Returns a greeting for an upstream that was never reached: it says that there may be something to list
/// later.
pub(crate) fn minimal(revision: &str) -> Json {
    let listed = serde_json::json!({ "listChanged": true });
    Json::from(serde_json::json!({
        "protocolVersion": revision,
        "capabilities": { "prompts": listed, "resources": listed, "tools": listed },
        "serverInfo": { "name": "ridethrough", "version": env!("CARGO_PKG_VERSION") },
    }))
}

/// Whether an upstream that cannot be connected to may be reached later without any change. A wrong path, a
/// certificate that is not trusted or a web page would still be there.
pub(crate) fn may_pass(error: &CallError) -> bool {
    match (error.kind, &error.reason) {
        (Kind::Config | Kind::Incompatible | Kind::PeerMisbehaved | Kind::Unauthorized, _) => false,
        (Kind::Rejected { status }, _) => match status {
            300..=499 => PASSING.contains(&status),
            status => status != NOT_IMPLEMENTED,
        },
        // A name may resolve on another network.
        (Kind::Unreachable, Reason::Transport(failure)) => !failure.cause.is_lasting(true),
        _ => true,
    }
}

/// Returns the answer to a host that cannot be greeted.
pub(crate) fn refusal(error: &Error, advice: &Advice, secrets: &Secrets) -> Answer {
    match error {
        Error::Call(error) => fault::answer(error, advice),
        Error::Server(error) => Answer::Error(error.json.clone()),
        error => Answer::refusal(INTERNAL, &fault::report(error, advice, secrets)),
    }
}

/// 4xx statuses that may pass: too slow, too early, too many requests.
const PASSING: [u16; 3] = [408, 425, 429];
/// The status of an address at which no server takes a POST.
const NOT_IMPLEMENTED: u16 = 501;
const INTERNAL: i64 = -32603;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_has_the_revision_it_asks_for_if_we_know_it() {
        for (asked, expected) in [
            (Some(r#"{"protocolVersion":"2024-11-05"}"#), "2024-11-05"),
            (Some(r#"{"protocolVersion":"2025-06-18"}"#), "2025-06-18"),
            (Some(r#"{"protocolVersion":"2031-01-01"}"#), "2025-11-25"),
            (Some(r#"{"protocolVersion":7}"#), "2025-11-25"),
            (None, "2025-11-25"),
        ] {
            let params = asked.map(|text| Json::new(text).unwrap());

            assert_eq!(revision(params.as_ref()), expected);
        }
    }

    #[test]
    fn a_greeting_is_the_upstreams_but_for_the_revision_and_changed_lists() {
        let said = r#"{"protocolVersion":"2025-11-25", "capabilities":{"tools":{ "x":1.10 },
            "resources":{"listChanged":false,"subscribe":true},"prompts":{"listChanged":true}, "logging":{}},
            "serverInfo":{"name":"a","version":"1.10"},"instructions":"be kind","_meta":{"n":1e2}}"#;

        let dressed = dressed(&Json::new(said).unwrap(), "2025-03-26");

        let expected = said
            .replace("2025-11-25", "2025-03-26")
            .replace(r#"{ "x":1.10 }"#, r#"{ "x":1.10 ,"listChanged":true}"#)
            .replace(r#""listChanged":false"#, r#""listChanged":true"#);
        assert_eq!(dressed.as_str(), expected);
    }

    #[test]
    fn a_host_that_says_nothing_of_itself_has_no_identity() {
        let params = Json::new(r#"{"clientInfo":7}"#).unwrap();
        let named = Json::new(r#"{"clientInfo":{"name":"h"}}"#).unwrap();

        assert!(identity(Some(&params)).is_none());
        assert!(identity(None).is_none());
        let identity = identity(Some(&named)).unwrap();
        assert_eq!(
            (identity.info.as_str(), identity.capabilities.as_str()),
            (r#"{"name":"h"}"#, "{}")
        );
    }
}
