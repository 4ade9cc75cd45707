//! Whether a request may be sent twice.
//!
//! A request that may have reached the server is repeated only if a second run does no harm. That is known
//! for methods that read, for calls that the caller marked, and for tools whose annotations say so, as far as
//! these are trusted. Everything else is unsafe: an interrupted deployment must end in doubt, not in a second
//! deployment.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hasher};
use std::sync::Arc;

use ridethrough_wire::message::Json;
use ridethrough_wire::mirror::{Mirrors, Unfit};
use serde::Deserialize;

use crate::outcome::CallName;

/// What the caller says about repeating a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReplayRule {
    /// Decide by the method and by the tool's annotations.
    #[default]
    ByNature,
    /// A second run may do harm, whatever the tool's annotations say.
    Once,
    /// A second run does no harm.
    Repeatable,
}

/// Which of a tool's annotations are believed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum TrustHints {
    /// None: only the caller's word counts.
    None,
    /// `readOnlyHint`: a tool that changes nothing can run twice.
    #[default]
    ReadOnly,
    /// `idempotentHint` too.
    All,
}

/// What the server's tools say about themselves, learnt from answers to `tools/list`.
#[derive(Clone, Debug, Default)]
pub struct KnownTools {
    tools: BTreeMap<Arc<str>, Known>,
    /// The fingerprint of the first page, to notice that the tools have changed.
    first_page: Option<u64>,
    /// Whether a list was read since the tools have changed.
    is_known: bool,
}

/// What a page of tools has taught.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Learnt {
    /// Whether the first page differs from the one learnt before.
    pub is_changed: bool,
    /// The tools whose schema marks arguments wrongly, which must not be called on a stateless server.
    pub unfit: Vec<(String, Unfit)>,
}

/// What is known of one tool.
#[derive(Clone, Debug)]
struct Known {
    hints: Annotations,
    /// The arguments that are mirrored in headers.
    mirrors: Mirrors,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Annotations {
    read_only_hint: Option<bool>,
    idempotent_hint: Option<bool>,
}

impl KnownTools {
    /// Reads one page; the first page replaces what was known before.
    pub fn learn(&mut self, page: &Json, is_first: bool) -> Learnt {
        let mut learnt = Learnt::default();
        if is_first {
            let fingerprint = fingerprint(page.as_bytes());
            let old = self.first_page.replace(fingerprint);
            learnt.is_changed = old.is_some_and(|old| old != fingerprint);
            self.tools.clear();
            self.is_known = true;
        }
        for tool in page.read::<Page>().unwrap_or_default().tools {
            // A server can list without end; a tool that does not fit in is not known to be safe.
            if self.tools.len() >= MOST_TOOLS {
                break;
            }
            if tool.name.len() > LONGEST_NAME {
                continue;
            }
            let mirrors = tool.input_schema.as_ref().map(Mirrors::of_schema);
            let mirrors = match mirrors.unwrap_or_else(|| Ok(Mirrors::default())) {
                Ok(mirrors) => mirrors,
                Err(unfit) => {
                    learnt.unfit.push((tool.name.clone(), unfit));
                    Mirrors::default()
                }
            };
            let hints = tool.annotations.unwrap_or_default();
            self.tools.insert(tool.name.into(), Known { hints, mirrors });
        }
        learnt
    }

    /// Forgets all tools, because the server says that they have changed.
    pub fn forget(&mut self) {
        self.tools.clear();
        self.is_known = false;
    }

    /// Whether a list was read since the tools have changed.
    pub const fn is_known(&self) -> bool {
        self.is_known
    }

    /// Returns the arguments that are mirrored in headers, if the tool is known.
    pub fn mirrors(&self, tool: &str) -> Option<&Mirrors> {
        self.tools.get(tool).map(|known| &known.mirrors)
    }

