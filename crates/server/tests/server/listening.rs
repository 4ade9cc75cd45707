//! `subscriptions/listen`: acknowledged first, then the requested changes and nothing else.

use std::time::Duration;

use serde_json::{Value, json};

use crate::rig::{Rig, ask, with};

const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

#[tokio::test(start_paused = true)]
async fn a_subscription_is_acknowledged_with_what_the_backend_has_and_told_of_that() {
    let mut rig = Rig::new();
    let puppet = rig.shared(json!({"tools": {"listChanged": true}, "prompts": {}})).await;
    let wanted = json!({"toolsListChanged": true, "promptsListChanged": true, "resourceSubscriptions": ["a:b"]});

    let mut stream = rig.send(listen("l", wanted)).await;
    assert_eq!(stream.header("content-type"), Some("text/event-stream"));
    let first = stream.event().await.unwrap();
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(
        first["params"],
        json!({"notifications": {"toolsListChanged": true}, "_meta": {SUBSCRIPTION: "l"}})
    );

    puppet.notify("notifications/prompts/list_changed", json!({})).await;
    puppet.notify("notifications/message", json!({"level": "error"})).await;
    puppet.notify("notifications/tools/list_changed", json!({"_meta": {"x": 1}})).await;
    let told = stream.event().await.unwrap();
    assert_eq!(told["method"], "notifications/tools/list_changed");
    assert_eq!(told["params"], json!({"_meta": {"x": 1, SUBSCRIPTION: "l"}}));
    assert_eq!(stream.block().await.as_deref(), Some(": still here"));
}

#[tokio::test(start_paused = true)]
async fn resources_are_subscribed_to_for_as_long_as_anybody_listens() {
    let mut rig = Rig::new();
    let mut puppet = rig.shared(json!({"resources": {"subscribe": true}})).await;
    let wanted = json!({"resourceSubscriptions": ["a:b", "a:no"]});

    let one = rig.begin_to_send(listen(1, wanted));
    for (uri, is_there) in [("a:b", true), ("a:no", false)] {
        let asked = puppet.hear().await;
        assert_eq!(
            (&asked["method"], &asked["params"]["uri"]),
            (&json!("resources/subscribe"), &json!(uri))
        );
        if is_there {
            puppet.answer(&asked["id"], json!({})).await;
        } else {
            puppet.refuse(&asked["id"], -32002).await;
        }
    }
    let mut one = one.await.unwrap();
    let honoured = one.event().await.unwrap()["params"]["notifications"].clone();
    assert_eq!(honoured, json!({"resourceSubscriptions": ["a:b"]}));
    let mut two = rig.send(listen(2, json!({"resourceSubscriptions": ["a:b"]}))).await;
    two.event().await.unwrap();
    assert_eq!(puppet.hear_now().await, None, "it is subscribed to once");
    puppet.notify("notifications/resources/updated", json!({"uri": "a:no"})).await;
    puppet.notify("notifications/resources/updated", json!({"uri": "a:b"})).await;
    for stream in [&mut one, &mut two] {
        assert_eq!(stream.event().await.unwrap()["params"]["uri"], "a:b");
    }

    drop(one);
    assert_eq!(puppet.hear_now().await, None);
    drop(two);
    let last = puppet.hear().await;
    assert_eq!(
        (&last["method"], &last["params"]["uri"]),
        (&json!("resources/unsubscribe"), &json!("a:b"))
    );
}

/// The specification lets a server name a part of what was subscribed to.
#[tokio::test(start_paused = true)]
async fn an_update_of_a_part_is_sent_to_who_listens_for_the_whole() {
    let mut rig = Rig::new();
    let mut puppet = rig.shared(json!({"resources": {"subscribe": true}})).await;
    let listening = rig.begin_to_send(listen(1, json!({"resourceSubscriptions": ["x:/a"]})));
    let asked = puppet.hear().await;
    puppet.answer(&asked["id"], json!({})).await;
    let mut stream = listening.await.unwrap();
    stream.event().await.unwrap();

    for uri in ["x:/ab", "x:/a/part"] {
        puppet.notify("notifications/resources/updated", json!({"uri": uri})).await;
    }

    assert_eq!(stream.event().await.unwrap()["params"]["uri"], "x:/a/part");
}

#[tokio::test(start_paused = true)]
async fn a_subscription_ends_with_its_backend_and_says_so_only_when_the_server_ends() {
    let mut rig = Rig::new();
    let puppet = rig.shared(json!({"tools": {"listChanged": true}})).await;
    let wanted = json!({"toolsListChanged": true});
    let mut stream = rig.send(listen(1, wanted.clone())).await;
    stream.event().await.unwrap();
    puppet.die().await;
    assert_eq!(stream.event().await, None);

    let stream = rig.begin_to_send(listen(2, wanted));
    let mut puppet = rig.puppet().await;
    puppet.greet(json!({"tools": {"listChanged": true}})).await;
    let mut stream = stream.await.unwrap();
    stream.event().await.unwrap();
    assert!(rig.server.drain(Duration::from_secs(30)).await);
    let result = stream.event().await.unwrap();
    assert_eq!((&result["id"], &result["result"]["resultType"]), (&json!(2), &json!("complete")));
    assert_eq!(result["result"]["_meta"][SUBSCRIPTION], 2);
    assert_eq!(stream.event().await, None);
}

#[tokio::test(start_paused = true)]
async fn a_filter_that_cannot_be_read_is_refused() {
    let mut rig = Rig::new();
    let _puppet = rig.shared(json!({"tools": {"listChanged": true}})).await;
    for wanted in
        [json!(7), json!({"toolsListChanged": "yes"}), json!({"resourceSubscriptions": [1]})]
    {
        let mut answer = rig.send(listen(1, wanted)).await;
        assert_eq!(answer.status, 400);
        assert_eq!(answer.json().await["error"]["code"], -32602);
    }
    let mut many = rig.send(listen(1, json!({"resourceSubscriptions": (0..1001).map(|it| format!("a:{it}")).collect::<Vec<_>>()}))).await;
    assert_eq!(many.json().await["error"]["code"], -32602);
    let only_json =
        with(listen(1, json!({"toolsListChanged": true})), "accept", Some("application/json"));
    assert_eq!(rig.send(only_json).await.status, 406);
}

fn listen(
    id: impl Into<Value>,
    wanted: Value,
) -> http::Request<http_body_util::Full<bytes::Bytes>> {
    ask(id, "subscriptions/listen", json!({"notifications": wanted}))
}
