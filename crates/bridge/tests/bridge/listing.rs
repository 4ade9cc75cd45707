//! Lists: how much of them the bridge keeps, when it requests them by itself, and how long it waits for one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ridethrough_bridge::{Catalogue, Hidden};
use ridethrough_lab::{Mood, Times, When};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::rig::{Rig, Scratch, methods, secs};

#[tokio::test(start_paused = true)]
async fn a_list_without_end_is_passed_on_and_not_asked_for_again() {
    let rig = Rig::new();
    lists_without_end(&rig);
    let mut host = rig.greeted().await;
    for page in 1..=150 {
        let cursor = if page == 1 { json!({}) } else { json!({"cursor": page.to_string()}) };
        let listed = host.asked(page, "tools/list", cursor).await;
        assert_eq!(listed["result"]["nextCursor"], (page + 1).to_string());
    }

    rig.mcp.forget_sessions();
    host.call(1000, "echo").await;
    let heard = host.hear_for(secs(60)).await;

    assert_eq!(heard.len(), 1, "{heard:?}");
    assert_eq!(rig.count(When::method("tools/list")), 150 + QUESTION);
}

#[tokio::test(start_paused = true)]
async fn a_list_that_has_become_endless_is_asked_for_so_far_and_no_further() {
    let rig = Rig::new();
    let mut host = rig.greeted().await;
    host.asked(1, "tools/list", json!({})).await;
    lists_without_end(&rig);

    for id in 2..5 {
        rig.mcp.forget_sessions();
        host.call(id, "echo").await;
        host.hear_for(secs(60)).await;
    }

    assert_eq!(
        rig.count(When::method("tools/list")),
        1 + 100 + 3 * QUESTION,
        "after one look it is known"
    );
}

#[tokio::test(start_paused = true)]
async fn a_hundred_thousand_tools_pass_and_are_not_kept() {
    let (rig, scratch) = (Rig::new(), Scratch::new());
    let tools: Vec<_> = (0..100_000).map(|number| json!({"name": format!("t{number}")})).collect();
    rig.mcp.tools(json!(tools));
    let mut host = rig.host_of(|bridge| bridge.catalogue(catalogue(&scratch)));
    host.greet().await;

    let listed = host.asked(1, "tools/list", json!({})).await;
    rig.mcp.forget_sessions();
    host.call(2, "echo").await;
    let heard = host.hear_for(secs(60)).await;

    assert_eq!(listed["result"]["tools"].as_array().unwrap().len(), 100_000);
    assert_eq!(heard.len(), 1, "{heard:?}");
    assert_eq!(rig.count(When::method("tools/list")), 1 + QUESTION);
    let files = std::fs::read_dir(&scratch.0).unwrap();
    let sizes: Vec<_> = files.map(|file| file.unwrap().metadata().unwrap().len()).collect();
    assert!(sizes.iter().all(|size| *size < 10_000), "{sizes:?}");
}

/// A server after a deployment has another name, and its sessions are gone.
#[tokio::test(start_paused = true)]
async fn a_read_only_tool_is_asked_again_also_after_a_renewed_session() {
    let rig = Rig::new();
    let mut host = rig.greeted().await;
    host.asked(1, "tools/list", json!({})).await;

    for round in 0..3 {
        is_deployed_anew(&rig, round);
        host.call(2, "echo").await;
        let heard = host.hear_for(secs(5)).await;
        assert_eq!(heard.len(), 1, "the list is the same: {heard:?}");

        rig.mcp.rule(When::tool("read"), Times::Once, |ask| async {
            ask.run();
            ask.reply().1.reset();
        });
        host.call(3, "read").await;
        assert!(host.hear_json().await["result"].is_object(), "round {round}");
    }

    assert_eq!(rig.mcp.executions("read"), 6);
    // The standing stream also asks whether its session is alive.
    let lists = rig.count(When::method("tools/list"));
    assert!((4 + 3 * QUESTION..=4 + 6 * QUESTION).contains(&lists), "{lists}");
}

#[tokio::test(start_paused = true)]
async fn a_change_that_the_host_cannot_see_is_not_told() {
    let rig = Rig::new();
    let mut host = rig.host_of(|bridge| bridge.hide(Hidden::new(["admin*"])));
    host.greet().await;
    let listed = host.asked(1, "tools/list", json!({})).await;
    let mut tools = listed["result"]["tools"].as_array().unwrap().clone();
    tools.push(json!({"name": "admin_new", "inputSchema": {"type": "object"}}));

    rig.mcp.tools(json!(tools));
    rig.mcp.forget_sessions();
    host.call(2, "echo").await;
    let heard = host.hear_for(secs(60)).await;

    assert_eq!(heard.len(), 1, "{heard:?}");
    assert_eq!(rig.count(When::method("tools/list")), 2 + QUESTION);
}

#[tokio::test(start_paused = true)]
async fn a_host_that_never_listed_has_nothing_listed_for_it() {
    let rig = Rig::new();
    let mut host = rig.greeted().await;

    is_deployed_anew(&rig, 1);
    host.call(1, "echo").await;
    host.hear_for(secs(60)).await;

    assert_eq!(rig.count(When::method("tools/list")), 0);
}

