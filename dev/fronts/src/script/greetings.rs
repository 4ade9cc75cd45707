//! How a host begins: `initialize` in every revision, `server/discover`, and requests that come too early.

use serde_json::json;

use super::{
    CAPABILITIES, INITIALIZED, Sequence, VERSION, call, initialize, request, stateless,
    stateless_with,
};

pub(super) fn all() -> Vec<Sequence> {
    let greeting = |name, revision| Sequence::raw(name).asks(initialize("1", revision, "{}"));
    let meta = |meta: &str| request("1", "server/discover", &format!(r#"{{"_meta":{meta}}}"#));
    vec![
        greeting("a greeting of 2025-11-25", "2025-11-25"),
        greeting("a greeting of 2025-06-18", "2025-06-18"),
        greeting("a greeting of 2025-03-26", "2025-03-26"),
        greeting("a greeting of 2024-11-05", "2024-11-05"),
        greeting("a greeting of an unknown revision", "2099-01-01"),
        greeting("a greeting of the stateless revision", "2026-07-28"),
        Sequence::raw("a greeting without params").asks(request("1", "initialize", "{}")),
        Sequence::session("a second greeting").asks(initialize("2", "2025-11-25", "{}")),
        Sequence::raw("a call before the greeting").asks(call("1", "echo", "{}")),
        Sequence::raw("`initialized` before the greeting").tells(INITIALIZED),
        Sequence::stateless("`server/discover`").asks(stateless("1", "server/discover", "{}")),
        Sequence::raw("`server/discover` that says nothing").asks(request(
            "1",
            "server/discover",
            "{}",
        )),
        Sequence::raw("`server/discover` without capabilities")
            .asks(meta(&format!(r#"{{"{VERSION}":"2026-07-28"}}"#))),
        Sequence::raw("`server/discover` of an unknown revision")
            .asks(meta(&format!(r#"{{"{VERSION}":"2099-01-01","{CAPABILITIES}":{{}}}}"#))),
        Sequence::session("`server/discover` in a session").asks(request(
            "2",
            "server/discover",
            "{}",
        )),
        Sequence::stateless("a stateless call without capabilities").asks(request(
            "1",
            "tools/call",
            &format!(r#"{{"name":"echo","_meta":{{"{VERSION}":"2026-07-28"}}}}"#),
        )),
        Sequence::stateless("a stateless call whose capabilities are a text").asks(stateless_with(
            "1",
            "tools/call",
            r#"{"name":"echo"}"#,
            r#""none""#,
            &json!({}),
        )),
        Sequence::raw("a stateless call of an unknown revision").asks(request(
            "1",
            "tools/call",
            &format!(
                r#"{{"name":"echo","_meta":{{"{VERSION}":"2099-01-01","{CAPABILITIES}":{{}}}}}}"#
            ),
        )),
        Sequence::stateless("a stateless `initialize`").asks(stateless("1", "initialize", "{}")),
        Sequence::stateless("a stateless `ping`").asks(stateless("1", "ping", "{}")),
        Sequence::stateless("a stateless `logging/setLevel`").asks(stateless(
            "1",
            "logging/setLevel",
            r#"{"level":"error"}"#,
        )),
        Sequence::stateless("a stateless `resources/subscribe`").asks(stateless(
            "1",
            "resources/subscribe",
            r#"{"uri":"x:/a"}"#,
        )),
    ]
}
