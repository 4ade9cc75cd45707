//! Calls that are repeated after the child that they were made to has died.

use std::time::Duration;

use http::Request;
use http_body_util::Full;
use hyper::body::Bytes;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::rig::{Puppet, Rig, call, doubt_in, post};

#[tokio::test(start_paused = true)]
async fn a_call_whose_child_died_is_not_run_again_in_the_next_session() {
    let mut rig = Rig::new();
    let (session, mut child) = rig.begin().await;
    let mut lost = rig.post(&session, call(1)).await;
    child.hear().await;
    child.die("exit status: 7", &[]);
    lost.event().await.unwrap();

    let (next, mut child) = rig.begin().await;
    let mut repeat = rig.post(&next, call(2)).await;
    let repeat = repeat.json().await;
    let mut other = rig.post(&next, look(3)).await;

    assert_eq!(doubt_in(&repeat)["kind"], "childDied", "{repeat}");
    let text = repeat["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.ends_with("the same call is taken again after 30 s."), "{text}");
    assert_eq!(child.hear().await["id"], 3, "the child heard the repeat");
    assert!(
        rig.news()
            .contains(&"session 2: a repeat of a call that may have run was not sent".to_owned())
    );

    child.answer(3, json!({})).await;
    other.rest().await;
    let _sent = rig.post(&next, call(4)).await;
    assert_eq!(child.hear().await["id"], 4, "who has looked may call again");
}

#[tokio::test(start_paused = true)]
async fn of_a_batch_only_the_repeat_is_held() {
    let mut rig = Rig::new();
    let (session, mut child) = rig.begin_with("2025-03-26").await;
    let mut lost = rig.post(&session, call(1)).await;
    child.hear().await;
    child.die("exit status: 7", &[]);
    lost.event().await.unwrap();

    let (next, mut child) = rig.begin_with("2025-03-26").await;
    let mut batch = rig.post(&next, json!([call(2), look(3)])).await;
    let heard = child.hear().await;
    child.answer(3, json!({"done": true})).await;
    let answers = batch.rest().await;

    assert_eq!(heard["id"], 3);
    assert_eq!((&answers[0]["id"], &answers[1]["id"]), (&json!(2), &json!(3)));
    assert!(doubt_in(&answers[0]).is_object());
}

#[tokio::test(start_paused = true)]
async fn a_repeat_without_a_session_is_held_until_its_caller_has_looked() {
    let mut rig = Rig::new();
    let lost = rig.begin_to_send(stateless(call(1), "agent"));
    let mut child = rig.child().await.greet_and_stay("2025-11-25").await;
    called(&mut child).await;
    child.die("exit status: 7", &[]);
    let lost = lost.await.unwrap().json().await;

    let repeat = rig.begin_to_send(stateless(call(2), "agent"));
    let mut child = rig.child().await.greet_and_stay("2025-11-25").await;
    // The child answers nothing here.
    let repeat = timeout(LONG, async { repeat.await.unwrap().json().await });
    let repeat = repeat.await.expect("it was sent");
    let other = rig.begin_to_send(stateless(call(3), "another"));
    let of_another = called(&mut child).await;

    for told in [&lost, &repeat] {
        assert_eq!(doubt_in(told)["kind"], "childDied", "{told}");
        assert_eq!(told["result"]["resultType"], "complete", "{told}");
    }
    let text = repeat["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.ends_with("the same call is taken again after 30 s."), "{text}");
    child.answer(of_another, json!({"content": []})).await;
    other.await.unwrap().text().await;

    let looking = rig.begin_to_send(stateless(look(4), "agent"));
    let looked = called(&mut child).await;
    child.answer(looked, json!({"content": []})).await;
    looking.await.unwrap().text().await;
    let _sent = rig.begin_to_send(stateless(call(5), "agent"));
    called(&mut child).await;
}

/// Returns a request of the stateless revision, by a client of this name.
fn stateless(mut message: Value, client: &str) -> Request<Full<Bytes>> {
    let meta = &mut message["params"]["_meta"];
    meta["io.modelcontextprotocol/protocolVersion"] = "2026-07-28".into();
    meta["io.modelcontextprotocol/clientCapabilities"] = json!({});
    meta["io.modelcontextprotocol/clientInfo"] = json!({"name": client, "version": "1"});
    let mut request = post("", &message.to_string());
    for (header, value) in [
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", message["method"].as_str().unwrap()),
        ("mcp-name", message["params"]["name"].as_str().unwrap()),
    ] {
        request.headers_mut().insert(header, value.parse().unwrap());
    }
    request
}

/// Waits for a call of a tool at a child, and returns its id there. What else it is asked is answered.
async fn called(child: &mut Puppet) -> Value {
    loop {
        let asked = child.hear().await;
        match asked["method"].as_str() {
            Some("tools/call") => return asked["id"].clone(),
            Some("tools/list") => child.answer(asked["id"].clone(), json!({"tools": []})).await,
            _ => {}
        }
    }
}

fn look(id: u64) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "get_it"}})
}

/// Longer than any answer takes that needs no child.
const LONG: Duration = Duration::from_secs(60);
