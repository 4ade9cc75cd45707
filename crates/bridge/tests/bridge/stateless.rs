//! A host of the era with sessions, in front of a server without: it must not notice the difference.

use ridethrough::server::Eras;
use ridethrough::{Client, Era};
use ridethrough_bridge::{Bridge, Catalogue};
use ridethrough_lab::{Round, Spoken, Times, When};
use serde_json::{Value, json};

use crate::rig::{Host, Rig, Scratch, secs};

#[tokio::test(start_paused = true)]
async fn the_host_is_greeted_in_its_own_words_with_what_the_server_says_of_itself() {
    let (rig, folder) = (stateless(), Scratch::new());
    let catalogue = Catalogue::open(&folder.0, "url", &[]);
    let mut host = Host::start(Bridge::new(client(&rig)).catalogue(catalogue));

    let greeting = host.greet().await["result"].clone();

    assert_eq!(greeting["protocolVersion"], "2025-06-18");
    assert_eq!(greeting["serverInfo"]["name"], "ridethrough-lab");
    assert_eq!(greeting["capabilities"]["tools"]["listChanged"], true);
    assert_eq!(
        (&greeting["supportedVersions"], &greeting["resultType"]),
        (&Value::Null, &Value::Null)
    );
    assert_eq!(rig.count(When::method("initialize")), 1, "it was asked whether it has sessions");

    // The kept catalogue is enough to answer the handshake of a host of that era.
    rig.server.kill().await;
    let catalogue = Catalogue::open(&folder.0, "url", &[]);
    let mut next = Host::start(Bridge::new(client(&rig)).catalogue(catalogue));
    assert_eq!(next.greet().await["result"], greeting);
}

