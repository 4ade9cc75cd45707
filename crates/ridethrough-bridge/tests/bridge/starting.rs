//! The bridge is started while the upstream is down, or refuses.

use ridethrough_bridge::Catalogue;
use ridethrough_lab::{Mood, When};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::rig::{Host, Rig, Scratch, methods, secs};

#[tokio::test(start_paused = true)]
async fn a_host_of_a_server_that_was_never_seen_starts_and_is_told_when_it_is_there() {
    let rig = Rig::new();
    rig.server.set_mood(Mood::Down);
    let (mut host, began) = (rig.host(), Instant::now());

    let greeting = host.greet().await;

    assert!(began.elapsed() < secs(3));
    let capabilities = &greeting["result"]["capabilities"];
    for name in ["prompts", "resources", "tools"] {
        assert_eq!(capabilities[name], json!({"listChanged": true}));
    }
    assert_eq!(greeting["result"]["protocolVersion"], "2025-06-18");
    let empty = host.asked(1, "tools/list", json!({})).await;
    assert_eq!(empty["result"], json!({"tools": []}));
    tokio::time::sleep(secs(300)).await;
    rig.server.set_mood(Mood::Up);
    let mut heard = host.hear_for(secs(60)).await;
    heard.sort_by_key(Value::to_string);
    assert_eq!(
        methods(&heard),
        [
            "notifications/prompts/list_changed",
            "notifications/resources/list_changed",
            "notifications/tools/list_changed",
        ]
    );
    let tools = host.asked(2, "tools/list", json!({})).await;
    assert_eq!(tools["result"]["tools"].as_array().unwrap().len(), 5);
    host.call(3, "echo").await;
    assert!(host.hear_json().await["result"].is_object());
}

#[tokio::test(start_paused = true)]
async fn a_host_of_a_server_that_was_seen_starts_with_what_it_was() {
    let (rig, scratch) = (Rig::new(), Scratch::new());
    fill(&rig, &scratch).await;
    rig.server.set_mood(Mood::Down);
    let (mut host, began) = (kept(&rig, &scratch), Instant::now());

    let greeting = host.greet().await;
    let tools = host.asked(1, "tools/list", json!({})).await;

    assert!(began.elapsed() < secs(6), "{:?}", began.elapsed());
    assert_eq!(greeting["result"]["serverInfo"]["name"], "ridethrough-lab");
    assert_eq!(tools["result"]["tools"].as_array().unwrap().len(), 5);
    rig.server.set_mood(Mood::Up);
    let heard = host.hear_for(secs(60)).await;
    assert!(heard.is_empty(), "nothing changed: {heard:?}");
    assert!(rig.count(When::method("tools/list")) >= 2, "nobody looked");
    host.call(2, "echo").await;
    assert!(host.hear_json().await["result"].is_object());
}

#[tokio::test(start_paused = true)]
async fn what_changed_since_it_was_last_there_is_told_when_it_is_there() {
    let (rig, scratch) = (Rig::new(), Scratch::new());
    fill(&rig, &scratch).await;
    rig.server.set_mood(Mood::Down);
    rig.mcp.tools(json!([{"name": "new", "inputSchema": {"type": "object"}}]));
    let mut host = kept(&rig, &scratch);
    host.greet().await;
    host.asked(1, "tools/list", json!({})).await;

    rig.server.set_mood(Mood::Up);
    let heard = host.hear_for(secs(60)).await;

    assert_eq!(methods(&heard), ["notifications/tools/list_changed"]);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_refuses_us_is_an_error_and_not_an_outage() {
    let rig = Rig::new();
    rig.mcp.require_bearer(Some("t0ken"));
    let mut host = rig.host();

    let greeting = host.greet().await;

    let data = &greeting["error"]["data"];
    assert_eq!((&data["kind"], &data["mayHaveRun"]), (&json!("unauthorized"), &json!(false)));
    rig.mcp.require_bearer(None);
    tokio::time::sleep(secs(60)).await;
    assert!(host.greet().await["result"].is_object(), "the host may ask again");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_takes_its_time_to_answer_is_not_waited_for() {
    let rig = Rig::new();
    rig.server.set_mood(Mood::BlackHole);
    let (mut host, began) = (rig.host(), Instant::now());

    let greeting = host.greet().await;

    assert!(began.elapsed() < secs(3));
    assert_eq!(greeting["result"]["serverInfo"]["name"], "ridethrough");
}

/// A bridge that keeps its catalogue there.
fn kept(rig: &Rig, scratch: &Scratch) -> Host {
    rig.host_of(|bridge| bridge.catalogue(Catalogue::open(&scratch.0, "http://server.test/", &[])))
}

/// Uses the server once, so that its catalogue is kept.
async fn fill(rig: &Rig, scratch: &Scratch) {
    let mut host = kept(rig, scratch);
    host.greet().await;
    host.asked(1, "tools/list", json!({})).await;
    host.left().await;
}
