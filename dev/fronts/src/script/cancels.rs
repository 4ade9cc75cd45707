//! Requests that a host takes back, under their own id and under other spellings of it.

use serde_json::json;

use super::{Sequence, Step, call, call_with_token, stateless_call};

pub(super) fn all() -> Vec<Sequence> {
    let session = |name, id: &str, spelled| {
        Sequence::session(name)
            .writes(call_with_token(id, "holds", "1"))
            .then(Step::Until("notifications/progress"))
            .then(Step::Cancel(spelled))
            .asks(call("9", "fate", "{}"))
    };
    let all = vec![
        session("a cancel", r#""a/b""#, r#""a/b""#),
        session("a cancel with an escape", r#""a/b""#, r#""a\/b""#),
        session("a cancel without the escape", r#""a\/b""#, r#""a/b""#),
        session("a cancel of a number", "1", "1"),
        session("a cancel of 1 as 1.0", "1", "1.0"),
        session("a cancel of 1 as a text", "1", r#""1""#),
        session("a cancel of another request", "1", "2"),
        session("a cancel of nothing", "1", "null"),
        Sequence::session("a cancel without an id")
            .tells(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{}}"#),
        Sequence::session("a cancel behind the answer")
            .asks(call("1", "echo", "{}"))
            .then(Step::Cancel("1"))
            .then(Step::Settle),
        Sequence::stateless("a stateless cancel")
            .writes(stateless_call(r#""a/b""#, "holds", &json!({"progressToken": 1})))
            .then(Step::Until("notifications/progress"))
            .then(Step::Cancel(r#""a\/b""#))
            .asks(stateless_call("9", "fate", &json!({}))),
    ];
    all.into_iter().map(Sequence::alone).collect()
}
