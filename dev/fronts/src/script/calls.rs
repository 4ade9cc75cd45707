//! Calls, lists and everything else that is passed on: what reaches the server, and what comes back.

use serde_json::json;

use super::{
    LOG_LEVEL, Sequence, Step, call, call_with_token, request, stateless, stateless_call,
    stateless_with,
};

pub(super) fn all() -> Vec<Sequence> {
    let mut all = sessions();
    all.extend(stateless_ones());
    all.extend(progress_and_log());
    all.extend(tasks());
    all
}

fn sessions() -> Vec<Sequence> {
    let session = Sequence::session;
    vec![
        session("a call").asks(call("2", "echo", r#"{"a":1}"#)),
        session("bytes of arguments and results")
            .asks(call("2", "raw", r#"{"b":1.10, "a":"\u0041"}"#))
            .then(Step::Kept(r#""z":1.10,"a":123456789012345678901234567890,"e":"\u00e9""#))
            .then(Step::Kept(r#"{\"b\":1.10, \"a\":\"\\u0041\"}"#)),
        session("a tool that says it failed").asks(call("2", "flops", "{}")),
        session("a tool that answers with an error").asks(call("2", "fails", "{}")),
        session("a tool that is not there").asks(call("2", "none", "{}")),
        session("a tool that is hidden").asks(call("2", "secret", "{}")),
        session("a call without a name").asks(request("2", "tools/call", "{}")),
        session("a call whose name is a number").asks(request("2", "tools/call", r#"{"name":7}"#)),
        session("the list of tools").asks(request("2", "tools/list", "{}")),
        session("a list from a cursor that is none").asks(request(
            "2",
            "tools/list",
            r#"{"cursor":"nowhere"}"#,
        )),
        session("all other lists")
            .asks(request("2", "prompts/list", "{}"))
            .asks(request("3", "resources/list", "{}"))
            .asks(request("4", "resources/templates/list", "{}")),
        session("a prompt").asks(request("2", "prompts/get", r#"{"name":"greet"}"#)),
        session("a resource").asks(request("2", "resources/read", r#"{"uri":"x:/a"}"#)),
        session("a resource of a template").asks(request(
            "2",
            "resources/read",
            r#"{"uri":"x:/b"}"#,
        )),
        session("a resource that is not there").asks(request(
            "2",
            "resources/read",
            r#"{"uri":"y:/a"}"#,
        )),
        session("a completion").asks(request("2", "completion/complete", COMPLETION)),
        session("a method that is not there").asks(request("2", "does/not/exist", "{}")),
        session("a method that is empty").asks(request("2", "", "{}")),
        session("a notification that is not there")
            .tells(r#"{"jsonrpc":"2.0","method":"notifications/none","params":{}}"#),
        session("a level of the log").asks(request(
            "2",
            "logging/setLevel",
            r#"{"level":"error"}"#,
        )),
        session("a level that is none").asks(request(
            "2",
            "logging/setLevel",
            r#"{"level":"loud"}"#,
        )),
        session("a ping").asks(request("2", "ping", "{}")),
    ]
}

fn stateless_ones() -> Vec<Sequence> {
    let plain = Sequence::stateless;
    vec![
        plain("a stateless call").asks(stateless_call("1", "echo", &json!({}))),
        plain("bytes of a stateless call")
            .asks(stateless("1", "tools/call", r#"{"name":"raw","arguments":{"b":1.10}}"#))
            .then(Step::Kept(r#""z":1.10,"a":123456789012345678901234567890,"e":"\u00e9""#))
            .then(Step::Kept(r#"{\"b\":1.10}"#)),
        plain("a stateless tool that answers with an error").asks(stateless_call(
            "1",
            "fails",
            &json!({}),
        )),
        plain("a stateless error whose code is reserved").asks(stateless_call(
            "1",
            "fails-reserved",
            &json!({}),
        )),
        plain("a stateless tool that is hidden").asks(stateless_call("1", "secret", &json!({}))),
        plain("a stateless tool that is not there").asks(stateless_call("1", "none", &json!({}))),
        plain("two names in a stateless call").asks(stateless(
            "1",
            "tools/call",
            r#"{"name":"secret","name":"echo","arguments":{}}"#,
        )),
        plain("a stateless list of tools").asks(stateless("1", "tools/list", "{}")),
        plain("a stateless resource").asks(stateless("1", "resources/read", r#"{"uri":"x:/a"}"#)),
        plain("a stateless resource that is not there").asks(stateless(
            "1",
            "resources/read",
            r#"{"uri":"y:/a"}"#,
        )),
        plain("a stateless method that is not there").asks(stateless("1", "does/not/exist", "{}")),
        plain("a stateless notification")
            .tells(r#"{"jsonrpc":"2.0","method":"notifications/none","params":{}}"#),
        plain("a stateless id that is null").asks(stateless("null", "tools/list", "{}")),
        plain("a stateless line that is no JSON").asks("nonsense"),
    ]
}

fn progress_and_log() -> Vec<Sequence> {
    let plain = Sequence::stateless;
    let level = |level: &str| json!({LOG_LEVEL: level});
    // A door may have to tell the server the level first, beside the call.
    let leveled = |name, it: &str| {
        plain(name).asks(stateless_call("1", "echo", &level(it))).then(Step::Settle)
    };
    let all = vec![
        Sequence::session("progress").asks(call_with_token("2", "moves", r#""token""#)),
        Sequence::session("progress by a token with an escape").asks(call_with_token(
            "2",
            "moves",
            r#""to\/ken""#,
        )),
        Sequence::session("progress by a number").asks(call_with_token("2", "moves", "7")),
        Sequence::session("progress that was not asked for").asks(call("2", "moves", "{}")),
        plain("stateless progress").asks(stateless_call(
            "1",
            "moves",
            &json!({"progressToken": 7}),
        )),
        Sequence::session("a log at no level").asks(call("2", "logs", "{}")),
        Sequence::session("a log from a level on")
            .asks(request("2", "logging/setLevel", r#"{"level":"warning"}"#))
            .asks(call("3", "logs", "{}")),
        plain("a stateless log that was not asked for").asks(stateless_call(
            "1",
            "logs",
            &json!({}),
        )),
        leveled("a stateless log from a level on", "error").asks(stateless_call(
            "2",
            "logs",
            &level("error"),
        )),
        leveled("a stateless log behind a call with a level", "error").asks(stateless_call(
            "2",
            "logs",
            &json!({}),
        )),
        leveled("a stateless log from a level that is none", "loud").asks(stateless_call(
            "2",
            "logs",
            &level("loud"),
        )),
    ];
    // All calls without a session may share what the server was told of levels.
    all.into_iter().map(Sequence::alone).collect()
}

fn tasks() -> Vec<Sequence> {
    let about = |id: &str, method: &str| request(id, method, r#"{"taskId":"${task}"}"#);
    vec![
        Sequence::session("a task")
            .asks(request("2", "tools/call", r#"{"name":"echo","arguments":{},"task":{}}"#))
            .asks(about("3", "tasks/get"))
            .asks(about("4", "tasks/result"))
            .asks(about("5", "tasks/cancel")),
        Sequence::session("a task that is not there").asks(request(
            "2",
            "tasks/get",
            r#"{"taskId":"none"}"#,
        )),
        Sequence::stateless("a stateless task that is not there").asks(stateless_with(
            "1",
            "tasks/get",
            r#"{"taskId":"none"}"#,
            r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#,
            &json!({}),
        )),
    ]
}

const COMPLETION: &str =
    r#"{"ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"who","value":"h"}}"#;
