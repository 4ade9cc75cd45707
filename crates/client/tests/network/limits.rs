//! The limit of connections: which requests wait, for what, and which do not.
//!
//! The tests are about HTTP/1.1, where a call holds a connection for as long as it takes.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use futures_util::future::join_all;
use ridethrough::Json;
use ridethrough::error::Kind;
use ridethrough::event::{Answer, Delivered, Inbox};
use ridethrough_lab::{Protocol, Server, Times, What, When};
use serde_json::json;
use tokio::time::{Instant, timeout};

use crate::rig::{Rig, call, millis, params, secs, settle, text};

#[tokio::test(start_paused = true)]
async fn never_more_connections_are_open_than_the_limit_and_calls_go_in_order() {
    for protocol in HTTP1 {
        let rig = Rig::over(protocol);
        let client = rig.builder().connection_limit(8).build().unwrap();
        let most = Most::seen_by(&rig, "held", 1000);
        let began = Instant::now();

        let keys: Vec<String> = (0..50).map(|number| format!("{number:02}")).collect();
        let results = join_all(keys.iter().map(|key| call(&client, "held", key))).await;

        assert!(results.iter().all(Result::is_ok), "{results:?}");
        assert!(most.seen() <= 8, "{protocol:?}: {}", most.seen());
        // Four at a time: 50 calls of 1 s take 13 rounds.
        assert_eq!(began.elapsed().as_secs(), 13, "{protocol:?}");
        // Calls that go out at one moment may arrive in any order.
        let rounds: Vec<u32> =
            keys_asked(&rig).iter().map(|key| key.parse::<u32>().unwrap() / 4).collect();
        assert!(rounds.is_sorted(), "{rounds:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_whose_deadline_passes_while_it_waits_for_a_connection_says_so() {
    for protocol in HTTP1 {
        let rig = Rig::over(protocol);
        let client = rig.builder().connection_limit(5).build().unwrap();
        rig.mcp.rule(When::tool("held"), Times::Always, |ask| async { ask.reply().1.hold().await });
        let hold = client.request("tools/call", params("held", "a")).answer();
        tokio::time::sleep(secs(1)).await;

        let call = client.request("tools/call", params("deploy", "b")).timeout(secs(5));
        let error = call.await.unwrap_err();

        assert_eq!(error.call().unwrap().kind, Kind::DeadlinePassed);
        assert!(error.to_string().contains("waited for a place"), "{error}");
        assert!(!error.may_have_run());
        assert_eq!(rig.mcp.executions("deploy"), 0);
        drop(hold);
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_to_the_server_passes_while_calls_hold_all_that_is_theirs() {
    for protocol in HTTP1 {
        let rig = Rig::over(protocol);
        rig.mcp.rule(When::tool("asks"), Times::Always, |ask| async {
            let (key, mcp) = (ask.arguments()["key"].clone(), ask.mcp().clone());
            let question = json!({ "jsonrpc": "2.0", "id": key, "method": "roots/list" });
            let mut sse = ask.sse().await;
            sse.message(None, &question).await;
            // The server answers the call only when all its questions are answered.
            while mcp.count(&When::response()) < 3 {
                tokio::time::sleep(millis(10)).await;
            }
            sse.answer_and_finish(text("done")).await;
        });
        let client = rig.builder().connection_limit(7).build().unwrap();
        tokio::spawn(answer_all(client.inbox()));

        let calls = join_all(["a", "b", "c"].map(|key| call(&client, "asks", key)));
        let results = timeout(secs(10), calls).await.expect("no call waits for another");

        assert!(results.iter().all(Result::is_ok), "{protocol:?}: {results:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancel_and_a_notification_pass_while_calls_hold_all_that_is_theirs() {
    for protocol in HTTP1 {
        let rig = Rig::over(protocol);
        rig.mcp.rule(When::tool("held"), Times::Always, |ask| async { ask.reply().1.hold().await });
        let client = rig.builder().connection_limit(6).build().unwrap();
        let first = client.request("tools/call", params("held", "a")).answer();
        let second = client.request("tools/call", params("held", "b")).answer();
        let third = client.request("tools/call", params("held", "c")).answer();
        tokio::time::sleep(secs(1)).await;
        assert_eq!(rig.count(When::tool("held")), 2);

        let noticed = client.notify("notifications/roots/list_changed", ());
        timeout(secs(1), noticed).await.expect("it waits for nobody").unwrap();
        drop(first);
        tokio::time::sleep(secs(1)).await;

        assert_eq!(rig.count(When::notification("notifications/cancelled")), 1, "{protocol:?}");
        assert_eq!(rig.count(When::tool("held")), 3, "the place of the first is the third's");
        drop((second, third));
    }
}

#[tokio::test(start_paused = true)]
async fn a_silent_stream_is_resumed_beside_itself_while_calls_hold_all_that_is_theirs() {
    for protocol in HTTP1 {
        let rig = Rig::over(protocol);
        let asked = Arc::new(Mutex::new(json!(null)));
        let id = asked.clone();
        rig.mcp.rule(When::tool("silent"), Times::Once, move |ask| {
            *id.lock().unwrap() = ask.id();
            async {
                let mut sse = ask.sse().await;
                sse.prime("e1").await;
                sse.gone().await;
            }
        });
        rig.mcp.rule(When::resume(), Times::Once, move |ask| {
            let id = asked.lock().unwrap().clone();
            async move {
                let answer = json!({ "jsonrpc": "2.0", "id": id, "result": text("done") });
                ask.sse().await.event_and_finish(Some("e2"), &answer.to_string()).await;
            }
        });
        let client = rig.builder().connection_limit(5).build().unwrap();

        let (silent, queued) =
            tokio::join!(call(&client, "silent", "a"), call(&client, "deploy", "b"));

        assert!(silent.unwrap().as_str().contains("done"), "{protocol:?}");
        assert!(queued.is_ok(), "{protocol:?}: {queued:?}");
        assert_eq!(rig.count(When::resume()), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn streams_that_stay_open_after_their_answers_give_way_to_calls() {
    for protocol in HTTP1 {
        let rig = Rig::over(protocol);
        let client = rig.builder().connection_limit(6).build().unwrap();
        settle(&client).await;
        let most = Arc::new(AtomicUsize::new(0));
        let (server, seen) = (rig.server.clone(), most.clone());
        rig.mcp.rule(When::tool("deploy"), Times::Always, move |ask| {
            seen.fetch_max(server.open_connections(), Ordering::Relaxed);
            async {
                let mut sse = ask.sse().await;
                sse.answer(None, text("done")).await;
                sse.gone().await;
            }
        });
        let began = Instant::now();

        for number in 0..20 {
            call(&client, "deploy", &number.to_string()).await.unwrap();
        }

        // Each leftover would be read for 2 s: 20 calls on two connections would take 18 s.
        assert!(began.elapsed() < secs(5), "{protocol:?}: {:?}", began.elapsed());
        assert!(most.load(Ordering::Relaxed) <= 6, "{protocol:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn no_place_is_ever_lost_whatever_happens_to_those_who_held_or_wanted_it() {
    for protocol in HTTP1 {
        let rig = Rig::over(protocol);
        let client = rig.builder().connection_limit(6).build().unwrap();
        let most = Most::seen_by(&rig, "held", 120);
        settle(&client).await;

        let troubles = (0..200_u64).map(|number| {
            let (client, server) = (&client, &rig.server);
            async move {
                tokio::time::sleep(millis(number * 7 % 1000)).await;
                if number % 40 == 0 {
                    server.reset_connections();
                }
                let patience = millis(20 + number * 37 % 700);
                let _ = timeout(patience, call(client, "held", &number.to_string())).await;
            }
        });
        join_all(troubles).await;
        tokio::time::sleep(secs(120)).await;

        let keys: Vec<String> = (0..4).map(|number| number.to_string()).collect();
        let calls = join_all(keys.iter().map(|key| call(&client, "held", key)));
        let results = timeout(millis(300), calls).await.expect("two at a time, 120 ms each");
        assert!(results.iter().all(Result::is_ok), "{protocol:?}: {results:?}");
        assert!(most.seen() <= 6, "{protocol:?}: {}", most.seen());
    }
}

#[tokio::test(start_paused = true)]
async fn on_http2_the_limit_of_connections_holds_nobody_up() {
    let rig = Rig::over(Protocol::Http2Tls);
    let client = rig.builder().connection_limit(5).build().unwrap();
    let _most = Most::seen_by(&rig, "held", 1000);
    settle(&client).await;
    let began = Instant::now();

    let keys: Vec<String> = (0..50).map(|number| number.to_string()).collect();
    let results = join_all(keys.iter().map(|key| call(&client, "held", key))).await;

    assert!(results.iter().all(Result::is_ok), "{results:?}");
    assert_eq!((began.elapsed(), rig.server.open_connections()), (secs(1), 1));
}

const HTTP1: [Protocol; 2] = [Protocol::Http1, Protocol::Http1Tls];

/// The most connections that a server had open while it ran a tool.
struct Most(Arc<AtomicUsize>);

impl Most {
    /// Makes the tool take so many milliseconds; the server counts its connections before and after.
    fn seen_by(rig: &Rig, tool: &str, time: u64) -> Self {
        let most = Arc::new(AtomicUsize::new(0));
        let (seen, server): (_, Server) = (most.clone(), rig.server.clone());
        rig.mcp.rule(When::tool(tool), Times::Always, move |ask| {
            let (seen, server) = (seen.clone(), server.clone());
            async move {
                seen.fetch_max(server.open_connections(), Ordering::Relaxed);
                tokio::time::sleep(millis(time)).await;
                seen.fetch_max(server.open_connections(), Ordering::Relaxed);
                ask.pass().await;
            }
        });
        Self(most)
    }

    fn seen(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

fn keys_asked(rig: &Rig) -> Vec<String> {
    let log = rig.mcp.log();
    let calls =
        log.iter().filter(|entry| matches!(entry.what, What::Request { tool: Some(_), .. }));
    let key = |body: &[u8]| {
        let message: serde_json::Value = serde_json::from_slice(body).unwrap();
        message["params"]["arguments"]["key"].as_str().unwrap().to_owned()
    };
    calls.map(|entry| key(&entry.body)).collect()
}

async fn answer_all(mut inbox: Inbox) {
    while let Some(delivered) = inbox.next().await {
        if let Delivered::Question { question, .. } = delivered {
            let roots = Json::new(r#"{"roots":[]}"#).unwrap();
            inbox.answer(question, Answer::Result(roots));
        }
    }
}
