//! A host of the stateless revision, in front of a server with sessions and of one without: it must not
//! notice the difference.

use std::sync::mpsc;

use ridethrough::server::Eras;
use ridethrough::{Client, RetryPolicy};
use ridethrough_bridge::{Bridge, Catalogue, Hidden};
use ridethrough_lab::{Spoken, Times, When};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::rig::{Host, Rig, Scratch, methods, secs};

#[tokio::test(start_paused = true)]
async fn a_server_of_either_era_is_discovered_alike() {
    let mut discovered = Vec::new();
    for rig in both() {
        let mut host = host(&rig);

        let answer = host.asked(1, "server/discover", modern(json!({}))).await;

        discovered.push(answer["result"].clone());
    }

    assert_eq!(discovered[0], discovered[1]);
    let said = &discovered[0];
    assert_eq!(said["supportedVersions"][0], "2026-07-28");
    assert_eq!(said["capabilities"]["tools"]["listChanged"], true);
    assert_eq!(said["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "ridethrough-lab");
    assert_eq!((&said["resultType"], &said["ttlMs"]), (&json!("complete"), &json!(0)));
    assert_eq!(said["cacheScope"], "private");
    assert!(said["protocolVersion"].is_null() && said["serverInfo"].is_null(), "{said}");
}

#[tokio::test(start_paused = true)]
async fn tools_are_listed_and_called_in_the_words_of_the_revision() {
    for rig in both() {
        let mut host = host(&rig);

        let listed = host.asked(1, "tools/list", modern(json!({}))).await["result"].clone();
        let called = host
            .asked(2, "tools/call", modern(json!({"name": "echo", "arguments": {"msg": "hi"}})))
            .await;

        assert_eq!(listed["tools"][0]["name"], "echo");
        assert_eq!(listed["resultType"], "complete");
        assert!(listed["ttlMs"].is_number() && listed["cacheScope"].is_string(), "{listed}");
        assert_eq!(called["result"]["resultType"], "complete", "{called}");
        assert!(called["result"]["ttlMs"].is_null());
        assert_eq!(rig.mcp.executions("echo"), 1);
    }
}

/// The bridge's client passes on the host's identity, in the form of the server's era.
#[tokio::test(start_paused = true)]
async fn a_server_with_sessions_knows_the_host_and_is_sent_none_of_the_revisions_own_words() {
    let rig = Rig::new();
    let mut host = host(&rig);

    let params =
        modern(json!({"name": "echo", "arguments": {"n": 1}, "_meta": {"traceparent": "00-1"}}));
    host.asked(1, "tools/call", params).await;

    let greeted: Value = serde_json::from_str(&rig.bodies(&When::method("initialize"))[0]).unwrap();
    assert_eq!(greeted["params"]["clientInfo"], json!({"name": "new-host", "version": "2"}));
    assert_eq!(greeted["params"]["capabilities"]["elicitation"], json!({"form": {}}));
    let sent: Value = serde_json::from_str(&rig.bodies(&When::tool("echo"))[0]).unwrap();
    assert_eq!(
        sent["params"],
        json!({"name": "echo", "arguments": {"n": 1}, "_meta": {"traceparent": "00-1"}})
    );
}

#[tokio::test(start_paused = true)]
async fn a_server_of_both_eras_is_spoken_to_without_a_session() {
    let rig = Rig::new();
    rig.mcp.speaks(Spoken::Both);
    let bridge = Bridge::new(client(&rig));
    let gauge = bridge.gauge();
    let mut host = Host::start(bridge);

    host.asked(1, "server/discover", modern(json!({}))).await;

    let seen = gauge.read().await.unwrap();
    assert_eq!((&*seen.era, seen.host.as_deref()), ("modern", Some("new-host")));
    assert_eq!(rig.count(When::method("initialize")), 0);
}

#[tokio::test(start_paused = true)]
async fn a_host_that_falls_back_to_initialize_is_served_as_ever() {
    for rig in both() {
        let mut host = host(&rig);
        host.asked(1, "server/discover", modern(json!({}))).await;

        let greeting = host.greet().await;
        host.call(2, "echo").await;
        let called = host.hear_json().await;
        tokio::time::sleep(secs(1)).await;
        rig.mcp.push(json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})).await;
        let told = host.hear_json().await;

        assert_eq!(greeting["result"]["protocolVersion"], "2025-06-18");
        assert_eq!(called["id"], 2);
        assert_eq!(told["method"], "notifications/tools/list_changed");
    }
}

