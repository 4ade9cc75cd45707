//! What is kept, for how long, and how much of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ridethrough::call::Source;
use ridethrough::policy::Cache;
use ridethrough::{Client, Era, Error};
use serde_json::json;
use tokio::time::sleep;

use crate::rig::{Said, Server, kept, minute, result, secs};

#[tokio::test(start_paused = true)]
async fn a_result_is_given_again_without_asking_until_its_time_is_over() {
    let server = Server::keeps_a_minute();
    let client = server.client();

    let first = client.tools().await.unwrap();
    sleep(Duration::from_millis(59_999)).await;
    let second = client.tools().await.unwrap();
    assert_eq!((second, server.count("tools/list")), (first.clone(), 1));
    sleep(Duration::from_millis(1)).await;
    let third = client.tools().await.unwrap();

    assert_ne!(third, first);
    assert_eq!(server.count("tools/list"), 2);
}

#[tokio::test(start_paused = true)]
async fn every_method_that_the_revision_names_is_kept_and_no_other() {
    let server = Server::keeps_a_minute();
    let client = server.client();

    for _ in 0..2 {
        client.tools().await.unwrap();
        client.prompts().await.unwrap();
        client.resources().await.unwrap();
        client.resource_templates().await.unwrap();
        client.read_resource("a:b").await.unwrap();
        client.request("server/discover", ()).await.unwrap();
        client.request("acme/list", ()).await.unwrap();
        client.call_tool("echo", ()).await.unwrap();
    }

    let counts = [
        "tools/list",
        "prompts/list",
        "resources/list",
        "resources/templates/list",
        "resources/read",
        "server/discover",
        "acme/list",
        "tools/call",
    ];
    assert_eq!(counts.map(|method| server.count(method)), [1, 1, 1, 1, 1, 1, 2, 2]);
}

#[tokio::test(start_paused = true)]
async fn each_resource_is_kept_by_itself_whatever_stands_in_meta() {
    let server = Server::keeps_a_minute();
    let client = server.client();
    let read = |params| client.request("resources/read", params);

    read(json!({"uri": "a:1"})).await.unwrap();
    read(json!({"uri": "a:2"})).await.unwrap();
    read(json!({"uri": "a:1", "_meta": {"progressToken": 7}})).await.unwrap();

    let asked = server.asked("resources/read");
    let uris: Vec<_> = asked.iter().map(|asked| asked.params["uri"].as_str().unwrap()).collect();
    assert_eq!(uris, ["a:1", "a:2"]);
}

#[tokio::test(start_paused = true)]
async fn what_the_server_does_not_allow_to_keep_is_asked_for_each_time() {
    for ttl in [json!(null), json!(0), json!(-1), json!("60000")] {
        let said = ttl.clone();
        let server = Server::new(move |asked| {
            let mut result = result(asked);
            result["ttlMs"] = said.clone();
            Said::Result(result)
        });
        let client = server.client();

        client.tools().await.unwrap();
        client.tools().await.unwrap();

        assert_eq!(server.count("tools/list"), 2, "{ttl}");
    }
}

/// Its lists may depend on the session and on what was called before.
#[tokio::test(start_paused = true)]
async fn a_server_with_sessions_makes_no_promise_by_a_ttl() {
    let server = Server::keeps_a_minute();
    let client = server.builder().eras(Era::Legacy).build().unwrap();

    client.tools().await.unwrap();
    client.tools().await.unwrap();

    assert_eq!(server.count("tools/list"), 2);
}

