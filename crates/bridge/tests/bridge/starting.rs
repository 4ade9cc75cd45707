//! A bridge that is started while the upstream is down, or refuses.

use ridethrough::policy::RetryPolicy;
use ridethrough_bridge::{Bridge, Catalogue};
use ridethrough_lab::{Mood, Times, When};
use ridethrough_wire::message::reserved::LAST_KNOWN;
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
    let asked = Instant::now();
    let unheard = host.asked(1, "tools/list", json!({})).await;
    assert!(asked.elapsed() < secs(11), "{:?}", asked.elapsed());
    let words = unheard["error"]["message"].as_str().unwrap();
    assert!(words.contains("connection refused"), "{words}");
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

/// Some hosts pin definitions that a person has approved, and ask again when one differs.
#[tokio::test(start_paused = true)]
async fn over_a_hundred_outages_and_restarts_no_tool_differs_and_no_change_is_told() {
    let (rig, scratch) = (Rig::new(), Scratch::new());
    let mut host = kept(&rig, &scratch);
    host.greet().await;
    let (known, mark) = listed(&mut host).await;
    assert_eq!(mark, Value::Null);

    for round in 0..50 {
        rig.server.set_mood(Mood::Down);
        rig.mcp.forget_sessions();
        let silence = host.hear_for(secs(20)).await;
        assert!(silence.is_empty(), "round {round}: {silence:?}");
        rig.server.set_mood(Mood::Up);
        assert_eq!(listed(&mut host).await, (known.clone(), Value::Null), "round {round}");
        let silence = host.hear_for(secs(120)).await;
        assert!(silence.is_empty(), "round {round}: {silence:?}");
    }
    for round in 0..50 {
        host.left().await;
        rig.server.set_mood(Mood::Down);
        host = kept(&rig, &scratch);
        host.greet().await;
        let (shown, mark) = listed(&mut host).await;
        assert_eq!((shown, &mark), (known.clone(), &json!({LAST_KNOWN: true})), "round {round}");
        rig.server.set_mood(Mood::Up);
        let silence = host.hear_for(secs(120)).await;
        assert!(silence.is_empty(), "round {round}: {silence:?}");
    }
}

/// A host that was restarted need not list again.
#[tokio::test(start_paused = true)]
async fn a_restarted_bridge_whose_host_does_not_list_repeats_a_tool_that_only_reads() {
    let rig = Rig::new();
    let policy = RetryPolicy::default().builder().learn_hints(true).build().unwrap();
    let client = rig.builder().retry_policy(policy).build().unwrap();
    let mut host = Host::start(Bridge::new(client));
    host.greet().await;
    assert!(host.hear_for(secs(10)).await.is_empty());

    for tool in ["read", "deploy"] {
        rig.mcp.rule(When::tool(tool), Times::Once, |ask| async {
            ask.run();
            ask.reply().1.reset();
        });
    }
    host.call(1, "read").await;
    let read = host.hear_json().await;
    host.call(2, "deploy").await;
    let deploy = host.hear_json().await;

    assert!(read["result"].is_object(), "{read}");
    let doubt = &deploy["result"]["_meta"]["ridethrough/doubt"];
    assert_eq!(doubt["mayHaveRun"], true, "{deploy}");
    assert_eq!((rig.mcp.executions("read"), rig.mcp.executions("deploy")), (2, 1));
    assert_eq!(rig.count(When::method("tools/list")), 1);
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
async fn what_is_no_mcp_server_is_an_error_that_a_person_sees_in_the_host() {
    let page = "<html><h1>Welcome</h1></html>";
    for (status, kind, body) in
        [(404, "text/plain", "no such page"), (405, "text/plain", "no"), (200, "text/html", page)]
    {
        let rig = Rig::new();
        rig.mcp.rule(When::any(), Times::Always, move |ask| async move {
            ask.status(status, &[("content-type", kind)], body).await;
        });
        let began = Instant::now();
        let mut host = rig.host_of(|bridge| bridge.advise(|_| Some("look there".to_owned())));

        let greeting = host.greet().await;

        let words = greeting["error"]["message"].as_str().unwrap_or_else(|| panic!("{greeting}"));
        assert!(words.starts_with("the handshake "), "{words}");
        assert!(words.ends_with("; look there"), "{words}");
        assert!(began.elapsed() < secs(3), "{status}: {:?}", began.elapsed());
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_was_there_and_is_not_found_starts_the_host_and_is_told_by_its_requests() {
    let (rig, scratch) = (Rig::new(), Scratch::new());
    fill(&rig, &scratch).await;
    rig.mcp.rule(When::any(), Times::Always, |ask| async move {
        ask.status(404, &[], "no such page").await;
    });
    let mut host = kept(&rig, &scratch);

    let greeting = host.greet().await;
    let tools = host.asked(1, "tools/list", json!({})).await;

    assert_eq!(greeting["result"]["serverInfo"]["name"], "ridethrough-lab");
    let words = tools["error"]["message"].as_str().unwrap();
    assert!(words.contains("status 404") && words.contains("no such page"), "{words}");
}

/// The refusal may be a proxy's page, or worse: the bridge's report of it must neither fill a terminal nor
/// control it.
#[tokio::test(start_paused = true)]
async fn a_refusal_of_many_words_is_told_short_and_forges_no_line() {
    let rig = Rig::new();
    rig.mcp.rule(When::method("initialize"), Times::Always, |ask| async move {
        let words = format!("no\nback after 0.1 s\u{1b}[2J{}", "x".repeat(100_000));
        let answer = ask.error(-32000, &words);
        ask.json(answer).await;
    });
    let mut host = rig.host();

    host.greet().await;

    let told = host.told();
    let words = "said `no back after 0.1 s\u{fffd}[2Jxx";
    let report = told.iter().find(|line| line.contains(words)).expect("it is told");
    assert_eq!(report.lines().count(), 3, "what happened, what was tried, what to do: {report}");
    assert!(report.chars().count() < 800, "{report}");
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

/// Creates a host whose bridge keeps its catalogue in this folder.
fn kept(rig: &Rig, scratch: &Scratch) -> Host {
    rig.host_of(|bridge| bridge.catalogue(Catalogue::open(&scratch.0, "http://server.test/", &[])))
}

/// Returns the tools as they are written, and what is said of the list as a whole.
async fn listed(host: &mut Host) -> (String, Value) {
    host.ask(1, "tools/list", json!({})).await;
    let line = host.hear().await;
    let list: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(list["id"], 1, "{line}");
    let (_, tools) = line.split_once(r#""tools":["#).unwrap();
    let (tools, _) = tools.rsplit_once(']').unwrap();
    (tools.to_owned(), list["result"]["_meta"].clone())
}

/// Uses the server once, so that its catalogue is kept.
async fn fill(rig: &Rig, scratch: &Scratch) {
    let mut host = kept(rig, scratch);
    host.greet().await;
    host.asked(1, "tools/list", json!({})).await;
    host.left().await;
}