#[tokio::test(start_paused = true)]
async fn another_revision_is_told_which_there_are_and_what_says_nothing_of_itself_is_refused() {
    let rig = Rig::new();
    let mut host = host(&rig);
    let mut other = modern(json!({}));
    other["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2031-01-01");

    let discovered = host.asked(1, "server/discover", other.clone()).await["error"].clone();
    let listed = host.asked(2, "tools/list", other).await["error"].clone();
    let bare = host.asked(3, "server/discover", json!({})).await["error"].clone();

    for error in [discovered, listed] {
        assert_eq!(
            (&error["code"], &error["data"]["requested"]),
            (&json!(-32022), &json!("2031-01-01"))
        );
        assert!(error["data"]["supported"].as_array().unwrap().contains(&json!("2026-07-28")));
    }
    assert_eq!(bare["code"], -32602);
    assert_eq!(rig.count(When::any()), 0, "nobody else was asked");
}

#[tokio::test(start_paused = true)]
async fn what_the_revision_does_not_have_is_not_found() {
    for rig in both() {
        let mut host = host(&rig);
        host.asked(1, "server/discover", modern(json!({}))).await;

        for method in [
            "initialize",
            "logging/setLevel",
            "ping",
            "resources/subscribe",
            "resources/unsubscribe",
        ] {
            let answer = host.asked(2, method, modern(json!({"uri": "lab://note"}))).await;
            assert_eq!(answer["error"]["code"], -32601, "{method}: {answer}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_host_is_answered_in_time_though_the_server_is_down_and_hears_when_it_is_there() {
    for rig in both() {
        rig.server.kill().await;
        let mut host = host(&rig);
        let began = Instant::now();

        let discovered = host.asked(1, "server/discover", modern(json!({}))).await;
        let wanted = json!({"notifications": {"toolsListChanged": true}});
        host.ask(2, "subscriptions/listen", modern(wanted)).await;
        let acknowledged = host.hear_json().await;

        assert!(began.elapsed() < secs(3));
        assert_eq!(discovered["result"]["capabilities"]["tools"], json!({"listChanged": true}));
        assert_eq!(acknowledged["params"]["notifications"], json!({"toolsListChanged": true}));
        rig.server.restart().await.unwrap();
        let told = host.hear_json().await;
        assert_eq!(told["method"], "notifications/tools/list_changed");
        assert_eq!(told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 2);
    }
}

#[tokio::test(start_paused = true)]
async fn a_host_starts_from_the_catalogue_of_either_era() {
    for rig in both() {
        let folder = Scratch::new();
        let catalogue = || Catalogue::open(&folder.0, "url", &[]);
        let mut first = Host::start(Bridge::new(client(&rig)).catalogue(catalogue()));
        let there = first.asked(1, "server/discover", modern(json!({}))).await["result"].clone();
        rig.server.kill().await;

        let mut next = Host::start(Bridge::new(client(&rig)).catalogue(catalogue()));
        let kept = next.asked(1, "server/discover", modern(json!({}))).await["result"].clone();

        assert_eq!(kept, there);
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_refuses_us_is_the_error_of_discover() {
    let rig = Rig::new();
    rig.mcp.rule(When::any(), Times::Always, |ask| async { ask.status(401, &[], "").await });
    let mut host = host(&rig);

    let answer = host.asked(1, "server/discover", modern(json!({}))).await;

    assert_eq!(answer["error"]["data"]["kind"], "unauthorized", "{answer}");
}

#[tokio::test(start_paused = true)]
async fn the_log_is_told_from_the_level_that_a_request_names_and_not_before() {
    for (rig, is_stateless) in both().into_iter().zip([false, true]) {
        let mut host = host(&rig);
        rig.mcp.rule(When::tool("deploy"), Times::Always, |ask| async {
            let params = json!({"level": "error", "data": "oh"});
            let log =
                json!({"jsonrpc": "2.0", "method": "notifications/message", "params": params});
            let mut sse = ask.sse().await;
            sse.message(None, &log).await;
            sse.answer_and_finish(json!({"content": []})).await;
        });
        host.asked(1, "server/discover", modern(json!({}))).await;

        host.ask(2, "tools/call", modern(json!({"name": "deploy"}))).await;
        let silent = host.hear_for(secs(5)).await;
        let mut asked = modern(json!({"name": "deploy"}));
        asked["_meta"]["io.modelcontextprotocol/logLevel"] = json!("warning");
        host.ask(3, "tools/call", asked.clone()).await;
        host.ask(4, "tools/call", asked).await;
        let told = host.hear_for(secs(5)).await;

        assert_eq!(silent.len(), 1, "{silent:?}");
        assert_eq!(methods(&told), ["notifications/message"; 2], "{told:?}");
        let levels = rig.count(When::method("logging/setLevel"));
        assert_eq!(levels, usize::from(!is_stateless), "said once, and only to a session");
        if is_stateless {
            let sent: Value = serde_json::from_str(&rig.bodies(&When::tool("deploy"))[1]).unwrap();
            assert_eq!(sent["params"]["_meta"]["io.modelcontextprotocol/logLevel"], "warning");
        }
    }
}

/// A server that gets two levels at once may keep the older one.
#[tokio::test(start_paused = true)]
async fn the_level_that_is_named_last_is_told_last() {
    let rig = Rig::new();
    let levels = || When::method("logging/setLevel");
    let (seen, before) = mpsc::channel();
    rig.mcp.rule(levels(), Times::Once, move |ask| {
        let seen = seen.clone();
        async move {
            tokio::time::sleep(secs(3)).await;
            seen.send(ask.mcp().count(&levels())).unwrap();
            ask.pass().await;
        }
    });
    let mut host = host(&rig);
    host.asked(1, "server/discover", modern(json!({}))).await;

    for (id, level) in [(2, "info"), (3, "warning"), (4, "error")] {
        let mut asked = modern(json!({}));
        asked["_meta"]["io.modelcontextprotocol/logLevel"] = json!(level);
        host.asked(id, "tools/list", asked).await;
    }
    tokio::time::sleep(secs(10)).await;

    assert_eq!(before.try_recv(), Ok(1), "the others wait");
    let told = rig.bodies(&levels());
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].contains("info") && told[1].contains("error"), "{told:?}");
}

#[tokio::test(start_paused = true)]
async fn errors_keep_their_data_and_have_the_codes_of_the_revision() {
    for (rig, is_stateless) in both().into_iter().zip([false, true]) {
        let mut host = host(&rig);
        for (tool, code) in [("gone", -32002), ("lacking", -32021)] {
            rig.mcp.rule(When::tool(tool), Times::Always, move |ask| async move {
                let error = json!({"code": code, "message": "no", "data": data()});
                let answer = json!({"jsonrpc": "2.0", "id": ask.id(), "error": error});
                ask.json(answer.to_string()).await;
            });
        }

        let gone = host.asked(1, "tools/call", modern(json!({"name": "gone"}))).await;
        let lacking = host.asked(2, "tools/call", modern(json!({"name": "lacking"}))).await;

        assert_eq!(gone["error"], json!({"code": -32602, "message": "no", "data": data()}));
        // In a session that code is free for any use: such a server was told nothing of what the host can do.
        let code = if is_stateless { -32021 } else { -32603 };
        assert_eq!(lacking["error"], json!({"code": code, "message": "no", "data": data()}));
    }

    fn data() -> Value {
        json!({"n": 1, "requiredCapabilities": {"roots": {}}})
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_a_host_takes_back_has_no_answer_and_the_server_stops() {
    for (rig, is_stateless) in both().into_iter().zip([false, true]) {
        let mut host = host(&rig);
        let (closed, is_closed) = mpsc::channel();
        rig.mcp.rule(When::tool("slow"), Times::Once, move |ask| {
            let closed = closed.clone();
            async move {
                ask.sse().await.gone().await;
                closed.send(Instant::now()).unwrap();
            }
        });

        host.ask(7, "tools/call", modern(json!({"name": "slow"}))).await;
        tokio::time::sleep(secs(1)).await;
        let cancelled = Instant::now();
        host.cancel(7).await;

        assert!(host.hear_for(secs(100)).await.is_empty());
        let closed = is_closed.try_recv().expect("the stream is closed");
        assert!(closed.duration_since(cancelled) < secs(1));
        // A server with sessions gets a notification; one without sees the closed stream.
        let told = rig.count(When::notification("notifications/cancelled"));
        assert_eq!(told, usize::from(!is_stateless));
        assert!(host.asked(8, "tools/list", modern(json!({}))).await["error"].is_null());
    }
}

#[tokio::test(start_paused = true)]
async fn progress_comes_under_the_hosts_own_token() {
    for rig in both() {
        let mut host = host(&rig);
        rig.mcp.rule(When::tool("build"), Times::Once, |ask| async {
            let token = ask.params()["_meta"]["progressToken"].clone();
            let params = json!({"progressToken": token, "progress": 1});
            let mut sse = ask.sse().await;
            let told =
                json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params});
            sse.message(None, &told).await;
            sse.answer_and_finish(json!({"content": []})).await;
        });

        let params = modern(json!({"name": "build", "_meta": {"progressToken": "mine"}}));
        host.ask(1, "tools/call", params).await;

        let told = host.hear_json().await;
        assert_eq!(told["params"], json!({"progressToken": "mine", "progress": 1}));
        assert_eq!(host.hear_json().await["id"], 1);
    }
}

#[tokio::test(start_paused = true)]
async fn hidden_tools_are_hidden_from_such_a_host_too() {
    for rig in both() {
        let bridge = Bridge::new(client(&rig)).hide(Hidden::new(["deploy"]));
        let mut host = Host::start(bridge);

        let listed = host.asked(1, "tools/list", modern(json!({}))).await;
        let called = host.asked(2, "tools/call", modern(json!({"name": "deploy"}))).await;

        assert!(!listed.to_string().contains("deploy"), "{listed}");
        assert_eq!(called["error"]["code"], -32602);
    }
}

/// Returns a server with sessions and one without.
pub(crate) fn both() -> [Rig; 2] {
    [Spoken::Legacy, Spoken::Modern].map(|spoken| {
        let rig = Rig::new();
        rig.mcp.speaks(spoken);
        rig
    })
}

pub(crate) fn host(rig: &Rig) -> Host {
    Host::start(Bridge::new(client(rig)))
}

/// Returns a host whose calls have two hours each.
pub(crate) fn patient_host(rig: &Rig) -> Host {
    let policy = RetryPolicy::interactive().builder().tool_deadline(secs(7200)).build().unwrap();
    Host::start(Bridge::new(rig.builder().eras(Eras::Either).retry_policy(policy).build().unwrap()))
}

pub(crate) fn client(rig: &Rig) -> Client {
    rig.builder().eras(Eras::Either).build().unwrap()
}

/// Returns these params with the members that the revision demands of each request.
pub(crate) fn modern(mut params: Value) -> Value {
    let meta = &mut params["_meta"];
    meta["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
    meta["io.modelcontextprotocol/clientInfo"] = json!({"name": "new-host", "version": "2"});
    meta["io.modelcontextprotocol/clientCapabilities"] =
        json!({"elicitation": {"form": {}}, "roots": {}});
    params
}