#[tokio::test(start_paused = true)]
async fn an_error_is_never_kept_nor_a_result_that_is_one() {
    let server = Server::new(|asked| match asked.method.as_str() {
        "tools/list" => Said::Error(-32000),
        _ => {
            let mut result = minute(asked);
            result["isError"] = json!(true);
            Said::Result(result)
        }
    });
    let client = server.client();

    for _ in 0..2 {
        client.tools().await.unwrap_err();
        client.read_resource("a:b").await.unwrap();
    }

    assert_eq!((server.count("tools/list"), server.count("resources/read")), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn what_took_input_is_never_kept() {
    let server = Server::new(|asked| match &asked.params["requestState"] {
        state if state.is_null() => {
            Said::Result(json!({"resultType": "input_required", "requestState": "s"}))
        }
        _ => Said::Result(minute(asked)),
    });
    let client = server.client();

    client.read_resource("a:b").await.unwrap();
    client.read_resource("a:b").await.unwrap();

    assert_eq!(server.count("resources/read"), 4, "two rounds each");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_carries_input_of_the_callers_own_is_never_answered_from_what_was_kept() {
    let server = Server::keeps_a_minute();
    let client = server.client();
    client.read_resource("a:b").await.unwrap();

    for member in ["requestState", "inputResponses"] {
        for _ in 0..2 {
            let params = json!({"uri": "a:b", member: {}});
            client.request("resources/read", params).await.unwrap();
        }
    }

    assert_eq!(server.count("resources/read"), 5);
}

#[tokio::test(start_paused = true)]
async fn a_result_that_nobody_can_read_is_not_given_again() {
    let server = Server::new(|asked| match asked.before {
        0 => Said::Result(kept(json!({"tools": [{"nameless": true}]}), 60_000, "public")),
        _ => Said::Result(minute(asked)),
    });
    let client = server.client();

    let error = client.tools().await.unwrap_err();

    assert!(matches!(error, Error::Answer { .. }), "{error}");
    assert_eq!(client.tools().await.unwrap().len(), 1);
}

/// Such as a tenant's header: only the server knows what it changes.
#[tokio::test(start_paused = true)]
async fn a_call_with_headers_of_its_own_neither_takes_nor_leaves_anything() {
    let server = Server::keeps_a_minute();
    let client = server.client();
    let blue = || client.read_resource("a:b").header("x-tenant", "blue");

    blue().await.unwrap();
    client.read_resource("a:b").await.unwrap();
    blue().await.unwrap();
    client.read_resource("a:b").await.unwrap();

    let asked = server.asked("resources/read");
    let is_blue = |name: &str| name == "x-tenant";
    let tenants = asked.iter().map(|asked| asked.headers.iter().any(|(name, _)| is_blue(name)));
    assert_eq!(tenants.collect::<Vec<_>>(), [true, false, true]);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_wants_it_fresh_asks_and_what_it_brings_is_kept() {
    let server = Server::keeps_a_minute();
    let client = server.client();
    client.tools().await.unwrap();

    let fresh = client.tools().fresh().await.unwrap();
    let again = client.tools().await.unwrap();

    assert_eq!(fresh[0].name, "tool-1");
    assert_eq!(again, fresh);
    assert_eq!(server.count("tools/list"), 2);
}

#[tokio::test(start_paused = true)]
async fn a_caller_can_ask_where_a_result_comes_from() {
    let server = Server::keeps_a_minute();
    let client = server.client();

    let first = client.read_resource("a:b").sourced().await.unwrap();
    sleep(secs(20)).await;
    let second = client.read_resource("a:b").sourced().await.unwrap();

    assert!(matches!(first.source, Source::Server), "{:?}", first.source);
    assert!(matches!(second.source, Source::Kept { age } if age == secs(20)));
    assert!(!second.source.is_stale());
    assert_eq!(first.value, second.value);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_is_told_to_keep_nothing_keeps_nothing() {
    let server = Server::keeps_a_minute();
    let client = server.builder().cache(Cache::off()).build().unwrap();

    client.tools().await.unwrap();
    client.tools().await.unwrap();

    assert_eq!(server.count("tools/list"), 2);
}

#[tokio::test(start_paused = true)]
async fn only_so_many_results_are_kept_and_the_oldest_goes_first() {
    let server = Server::keeps_a_minute();
    let client = server.builder().cache(Cache::new().most_entries(2)).build().unwrap();

    for uri in ["a:1", "a:2", "a:3", "a:3", "a:2", "a:1"] {
        client.read_resource(uri).await.unwrap();
    }

    let asked = server.asked("resources/read");
    let uris: Vec<_> = asked.iter().map(|asked| asked.params["uri"].as_str().unwrap()).collect();
    assert_eq!(uris, ["a:1", "a:2", "a:3", "a:1"]);
}

#[tokio::test(start_paused = true)]
async fn only_so_many_bytes_are_kept() {
    let server = Server::new(|asked| {
        let text = "x".repeat(if asked.params["uri"] == "a:large" { 9_000 } else { 4_000 });
        let contents = json!([{"uri": asked.params["uri"], "text": text}]);
        Said::Result(kept(json!({"contents": contents}), 60_000, "private"))
    });
    let client = server.builder().cache(Cache::new().most_bytes(9_000)).build().unwrap();

    for uri in ["a:1", "a:2", "a:large", "a:large", "a:1", "a:2"] {
        client.read_resource(uri).await.unwrap();
    }
    assert_eq!(server.count("resources/read"), 4, "a large one is not kept, nor in anybody's way");
    client.read_resource("a:3").await.unwrap();
    client.read_resource("a:1").await.unwrap();

    assert_eq!(server.count("resources/read"), 6);
}

#[tokio::test]
async fn a_builder_refuses_to_keep_more_than_anybody_can_use() {
    let cache = Cache::new().most_entries(10_001);

    let error = Client::builder("http://example.com/").cache(cache).build().unwrap_err();

    assert_eq!(error.to_string(), "`cache` is to keep 10001 results, must be 0 to 10000");
}

/// The clock of the link stands still while the computer sleeps.
#[tokio::test(start_paused = true)]
async fn time_that_the_computer_slept_counts() {
    let asleep = Arc::new(AtomicU64::new(0));
    let clock = asleep.clone();
    let server = Server::keeps_a_minute();
    let client = server
        .builder()
        .sleep_clock(move || Duration::from_secs(clock.load(Ordering::Relaxed)))
        .build()
        .unwrap();
    client.tools().await.unwrap();

    asleep.store(59, Ordering::Relaxed);
    client.tools().await.unwrap();
    assert_eq!(server.count("tools/list"), 1);
    asleep.store(65, Ordering::Relaxed);
    client.tools().await.unwrap();

    assert_eq!(server.count("tools/list"), 2);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_is_closed_gives_nothing() {
    let server = Server::keeps_a_minute();
    let client = server.client();
    client.tools().await.unwrap();

    client.close().await;

    client.tools().await.unwrap_err();
}
