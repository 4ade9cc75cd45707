//! `subscriptions/listen`: a host of the stateless revision gets the notifications that it listens for, and
//! no others.

use std::sync::mpsc;

use ridethrough_lab::{Mcp, Times, When};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::modern::{both, host, modern};
use crate::rig::{Host, Rig, secs};

#[tokio::test(start_paused = true)]
async fn a_host_that_listens_is_told_under_its_own_id_and_one_that_does_not_is_not() {
    for rig in both() {
        let mut host = host(&rig);
        host.asked(1, "server/discover", modern(json!({}))).await;
        tokio::time::sleep(secs(1)).await;
        tells(&rig, "notifications/tools/list_changed", json!({})).await;
        assert!(host.hear_for(secs(5)).await.is_empty(), "nobody listens");

        let tools = listens(&mut host, json!("a"), json!({"toolsListChanged": true})).await;
        let all = json!({"toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true, "taskIds": ["t"]});
        let granted = listens(&mut host, json!(7), all).await;
        tells(&rig, "notifications/prompts/list_changed", json!({})).await;
        let prompts = host.hear_for(secs(5)).await;
        tells(&rig, "notifications/tools/list_changed", json!({})).await;
        let both = host.hear_for(secs(5)).await;

        assert_eq!(tools, json!({"toolsListChanged": true}));
        assert_eq!(
            granted,
            json!({"toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true})
        );
        assert_eq!(ids(&prompts), [7]);
        let mut told = ids(&both);
        told.sort_by_key(ToString::to_string);
        assert_eq!(told, [json!("a"), json!(7)]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_that_differs_after_a_lost_session_is_told_to_who_listens() {
    let rig = Rig::new();
    let mut host = host(&rig);
    host.asked(1, "tools/list", modern(json!({}))).await;
    listens(&mut host, json!(2), json!({"toolsListChanged": true})).await;

    rig.mcp.tools(json!([{"name": "new", "inputSchema": {"type": "object"}}]));
    rig.mcp.forget_sessions();
    host.ask(3, "tools/call", modern(json!({"name": "echo"}))).await;
    let heard = host.hear_for(secs(60)).await;

    let told: Vec<_> = heard.iter().filter(|it| it["method"].is_string()).cloned().collect();
    assert_eq!(told.len(), 1, "{heard:?}");
    assert_eq!(
        (&told[0]["method"], ids(&told)),
        (&json!("notifications/tools/list_changed"), vec![json!(2)])
    );
}

/// A host that knows its revision need not ask for it: a pinned client of the TypeScript SDK does not.
#[tokio::test(start_paused = true)]
async fn who_listened_before_the_server_was_ever_there_and_asked_nothing_is_told_when_it_is() {
    for rig in both() {
        rig.server.kill().await;
        let mut host = host(&rig);
        listens(&mut host, json!(1), json!({"toolsListChanged": true})).await;
        host.ask(2, "tools/call", modern(json!({"name": "echo"}))).await;

        rig.server.restart().await.unwrap();
        let heard = host.hear_for(secs(20)).await;

        let told: Vec<_> = heard.iter().filter(|it| it["method"].is_string()).cloned().collect();
        assert_eq!(ids(&told), [1], "{heard:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn resources_are_subscribed_to_and_let_go_with_the_last_who_listens() {
    for (rig, is_stateless) in both().into_iter().zip([false, true]) {
        let mut host = host(&rig);
        let wanted = json!({"resourceSubscriptions": ["lab://note"]});
        for id in [1, 2] {
            let granted = listens(&mut host, json!(id), wanted.clone()).await;
            assert_eq!(granted, wanted);
        }
        tokio::time::sleep(secs(1)).await;

        tells(&rig, "notifications/resources/updated", json!({"uri": "lab://note"})).await;
        let told = host.hear_for(secs(5)).await;
        host.cancel(1).await;
        tokio::time::sleep(secs(1)).await;
        let unsubscribed = |rig: &Rig| rig.count(When::method("resources/unsubscribe"));
        assert_eq!(unsubscribed(&rig), 0, "the other still listens");
        tells(&rig, "notifications/resources/updated", json!({"uri": "lab://note"})).await;
        let left = host.hear_for(secs(5)).await;
        host.cancel(2).await;
        tokio::time::sleep(secs(1)).await;

        assert_eq!(ids(&told), [1, 2]);
        assert_eq!(ids(&left), [2]);
        assert_eq!(unsubscribed(&rig), usize::from(!is_stateless));
        tells(&rig, "notifications/resources/updated", json!({"uri": "lab://note"})).await;
        assert!(host.hear_for(secs(5)).await.is_empty(), "no answer, and nothing more");
    }
}

/// Two requests that are out at once may be carried out in either order, and the host would get no
/// notifications.
#[tokio::test(start_paused = true)]
async fn a_resource_that_is_wanted_again_is_subscribed_to_after_the_server_has_let_it_go() {
    let rig = Rig::new();
    let subscribed = |mcp: &Mcp| mcp.count(&When::method("resources/subscribe"));
    let (seen, before) = mpsc::channel();
    rig.mcp.rule(When::method("resources/unsubscribe"), Times::Once, move |ask| {
        let seen = seen.clone();
        async move {
            tokio::time::sleep(secs(3)).await;
            seen.send(subscribed(ask.mcp())).unwrap();
            ask.pass().await;
        }
    });
    let mut host = host(&rig);
    let wanted = json!({"resourceSubscriptions": ["lab://note"]});
    listens(&mut host, json!(1), wanted.clone()).await;
    let began = Instant::now();

    host.cancel(1).await;
    let granted = listens(&mut host, json!(2), wanted.clone()).await;

    assert_eq!(before.try_recv(), Ok(1), "the second waits");
    assert_eq!(subscribed(&rig.mcp), 2);
    assert_eq!(granted, wanted);
    assert!(began.elapsed() < secs(10));
}

#[tokio::test(start_paused = true)]
async fn a_resource_that_the_server_never_lets_go_is_not_promised_again() {
    let rig = Rig::new();
    rig.mcp.rule(When::method("resources/unsubscribe"), Times::Always, |ask| async {
        ask.sse().await.gone().await;
    });
    let mut host = host(&rig);
    let wanted = json!({"resourceSubscriptions": ["lab://note"]});
    listens(&mut host, json!(1), wanted.clone()).await;
    let began = Instant::now();

    host.cancel(1).await;
    let granted = listens(&mut host, json!(2), wanted).await;

    assert_eq!(granted, json!({}));
    assert!(began.elapsed() <= secs(10), "it took {:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn what_is_listened_for_ends_with_the_host_and_is_answered() {
    let rig = Rig::new();
    let mut host = host(&rig);
    host.asked(1, "server/discover", modern(json!({}))).await;
    listens(&mut host, json!("x"), json!({"toolsListChanged": true})).await;

    host.finish_writing().await;

    let rest = host.rest().await;
    let ended: Value = serde_json::from_str(&rest[0]).unwrap();
    assert_eq!((&ended["id"], &ended["result"]["resultType"]), (&json!("x"), &json!("complete")));
    let meta = &ended["result"]["_meta"];
    assert_eq!(meta["io.modelcontextprotocol/subscriptionId"], "x", "{ended}");
    assert_eq!(meta["io.modelcontextprotocol/serverInfo"]["name"], "ridethrough-lab");
    assert_eq!(rest.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn what_is_no_filter_and_what_is_too_much_is_refused() {
    let rig = Rig::new();
    let mut host = host(&rig);

    let none = host.asked(1, "subscriptions/listen", modern(json!({}))).await;
    let uris: Vec<_> = (0..1001).map(|number| format!("lab://{number}")).collect();
    let wanted = json!({"notifications": {"resourceSubscriptions": uris}});
    let many = host.asked(2, "subscriptions/listen", modern(wanted)).await;

    assert_eq!((&none["error"]["code"], &many["error"]["code"]), (&json!(-32602), &json!(-32602)));
}

/// Listens, and returns the acknowledged filter.
async fn listens(host: &mut Host, id: Value, wanted: Value) -> Value {
    host.ask(id.clone(), "subscriptions/listen", modern(json!({"notifications": wanted}))).await;
    let said = host.hear_json().await;
    assert_eq!(said["method"], "notifications/subscriptions/acknowledged", "{said}");
    assert_eq!(ids(std::slice::from_ref(&said)), [id]);
    said["params"]["notifications"].clone()
}

async fn tells(rig: &Rig, method: &str, params: Value) {
    rig.mcp.push(json!({"jsonrpc": "2.0", "method": method, "params": params})).await;
}

/// Returns the ids of the requests that these notifications belong to.
fn ids(told: &[Value]) -> Vec<Value> {
    let id = |it: &Value| it["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"].clone();
    told.iter().map(id).collect()
}
