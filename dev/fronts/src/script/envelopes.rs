//! Lines that are odd as JSON or as JSON-RPC: what is a message, who is answered, under which id.

use super::{INITIALIZED, Sequence, Step, call, initialize, request};

pub(super) fn all() -> Vec<Sequence> {
    let mut all = ids();
    all.extend(shapes());
    all.extend(doubled());
    all.extend(batches());
    all.extend(ends());
    all.into_iter().map(Sequence::of_door).collect()
}

fn ids() -> Vec<Sequence> {
    let ping = |id: &str| request(id, "ping", "{}");
    vec![
        Sequence::session("an id that is a text").asks(ping(r#""a/b""#)),
        Sequence::session("an id with an escape").asks(ping(r#""a\/b""#)),
        Sequence::session("an id that is empty").asks(ping(r#""""#)),
        Sequence::session("an id that is a fraction").asks(ping("1.5")),
        Sequence::session("an id that is below zero").asks(ping("-7")),
        Sequence::session("an id that is huge").asks(ping("123456789012345678901234567890")),
        Sequence::session("an id that is null").asks(ping("null")),
        Sequence::session("an id that is an object").asks(ping("{}")),
        Sequence::session("an id that is true").asks(ping("true")),
        Sequence::session("an id that is a list").asks(ping("[1]")),
        Sequence::session("an id of 1 KiB").asks(call(&long_id(1022), "echo", "{}")),
        Sequence::session("an id of 2 KiB").asks(call(&long_id(2048), "echo", "{}")),
        Sequence::session("an id that is used again").asks(ping("1")).asks(ping("1")),
    ]
}

fn shapes() -> Vec<Sequence> {
    vec![
        Sequence::session("an id and nothing else").asks(r#"{"id":2}"#),
        Sequence::session("a request without `jsonrpc`").asks(r#"{"id":2,"method":"ping"}"#),
        Sequence::session("an empty object").asks("{}"),
        Sequence::session("a number").asks("7"),
        Sequence::session("a text").asks(r#""hello""#),
        Sequence::session("`null`").asks("null"),
        Sequence::session("a method that is a number")
            .asks(r#"{"jsonrpc":"2.0","id":2,"method":7}"#),
        Sequence::session("no JSON").asks("nonsense"),
        Sequence::session("half a message").asks(r#"{"jsonrpc":"2.0","id":2,"#),
        Sequence::session("bytes that are no text")
            .asks(&b"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"p\xff\"}"[..]),
        Sequence::session("a message and more behind it")
            .asks(format!("{} x", request("2", "ping", "{}"))),
        Sequence::session("white space around a message")
            .asks(format!("  \t{} \r", request("2", "ping", "{}"))),
        Sequence::session("params that are a list").asks(request("2", "ping", "[]")),
        Sequence::session("params that are null").asks(request("2", "tools/list", "null")),
        Sequence::session("an answer to nothing").tells(r#"{"jsonrpc":"2.0","id":99,"result":{}}"#),
        Sequence::session("an error without an id")
            .tells(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"?"}}"#),
        Sequence::session("a request named as a notification").asks(request(
            "2",
            "notifications/initialized",
            "{}",
        )),
        Sequence::session("a call without an id")
            .tells(r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"grows"}}"#),
    ]
}

/// Members that occur twice, so that two readers could understand two things.
fn doubled() -> Vec<Sequence> {
    let tool = |params: &str| request("2", "tools/call", params);
    vec![
        Sequence::session("two ids")
            .asks(r#"{"jsonrpc":"2.0","id":2,"id":3,"method":"tools/call","params":{"name":"echo"}}"#),
        Sequence::session("two methods").asks(
            r#"{"jsonrpc":"2.0","id":2,"method":"ping","method":"tools/call","params":{"name":"echo"}}"#,
        ),
        Sequence::session("two params").asks(
            r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"secret"},"params":{"name":"echo"}}"#,
        ),
        Sequence::session("two names, the hidden one first")
            .asks(tool(r#"{"name":"secret","name":"echo","arguments":{}}"#)),
        Sequence::session("two names, the hidden one last")
            .asks(tool(r#"{"name":"echo","name":"secret","arguments":{}}"#)),
        Sequence::session("two names, one in another case")
            .asks(tool(r#"{"name":"echo","Name":"secret","arguments":{}}"#)),
        Sequence::session("two names, one with an escape")
            .asks(tool(r#"{"n\u0061me":"secret","name":"echo","arguments":{}}"#)),
        Sequence::session("two progress tokens").asks(tool(
            r#"{"name":"moves","_meta":{"progressToken":1,"progressToken":2}}"#,
        )),
        Sequence::session("two arguments of one name")
            .asks(tool(r#"{"name":"raw","arguments":{"n":1,"n":2}}"#)),
    ]
}

fn batches() -> Vec<Sequence> {
    let batch = |name| Sequence::session_of(name, "2025-03-26", "{}");
    let (one, two) = (request("1", "ping", "{}"), call("2", "echo", "{}"));
    let many = |count: usize| {
        let pings: Vec<_> = (0..count).map(|id| request(&id.to_string(), "ping", "{}")).collect();
        format!("[{}]", pings.join(","))
    };
    vec![
        batch("a batch").writes(format!("[{one},{two}]")).then(Step::UntilAnswered(2)),
        batch("a batch of notifications").tells(format!("[{INITIALIZED},{INITIALIZED}]")),
        batch("a batch with one bad member")
            .writes(format!(r#"[{one},{{"id":2}}]"#))
            .then(Step::UntilAnswered(2)),
        batch("a batch with a number").writes(format!("[{one},7]")).then(Step::UntilAnswered(2)),
        batch("a batch in a batch").asks(format!("[[{one}]]")),
        batch("a batch of none").asks("[]"),
        batch("a batch with one id twice").asks(format!("[{two},{two}]")),
        batch("a batch with `initialize`")
            .asks(format!("[{}]", initialize("5", "2025-03-26", "{}"))),
        batch("a batch that is cut off").asks(format!("[{one},")),
        batch("a batch of 1001").writes(many(1001)).then(Step::UntilAnswered(1001)),
        Sequence::session("a batch in a revision without them").asks(format!("[{one}]")),
    ]
}

/// What a host says last.
fn ends() -> Vec<Sequence> {
    let large = format!(r#"{{"x":"{}"}}"#, "x".repeat(17 << 20));
    vec![
        Sequence::session("a last line without its end")
            .then(Step::WriteLast(request("2", "ping", "{}").into()))
            .then(Step::UntilEnd),
        Sequence::session("an end in the middle of a line")
            .then(Step::WriteLast(br#"{"jsonrpc":"2.0","id":2,"meth"#.to_vec()))
            .then(Step::UntilEnd),
        Sequence::session("an end behind a request")
            .writes(request("2", "ping", "{}"))
            .then(Step::UntilEnd),
        Sequence::session("a message of 17 MiB").asks(call("2", "flops", &large)),
    ]
}

/// An id of so many letters.
fn long_id(letters: usize) -> String {
    format!("\"{}\"", "i".repeat(letters))
}
