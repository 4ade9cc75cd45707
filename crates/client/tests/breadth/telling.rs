//! The server's notifications: a bounded stream, for as many readers as there are.

use futures_util::StreamExt;
use ridethrough::Client;
use ridethrough::event::{Event, Seen};
use ridethrough::model::{LogLevel, Notification};
use ridethrough_lab::{Protocol, Times, When};
use serde_json::{Value, json};

use crate::rig::{Rig, secs, text};

#[tokio::test(start_paused = true)]
async fn every_kind_of_notification_is_read() {
    let (rig, client) = connected().await;
    let mut notifications = client.notifications();

    for (method, params) in [
        ("notifications/message", json!({"level": "error", "logger": "db", "data": {"a": 1}})),
        ("notifications/tools/list_changed", Value::Null),
        ("notifications/resources/list_changed", Value::Null),
        ("notifications/prompts/list_changed", Value::Null),
        ("notifications/resources/updated", json!({"uri": "a:1"})),
        ("notifications/elicitation/complete", json!({"elicitationId": "e"})),
        ("notifications/own", json!([1])),
    ] {
        rig.mcp.push(notification(method, params)).await;
    }

    let Some(Notification::Log(message)) = notifications.next().await else { panic!() };
    assert_eq!(message.level, LogLevel::Error);
    assert_eq!((message.logger.as_deref(), message.data.as_str()), (Some("db"), r#"{"a":1}"#));
    assert_eq!(notifications.next().await, Some(Notification::ToolsChanged));
    assert_eq!(notifications.next().await, Some(Notification::ResourcesChanged));
    assert_eq!(notifications.next().await, Some(Notification::PromptsChanged));
    let updated = Notification::ResourceUpdated { uri: "a:1".to_owned() };
    assert_eq!(notifications.next().await, Some(updated));
    let complete = Notification::ElicitationComplete { elicitation_id: "e".to_owned() };
    assert_eq!(notifications.next().await, Some(complete));
    let own = notifications.next().await;
    assert!(
        matches!(own, Some(Notification::Other { method, .. }) if &*method == "notifications/own")
    );
}

#[tokio::test(start_paused = true)]
async fn every_reader_and_the_inbox_have_each_notification() {
    let (rig, client) = connected().await;
    let (mut one, mut two) = (client.notifications(), client.notifications());
    let mut inbox = client.inbox();

    rig.mcp.push(notification("notifications/tools/list_changed", Value::Null)).await;

    assert_eq!(one.next().await, Some(Notification::ToolsChanged));
    assert_eq!(two.next().await, Some(Notification::ToolsChanged));
    assert!(inbox.next().await.is_some());
}

#[tokio::test(start_paused = true)]
async fn the_inbox_and_the_events_are_streams() {
    let (rig, client) = connected().await;
    let (inbox, events) = (client.inbox(), client.events());

    rig.mcp.push(notification("notifications/tools/list_changed", Value::Null)).await;
    client.ping().await.unwrap();
    client.close().await;

    assert_eq!(inbox.count().await, 1);
    let events: Vec<_> = events.collect().await;
    let ended = |seen: &Seen| matches!(seen, Seen::Event { event: Event::CallEnded { .. }, .. });
    assert!(events.iter().any(ended), "{events:?}");
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_does_not_read_loses_what_does_not_fit_and_knows_how_much() {
    let (rig, client) = connected().await;
    let mut notifications = client.notifications();

    for _ in 0..1034 {
        rig.mcp.push(notification("notifications/tools/list_changed", Value::Null)).await;
    }
    tokio::time::sleep(secs(1)).await;

    assert_eq!(notifications.dropped(), 10);
    for _ in 0..1024 {
        assert_eq!(notifications.next().await, Some(Notification::ToolsChanged));
    }
    client.close().await;
    assert_eq!(notifications.next().await, None);
}

#[tokio::test(start_paused = true)]
async fn notifications_end_when_the_client_is_closed_or_gone() {
    let (_rig, client) = connected().await;
    let mut before = client.notifications();
    client.close().await;
    let mut after = client.notifications();
    let (_other, dropped) = connected().await;
    let mut gone = dropped.notifications();

    drop(dropped);

    assert_eq!(before.next().await, None);
    assert_eq!(after.next().await, None);
    assert_eq!(gone.next().await, None);
}

#[tokio::test(start_paused = true)]
async fn notifications_on_the_stream_of_a_call_come_too_but_for_its_progress() {
    let rig = Rig::over(Protocol::Http1);
    rig.mcp.rule(When::tool("build"), Times::Once, |ask| async {
        let token = ask.params()["_meta"]["progressToken"].clone();
        let mut sse = ask.sse().await;
        let progress = json!({"progressToken": token, "progress": 1});
        sse.message(None, &notification("notifications/progress", progress)).await;
        sse.message(None, &notification("notifications/tools/list_changed", Value::Null)).await;
        sse.answer_and_finish(text("built")).await;
    });
    let client = rig.client();
    let mut notifications = client.notifications();

    client.call_tool("build", ()).on_progress(|_| ()).await.unwrap();

    assert_eq!(notifications.next().await, Some(Notification::ToolsChanged));
}

async fn connected() -> (Rig, Client) {
    let rig = Rig::over(Protocol::Http1);
    let client = rig.client();
    client.keep_connected();
    client.connect().await.unwrap();
    tokio::time::sleep(secs(1)).await;
    (rig, client)
}

fn notification(method: &str, params: Value) -> Value {
    match params {
        Value::Null => json!({"jsonrpc": "2.0", "method": method}),
        params => json!({"jsonrpc": "2.0", "method": method, "params": params}),
    }
}
