//! The notifications of a stateless server, which the client asks for by `subscriptions/listen`.

use ridethrough::Client;
use ridethrough::event::{Event, Seen};
use ridethrough::model::Notification;
use ridethrough::server::Eras;
use ridethrough_lab::{Protocol, Spoken, Times, When};
use serde_json::{Value, json};

use crate::rig::{Rig, secs};

#[tokio::test(start_paused = true)]
async fn a_reader_of_notifications_makes_the_client_listen() {
    let (rig, client) = stateless();
    let mut notifications = client.notifications();
    client.connect().await.unwrap();
    tokio::time::sleep(secs(1)).await;

    assert_eq!(rig.mcp.push(changed("tools")).await, 1);

    assert_eq!(notifications.next().await, Some(Notification::ToolsChanged));
    assert_eq!(rig.count(listens()), 1);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_wants_no_news_does_not_listen() {
    let (rig, client) = stateless();

    client.tools().await.unwrap();
    tokio::time::sleep(secs(60)).await;

    assert_eq!(rig.count(listens()), 0);
}

#[tokio::test(start_paused = true)]
async fn what_was_missed_while_nobody_listened_is_looked_at_again() {
    for is_polite in [true, false] {
        let (rig, client) = stateless();
        let (mut notifications, mut events) = (client.notifications(), client.events());
        client.subscribe("lab://note").await.unwrap();
        let listened = rig.count(listens());

        if is_polite {
            assert_eq!(rig.mcp.end_subscriptions(), 1)
        } else {
            rig.server.reset_connections()
        }
        assert_eq!(rig.mcp.push(changed("prompts")).await, 0, "nobody listens");
        tokio::time::sleep(secs(5)).await;

        let mut seen = Vec::new();
        for _ in 0..4 {
            seen.push(notifications.next().await.unwrap());
        }
        assert!(seen.contains(&Notification::PromptsChanged), "{seen:?}");
        let note = Notification::ResourceUpdated { uri: "lab://note".to_owned() };
        assert!(seen.contains(&note), "{seen:?}");
        assert_eq!(rig.count(listens()), listened + 1);
        client.close().await;
        let mut is_told = false;
        while let Some(event) = events.next().await {
            is_told |= matches!(event, Seen::Event { event: Event::ListenerBack { .. }, .. });
        }
        assert!(is_told);
    }
}

#[tokio::test(start_paused = true)]
async fn a_resource_is_watched_in_both_eras_by_the_same_words() {
    let (rig, client) = stateless();
    let mut notifications = client.notifications();
    client.subscribe("lab://note").await.unwrap();
    rig.mcp.push(updated("lab://note")).await;
    let note = Notification::ResourceUpdated { uri: "lab://note".to_owned() };
    assert_eq!(notifications.next().await, Some(note));

    client.unsubscribe("lab://note").await.unwrap();
    tokio::time::sleep(secs(1)).await;
    assert_eq!(rig.mcp.push(updated("lab://note")).await, 0, "nobody asked for it any more");

    client.subscribe("lab://note").await.unwrap();
    rig.mcp.speaks(Spoken::Legacy);
    client.tools().await.unwrap();
    tokio::time::sleep(secs(1)).await;
    assert_eq!(rig.count(When::method("resources/subscribe")), 1, "the old way, in the old era");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_offers_no_subscriptions_is_asked_once() {
    let (rig, client) = stateless();
    rig.mcp.rule(listens(), Times::Always, |ask| async move {
        let body = ask.error(-32601, "Method not found");
        ask.status(404, &[("content-type", "application/json")], body).await;
    });
    client.keep_connected();
    tokio::time::sleep(secs(3600)).await;

    client.subscribe("lab://note").await.unwrap_err();
    client.tools().await.unwrap();

    assert_eq!(rig.count(listens()), 1);
}

fn stateless() -> (Rig, Client) {
    let rig = Rig::over(Protocol::Http1);
    rig.mcp.speaks(Spoken::Modern);
    let client = rig.builder().eras(Eras::Either).build().unwrap();
    (rig, client)
}

fn listens() -> When {
    When::method("subscriptions/listen")
}

fn changed(list: &str) -> Value {
    json!({"jsonrpc": "2.0", "method": format!("notifications/{list}/list_changed")})
}

fn updated(uri: &str) -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": uri}})
}