#[tokio::test(start_paused = true)]
async fn what_such_a_server_does_not_have_is_answered_all_the_same() {
    let rig = stateless();
    let mut host = Host::start(Bridge::new(client(&rig)));
    host.greet().await;

    let pinged = host.asked(1, "ping", json!({})).await;
    let level = host.asked(2, "logging/setLevel", json!({"level": "warning"})).await;
    let subscribed = host.asked(3, "resources/subscribe", json!({"uri": "lab://note"})).await;
    host.call(4, "echo").await;
    let called = host.hear_json().await;

    assert_eq!([&pinged, &level, &subscribed].map(|it| &it["result"]), [&json!({}); 3]);
    assert_eq!((&called["id"], called["error"].is_null()), (&json!(4), true), "{called}");
    let sent = rig.bodies(&When::tool("echo"));
    let sent: Value = serde_json::from_str(&sent[0]).unwrap();
    assert_eq!(sent["params"]["_meta"]["io.modelcontextprotocol/logLevel"], "warning");
    for gone in ["ping", "logging/setLevel", "resources/subscribe"] {
        assert_eq!(rig.count(When::method(gone)), 0, "{gone}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_call_asks_for_is_asked_of_the_host() {
    let rig = stateless();
    let input = json!({"who": {"method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 1}}});
    rig.mcp.asks_for_input("deploy", vec![Round { input: Some(input), state: Some("s".into()) }]);
    let mut host = Host::start(Bridge::new(client(&rig)));
    host.greet().await;
    host.call(1, "deploy").await;

    let question = host.hear_json().await;
    assert_eq!(question["method"], "sampling/createMessage");
    let result =
        json!({"role": "assistant", "content": {"type": "text", "text": "me"}, "model": "m"});
    host.say(json!({"jsonrpc": "2.0", "id": question["id"], "result": result}).to_string()).await;

    let answer = host.hear_json().await;
    assert_eq!((&answer["id"], answer["error"].is_null()), (&json!(1), true), "{answer}");
    assert_eq!(rig.mcp.executions("deploy"), 1);
}

/// A host that does not speak the stateless revision does not know its codes.
#[tokio::test(start_paused = true)]
async fn what_the_host_cannot_give_is_told_in_its_own_words() {
    let rig = stateless();
    let input = json!({"who": {"method": "elicitation/create", "params": {"message": "who?"}}});
    rig.mcp.asks_for_input("deploy", vec![Round { input: Some(input), state: None }]);
    let mut host = Host::start(Bridge::new(client(&rig)));
    host.greet().await;

    host.call(1, "deploy").await;

    let answer = host.hear_json().await;
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(1), &json!(-32603)), "{answer}");
    let words = answer["error"]["message"].as_str().unwrap();
    assert!(words.contains("the host does not offer") && words.contains("elicitation"), "{words}");
    assert_eq!(rig.mcp.executions("deploy"), 0);
}

#[tokio::test(start_paused = true)]
async fn the_era_is_seen_and_a_server_that_goes_back_to_sessions_is_told() {
    let rig = stateless();
    let bridge = Bridge::new(client(&rig));
    let gauge = bridge.gauge();
    let mut host = Host::start(bridge);
    host.greet().await;
    let seen = gauge.read().await.unwrap();
    assert_eq!((&*seen.era, seen.revision.as_deref()), ("modern", Some("2026-07-28")));

    rig.mcp.speaks(Spoken::Legacy);
    host.call(1, "echo").await;
    let answer = loop {
        let heard = host.hear_json().await;
        if heard["id"] == 1 {
            break heard;
        }
    };

    assert!(answer["error"].is_null(), "{answer}");
    tokio::time::sleep(secs(1)).await;
    let told = host.told();
    assert!(
        told.iter().any(|line| line.starts_with("warning: the upstream was stateless")),
        "{told:?}"
    );
    assert_eq!(gauge.read().await.unwrap().era, "legacy");
}

/// The host does not see a tool that marks its arguments wrongly, and the person who runs the bridge should
/// know why.
#[tokio::test(start_paused = true)]
async fn a_tool_that_cannot_be_called_is_told_once() {
    let rig = stateless();
    let schema =
        json!({"type": "object", "properties": {"a": {"type": "number", "x-mcp-header": "A"}}});
    rig.mcp.tools(json!([{"name": "odd", "inputSchema": schema}]));
    let mut host = Host::start(Bridge::new(client(&rig)));
    host.greet().await;

    for id in 1..3 {
        let listed = host.asked(id, "tools/list", json!({})).await;
        assert_eq!(listed["result"]["tools"], json!([]), "{listed}");
    }

    tokio::time::sleep(secs(1)).await;
    let told = host.told();
    let count = told.iter().filter(|line| line.contains("the tool `odd` cannot be called")).count();
    assert_eq!(count, 1, "{told:?}");
}

/// A server that speaks both eras cannot ask the host anything by itself without a session: `elicitation via
/// server-initiated requests is unavailable on 2026-07-28 connections`.
#[tokio::test(start_paused = true)]
async fn a_server_of_both_eras_is_spoken_to_with_a_session_and_can_ask_the_host() {
    let rig = Rig::new();
    rig.mcp.speaks(Spoken::Both);
    rig.mcp.rule(When::tool("deploy"), Times::Once, |ask| async {
        if ask.is_stateless() {
            let refusal = ask.error(-32603, "unavailable on 2026-07-28 connections");
            return ask.json(refusal).await;
        }
        let question = json!({"jsonrpc": "2.0", "id": "q", "method": "elicitation/create", "params": {"message": "who?"}});
        let log = json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "asked"}});
        let mut sse = ask.sse().await;
        sse.message(None, &log).await;
        sse.message(None, &question).await;
        sse.gone().await;
    });
    // The era that an earlier process found is no reason to do without a session.
    let client = rig.builder().eras(Eras::Either).known_era(Era::Modern, secs(10)).build().unwrap();
    let bridge = Bridge::new(client);
    let gauge = bridge.gauge();
    let mut host = Host::start(bridge);
    host.greet().await;
    assert_eq!(gauge.read().await.unwrap().era, "legacy");

    host.call(1, "deploy").await;

    let (log, question) = (host.hear_json().await, host.hear_json().await);
    assert_eq!(log["method"], "notifications/message");
    assert_eq!(question["method"], "elicitation/create");
    let result = json!({"action": "accept", "content": {"name": "me"}});
    host.say(json!({"jsonrpc": "2.0", "id": question["id"], "result": result}).to_string()).await;
    while rig.count(When::response()) == 0 {
        tokio::time::sleep(secs(1)).await;
    }
    let asked = |method: &str| rig.count(When::method(method));
    assert_eq!((asked("initialize"), asked("server/discover")), (1, 0));
    assert!(host.told().is_empty(), "{:?}", host.told());
}

#[tokio::test(start_paused = true)]
async fn a_pinned_era_is_kept_to() {
    let rig = Rig::new();
    let client = rig.builder().eras(Era::Modern).build().unwrap();
    let mut host = Host::start(Bridge::new(client));

    let refused = host.greet().await;

    assert!(!refused["error"].is_null(), "{refused}");
    assert_eq!(rig.count(When::method("initialize")), 0);
}

fn stateless() -> Rig {
    let rig = Rig::new();
    rig.mcp.speaks(Spoken::Modern);
    rig
}

fn client(rig: &Rig) -> Client {
    rig.builder().eras(Eras::Either).build().unwrap()
}