/// The bridge asked only once after a renewal. If that failed, the host was never told what had changed.
#[tokio::test(start_paused = true)]
async fn a_list_that_cannot_be_had_after_a_renewal_is_asked_for_again_later() {
    let rig = Rig::new();
    let mut host = rig.greeted().await;
    host.asked(1, "tools/list", json!({})).await;
    let is_broken = Arc::new(AtomicBool::new(true));
    let broken = is_broken.clone();
    let renewed = When::method("tools/list").and(When::session("lab-session-2"));
    rig.mcp.rule(renewed, Times::Always, move |ask| {
        let is_broken = broken.load(Ordering::Relaxed);
        async move { if is_broken { ask.status(500, &[], "").await } else { ask.pass().await } }
    });
    rig.mcp.tools(json!([{"name": "new", "inputSchema": {"type": "object"}}]));

    rig.mcp.forget_sessions();
    host.call(2, "echo").await;
    let heard = host.hear_for(secs(600)).await;
    assert_eq!(heard.len(), 1, "{heard:?}");
    let asked = rig.count(When::method("tools/list"));
    is_broken.store(false, Ordering::Relaxed);
    let heard = host.hear_for(secs(3600)).await;

    assert!((3..100).contains(&asked), "{asked}");
    assert_eq!(methods(&heard), ["notifications/tools/list_changed"]);
    let quiet = rig.count(When::method("tools/list"));
    host.hear_for(secs(36_000)).await;
    assert_eq!(rig.count(When::method("tools/list")), quiet, "nothing is left to look at");
}

#[tokio::test(start_paused = true)]
async fn a_list_is_waited_for_as_long_as_the_policy_is_patient() {
    let rig = Rig::new();
    let mut host = rig.greeted().await;
    rig.server.kill().await;
    rig.server.set_mood(Mood::Down);
    let began = Instant::now();

    host.ask(1, "tools/list", json!({})).await;
    tokio::time::sleep(secs(25)).await;
    rig.server.restart().await.unwrap();
    let listed = host.hear_json().await;

    assert!(listed["result"]["tools"].is_array(), "{listed}");
    assert!((secs(25)..secs(36)).contains(&began.elapsed()), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_list_that_nobody_gives_is_an_error_when_patience_ends_and_no_older_list() {
    let (rig, scratch) = (Rig::new(), Scratch::new());
    let mut host = rig.host_of(|bridge| bridge.catalogue(catalogue(&scratch)));
    host.greet().await;
    host.asked(1, "tools/list", json!({})).await;
    rig.server.kill().await;
    rig.server.set_mood(Mood::Down);
    let began = Instant::now();

    let listed = host.asked(2, "tools/list", json!({})).await;

    assert_eq!(listed["error"]["data"]["kind"], "unreachable", "{listed}");
    assert!((secs(25)..=secs(31)).contains(&began.elapsed()), "{:?}", began.elapsed());
}

/// The call itself finds the session gone, and is sent in the new one before any list has arrived.
#[tokio::test(start_paused = true)]
async fn a_read_only_call_that_renews_the_session_is_still_asked_again() {
    let rig = Rig::new();
    let mut host = rig.greeted().await;
    host.asked(1, "tools/list", json!({})).await;
    let runs_and_drops = When::tool("read").and(When::session("lab-session-2"));
    rig.mcp.rule(runs_and_drops, Times::Once, |ask| async {
        ask.run();
        ask.reply().1.reset();
    });

    is_deployed_anew(&rig, 1);
    host.call(2, "read").await;

    assert!(host.hear_json().await["result"].is_object());
    assert_eq!(rig.mcp.executions("read"), 2);
}

#[tokio::test(start_paused = true)]
async fn a_list_is_waited_for_through_answers_of_a_proxy_whose_server_is_down() {
    for status in [502, 503, 504] {
        let rig = Rig::new();
        let mut host = rig.greeted().await;
        let up = Instant::now() + secs(20);
        rig.mcp.rule(When::method("tools/list"), Times::Always, move |ask| async move {
            if Instant::now() < up { ask.status(status, &[], "").await } else { ask.pass().await }
        });

        let listed = host.asked(1, "tools/list", json!({})).await;

        assert!(listed["result"]["tools"].is_array(), "{listed}");
    }
}

/// The number of questions about a session: each repeats a request that the server has answered before, a
/// list.
const QUESTION: usize = 1;

fn catalogue(scratch: &Scratch) -> Catalogue {
    Catalogue::open(&scratch.0, "http://server.test/", &[])
}

/// Makes each page name a next one.
fn lists_without_end(rig: &Rig) {
    rig.mcp.rule(When::method("tools/list"), Times::Always, |ask| async move {
        let page: u64 = ask.params()["cursor"].as_str().map_or(1, |it| it.parse().unwrap());
        let tools = json!([{"name": format!("tool-{page}"), "inputSchema": {"type": "object"}}]);
        let answer = ask.result(json!({"tools": tools, "nextCursor": (page + 1).to_string()}));
        ask.json(answer).await;
    });
}

fn is_deployed_anew(rig: &Rig, version: u64) {
    let capabilities = json!({"tools": {"listChanged": true}});
    let info: Value = json!({"name": "ridethrough-lab", "version": format!("9.{version}")});
    rig.mcp.initialize_result(json!({"capabilities": capabilities, "serverInfo": info}));
    rig.mcp.forget_sessions();
}
