//! News that belong to no call: changed lists, and resources and their parts.

use super::{Sequence, Step, call, request, stateless};

pub(super) fn all() -> Vec<Sequence> {
    let uri = |method: &str| request("2", method, r#"{"uri":"x:/a"}"#);
    let touch = |id: &str, uri: &str| call(id, "touches", &format!(r#"{{"uri":"{uri}"}}"#));
    let subscribed = |name| Sequence::session(name).asks(uri("resources/subscribe"));
    let updated = Step::Until("notifications/resources/updated");
    let all = vec![
        Sequence::session("a changed list")
            .asks(request("2", "tools/list", "{}"))
            .asks(call("3", "grows", "{}"))
            .then(Step::Until("notifications/tools/list_changed"))
            .asks(call("4", "grown", "{}")),
        subscribed("an update").asks(touch("3", "x:/a")).then(updated.clone()),
        subscribed("an update of a part").asks(touch("3", "x:/a/part")).then(updated.clone()),
        subscribed("an update of another resource").asks(touch("3", "x:/b")).then(Step::Settle),
        subscribed("an update after the subscription")
            .asks(request("3", "resources/unsubscribe", r#"{"uri":"x:/a"}"#))
            .asks(touch("4", "x:/a"))
            .then(Step::Settle),
        listening("a stateless listener of a resource")
            .asks(touch_stateless("x:/a"))
            .then(updated.clone()),
        listening("a stateless listener of a part")
            .asks(touch_stateless("x:/a/part"))
            .then(updated),
        Sequence::stateless("a stateless listener of tools")
            .writes(stateless("1", LISTEN, r#"{"notifications":{"toolsListChanged":true}}"#))
            .then(Step::Until(ACKNOWLEDGED))
            .asks(stateless("2", "tools/list", "{}"))
            .asks(stateless("3", "tools/call", r#"{"name":"grows"}"#))
            .then(Step::Until("notifications/tools/list_changed")),
        Sequence::stateless("a stateless listener of nothing").asks(stateless("1", LISTEN, "{}")),
    ];
    all.into_iter().map(Sequence::alone).collect()
}

/// A stateless host that listens for `x:/a`.
fn listening(name: &'static str) -> Sequence {
    let wanted = r#"{"notifications":{"resourceSubscriptions":["x:/a"]}}"#;
    let acknowledged = Step::Until(ACKNOWLEDGED);
    Sequence::stateless(name).writes(stateless(r#""l/1""#, LISTEN, wanted)).then(acknowledged)
}

fn touch_stateless(uri: &str) -> String {
    let params = format!(r#"{{"name":"touches","arguments":{{"uri":"{uri}"}}}}"#);
    stateless("2", "tools/call", &params)
}

const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";
const LISTEN: &str = "subscriptions/listen";