    /// Whether the request may be sent again after it may have arrived.
    pub fn is_safe(&self, call: &CallName, rule: ReplayRule, trust: TrustHints) -> bool {
        if rule == ReplayRule::Repeatable || reads_only(&call.method) {
            return true;
        }
        if rule == ReplayRule::Once {
            return false;
        }
        let Some(Known { hints, .. }) = call.tool.as_ref().and_then(|tool| self.tools.get(tool))
        else {
            return false;
        };
        let (only_reads, is_idempotent) =
            (hints.read_only_hint == Some(true), hints.idempotent_hint == Some(true));
        match trust {
            TrustHints::None => false,
            TrustHints::ReadOnly => only_reads,
            TrustHints::All => only_reads || is_idempotent,
        }
    }
}

/// Returns the name of a tool, and whether it says that it only reads.
pub(crate) fn read_only_hint(tool: &Json) -> Option<(Box<str>, bool)> {
    let Hinted { name, annotations } = tool.read()?;
    Some((name, annotations.unwrap_or_default().read_only_hint == Some(true)))
}

/// Whether a method, by its meaning in the protocol, does no harm when it runs twice.
fn reads_only(method: &str) -> bool {
    method.ends_with("/list") || SAFE_METHODS.contains(&method)
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Page {
    tools: Vec<Tool>,
}

#[derive(Deserialize)]
struct Hinted {
    name: Box<str>,
    #[serde(default)]
    annotations: Option<Annotations>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Tool {
    name: String,
    #[serde(default)]
    annotations: Option<Annotations>,
    #[serde(default)]
    input_schema: Option<Json>,
}

/// Returns a hash that shows a change, but does not resist an attacker.
fn fingerprint(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    hasher.finish()
}

const MOST_TOOLS: usize = 10_000;
const LONGEST_NAME: usize = 512;

const SAFE_METHODS: [&str; 14] = [
    "completion/complete",
    "initialize",
    "logging/setLevel",
    "ping",
    "prompts/get",
    "resources/read",
    "resources/subscribe",
    "resources/unsubscribe",
    "server/discover",
    "subscriptions/listen",
    "tasks/cancel",
    "tasks/get",
    "tasks/result",
    "tasks/update",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_that_read_are_safe_and_a_tool_call_is_not() {
        let tools = KnownTools::default();

        for method in SAFE_METHODS.into_iter().chain(["tools/list", "resources/templates/list"]) {
            assert!(tools.is_safe(&call(method, None), ReplayRule::ByNature, TrustHints::None));
        }
        for method in ["tools/call", "sampling/createMessage", "x/unknown"] {
            assert!(!tools.is_safe(&call(method, None), ReplayRule::ByNature, TrustHints::All));
        }
    }

    #[test]
    fn a_call_that_the_caller_marked_repeatable_is_safe() {
        let tools = KnownTools::default();

        assert!(tools.is_safe(&tool("deploy"), ReplayRule::Repeatable, TrustHints::None));
    }

    #[test]
    fn a_tool_that_must_run_once_is_not_repeated_whatever_it_says_of_itself() {
        let tools = learnt();

        assert!(!tools.is_safe(&tool("read"), ReplayRule::Once, TrustHints::All));
        assert!(tools.is_safe(&call("tools/list", None), ReplayRule::Once, TrustHints::None));
    }

    #[test]
    fn a_read_only_tool_is_trusted_by_default_and_an_idempotent_one_only_if_asked() {
        let tools = learnt();
        let is_safe = |name, trust| tools.is_safe(&tool(name), ReplayRule::ByNature, trust);

        assert!(is_safe("read", TrustHints::default()));
        assert!(!is_safe("read", TrustHints::None));
        assert!(!is_safe("put", TrustHints::default()));
        assert!(is_safe("put", TrustHints::All));
        assert!(!is_safe("deploy", TrustHints::All));
        assert!(!is_safe("never-listed", TrustHints::All));
    }

    #[test]
    fn a_hint_that_is_null_says_nothing_and_hides_no_other() {
        let mut tools = KnownTools::default();
        let page = r#"{"tools":[{"name":"a","annotations":{"readOnlyHint":null}},
            {"name":"b","annotations":{"readOnlyHint":true,"idempotentHint":null}}]}"#;

        tools.learn(&Json::new(page).unwrap(), true);

        assert!(!tools.is_safe(&tool("a"), ReplayRule::ByNature, TrustHints::All));
        assert!(tools.is_safe(&tool("b"), ReplayRule::ByNature, TrustHints::ReadOnly));
    }

    #[test]
    fn tools_are_forgotten_when_the_list_changed_and_learnt_again() {
        let mut tools = learnt();

        tools.forget();

        assert!(!tools.is_safe(&tool("read"), ReplayRule::ByNature, TrustHints::All));
        assert!(!tools.learn(&page(), true).is_changed, "the list is the same as before");
        assert!(tools.is_safe(&tool("read"), ReplayRule::ByNature, TrustHints::ReadOnly));
    }

    #[test]
    fn a_tool_whose_name_is_too_long_hides_none_of_those_after_it() {
        let mut tools = KnownTools::default();
        let long = "x".repeat(LONGEST_NAME + 1);
        let page = format!(
            r#"{{"tools":[{{"name":"{long}"}},{{"name":"read","annotations":{{"readOnlyHint":true}}}}]}}"#
        );

        tools.learn(&Json::new(page).unwrap(), true);

        assert!(tools.is_safe(&tool("read"), ReplayRule::ByNature, TrustHints::ReadOnly));
        assert!(tools.mirrors(&long).is_none());
    }

    #[test]
    fn a_second_page_adds_to_the_first_and_a_new_first_page_replaces_it() {
        let mut tools = learnt();
        let second = Json::new(r#"{"tools":[{"name":"two","annotations":{"readOnlyHint":true}}]}"#);

        tools.learn(&second.unwrap(), false);

        assert!(tools.is_safe(&tool("two"), ReplayRule::ByNature, TrustHints::ReadOnly));
        assert!(tools.is_safe(&tool("read"), ReplayRule::ByNature, TrustHints::ReadOnly));
        assert!(tools.learn(&Json::new(r#"{"tools":[]}"#).unwrap(), true).is_changed);
        assert!(!tools.is_safe(&tool("two"), ReplayRule::ByNature, TrustHints::ReadOnly));
    }

    fn learnt() -> KnownTools {
        let mut tools = KnownTools::default();
        tools.learn(&page(), true);
        tools
    }

    fn page() -> Json {
        Json::new(
            r#"{"tools":[
                {"name":"read","annotations":{"readOnlyHint":true}},
                {"name":"put","annotations":{"idempotentHint":true,"title":"x"}},
                {"name":"odd","annotations":null},
                {"name":"deploy"}]}"#,
        )
        .unwrap()
    }

    fn call(method: &str, tool: Option<&str>) -> CallName {
        CallName { method: method.into(), tool: tool.map(Into::into) }
    }

    fn tool(name: &str) -> CallName {
        call("tools/call", Some(name))
    }
}
