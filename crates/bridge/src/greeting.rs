//! The answer to the host's `initialize` or `server/discover`: what the upstream says of itself, in the words that
//! the host asked in.

use std::time::Duration;

use ridethrough_core::Identity;
use ridethrough_wire::era::Version;
use ridethrough_wire::message::{Id, Json, splice};
use ridethrough_wire::stateless::{self, DISCOVER};
use tokio::time::Instant;

/// A host that waits for the answer.
pub(crate) struct Greeting {
    pub(crate) id: Id,
    pub(crate) form: Form,
    /// When it is answered without the upstream.
    pub(crate) by: Instant,
}

/// The request by which the host asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// `server/discover`.
    Discover,
    /// `initialize`, in this revision.
    Initialize(&'static str),
}

impl Greeting {
    pub(crate) fn new(id: Id, form: Form) -> Self {
        Self { id, form, by: Instant::now() + WITHIN }
    }
}

impl Form {
    pub(crate) const fn method(self) -> &'static str {
        match self {
            Self::Discover => DISCOVER,
            Self::Initialize(_) => "initialize",
        }
    }

    /// Returns the upstream's answer to `initialize` in the form that the host asked in.
    pub(crate) fn dressed(self, initialized: &Json) -> Json {
        match self {
            Self::Discover => discovered(initialized),
            Self::Initialize(revision) => dressed(initialized, revision),
        }
    }

    /// Returns the greeting for an upstream that was never reached.
    pub(crate) fn minimal(self) -> Json {
        match self {
            Self::Discover => discovered(&minimal("")),
            Self::Initialize(revision) => minimal(revision),
        }
    }
}

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

/// Returns what the upstream said of itself, in the host's revision. It announces `listChanged` even where
/// the upstream does not, because the bridge sends it.
fn dressed(result: &Json, revision: &str) -> Json {
    let revision = Json::of(revision).expect("a string is JSON");
    let result = splice::with_member(result, "protocolVersion", &revision);
    let Some(capabilities) = result.member("capabilities") else { return result };
    splice::with_member(&result, "capabilities", &announcing(capabilities))
}

/// Returns these capabilities, with `listChanged` added to the lists.
fn announcing(mut capabilities: Json) -> Json {
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

/// Returns the result of `server/discover`, from that of `initialize`.
fn discovered(initialized: &Json) -> Json {
    let discovered = stateless::discovered(initialized, &stateless::supported());
    let [can, info] = [discovered.member("capabilities"), initialized.member("serverInfo")];
    let can = can.map(announcing).unwrap_or_else(Json::empty_object);
    stateless::dressed(
        &splice::with_member(&discovered, "capabilities", &can),
        DISCOVER,
        info.as_ref(),
    )
}

/// Returns a greeting for an upstream that was never reached: it says that there may be something to list
/// later.
fn minimal(revision: &str) -> Json {
    let listed = serde_json::json!({ "listChanged": true });
    Json::from(serde_json::json!({
        "protocolVersion": revision,
        "capabilities": { "prompts": listed, "resources": listed, "tools": listed },
        "serverInfo": { "name": "ridethrough", "version": env!("CARGO_PKG_VERSION") },
    }))
}

/// How long the upstream is waited for, so that the host has its answer within 3 s.
const WITHIN: Duration = Duration::from_millis(2500);

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

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

    #[test]
    fn a_server_is_discovered_by_what_it_said_to_initialize() {
        let said = r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"tasks":{"list":{}},"logging":{}},"serverInfo":{"name":"a","version":"1.10"},"instructions":"be kind"}"#;

        let discovered: Value = discovered(&Json::new(said).unwrap()).read().unwrap();

        assert_eq!(
            discovered,
            json!({
                "resultType": "complete",
                "supportedVersions":
                    ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"],
                "capabilities": {"tools": {"listChanged": true}, "logging": {}},
                "instructions": "be kind",
                "ttlMs": 0,
                "cacheScope": "private",
                "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "a", "version": "1.10"}},
            })
        );
    }
}
