//! A server that is reached through a proxy: what the proxy is asked, what it sees, and faults on either side
//! of it.

use std::sync::{Arc, Mutex};

use ridethrough::credentials::StaticToken;
use ridethrough::error::Kind;
use ridethrough_lab::{Protocol, Times, When};
use serde_json::json;
use tokio::time::Instant;

use crate::middleman::{Middleman, URL, Way};
use crate::rig::{Rig, call, millis, params, secs, settle, text};

on_every_carrier! {
    async fn a_server_is_reached_through_a_tunnel_that_the_proxy_is_asked_for_once(rig: Rig) {
        let proxy = Middleman::before(&rig.server);
        let client = proxy.builder(&rig).build().unwrap();

        client.connect().await.unwrap();

        let port = if rig.server.protocol().is_tls() { 443 } else { 80 };
        let asked = format!(
            "CONNECT server.test:{port} HTTP/1.1\r\nHost: server.test:{port}\r\n\
             Proxy-Authorization: Basic dXMzcjpzM2NyZXQ=\r\n\r\n"
        );
        assert_eq!(proxy.asked()[0], asked);
        assert_eq!(proxy.dialed()[0], "http://proxy.test:3128");
    }

    async fn calls_share_the_tunnels_that_stand(rig: Rig) {
        let proxy = Middleman::before(&rig.server);
        let client = proxy.builder(&rig).build().unwrap();

        for number in 0..20 {
            call(&client, "deploy", &number.to_string()).await.unwrap();
        }

        let tunnels = if rig.is_http2() { 1 } else { 2 };
        assert_eq!(proxy.asked().len(), tunnels);
        assert_eq!(rig.mcp.executions("deploy"), 20);
    }

    async fn calls_at_once_go_through_tunnels_too(rig: Rig) {
        let proxy = Middleman::before(&rig.server);
        let client = proxy.builder(&rig).build().unwrap();

        let keys: Vec<String> = (0..20).map(|number| number.to_string()).collect();
        let calls = keys.iter().map(|key| call(&client, "deploy", key));
        let results = futures_util::future::join_all(calls).await;

        assert!(results.iter().all(Result::is_ok), "{results:?}");
        assert_eq!(rig.server.dials(), proxy.asked().len() as u64);
    }

    async fn a_proxy_sees_what_an_http_server_is_told_and_nothing_of_it_with_https(rig: Rig) {
        rig.mcp.require_bearer(Some("t0ken"));
        let proxy = Middleman::before(&rig.server);
        let bearer = StaticToken::new("t0ken").unwrap();
        let client = proxy.builder(&rig).credentials(bearer).build().unwrap();

        client.request("tools/call", params("deploy", "payl0ad")).header("x-key", "h3ader").await.unwrap();

        let is_plain = !rig.server.protocol().is_tls();
        for word in ["t0ken", "payl0ad", "h3ader", "lab-session"] {
            assert_eq!(proxy.has_seen(word), is_plain, "{word}");
        }
        assert!(proxy.asked().iter().all(|head| !head.contains("t0ken")));
    }

    async fn a_server_is_never_told_the_name_and_password_for_the_proxy(rig: Rig) {
        let proxy = Middleman::before(&rig.server);
        let client = proxy.builder(&rig).build().unwrap();

        call(&client, "deploy", "a").await.unwrap();

        let log = rig.mcp.log();
        assert!(log.iter().all(|entry| entry.header("proxy-authorization").is_none()));
    }

    async fn an_https_proxy_is_spoken_to_over_tls(rig: Rig) {
        let proxy = Middleman::before(&rig.server).over_tls(rig.server.authority());
        let client = proxy
            .builder(&rig)
            .proxy("https://us3r:s3cret@proxy.test:3129")
            .root_certificates(rig.server.authority().root_pem())
            .build()
            .unwrap();

        for number in 0..3 {
            call(&client, "deploy", &number.to_string()).await.unwrap();
        }

        assert_eq!(proxy.dialed()[0], "https://proxy.test:3129");
        assert!(proxy.asked()[0].starts_with("CONNECT server.test:"), "{:?}", proxy.asked());
        assert_eq!(rig.mcp.executions("deploy"), 3);
    }

    async fn an_https_proxy_with_a_certificate_of_a_stranger_ends_the_call_at_once(rig: Rig) {
        let stranger = ridethrough_lab::Authority::new();
        let proxy = Middleman::before(&rig.server).over_tls(&stranger);
        let client = proxy.builder(&rig).proxy("https://proxy.test").build().unwrap();
        let began = Instant::now();

        let error = call(&client, "deploy", "a").await.unwrap_err();

        assert_eq!((error.call().unwrap().kind, began.elapsed()), (Kind::Unreachable, millis(0)));
        assert!(error.to_string().contains("proxy `proxy.test`"), "{error}");
        assert!(proxy.asked().is_empty());
    }

    async fn a_stream_that_the_proxy_cuts_is_resumed_through_a_new_tunnel(rig: Rig) {
        let asked = Arc::new(Mutex::new(json!(null)));
        let id = asked.clone();
        rig.mcp.rule(When::tool("deploy"), Times::Once, move |ask| {
            *id.lock().unwrap() = ask.id();
            async {
                ask.run();
                let mut sse = ask.sse().await;
                sse.prime("e1").await;
                sse.gone().await;
            }
        });
        rig.mcp.rule(When::resume().and(When::matches(of_a_call)), Times::Once, move |ask| {
            let id = asked.lock().unwrap().clone();
            async move {
                let answer = json!({ "jsonrpc": "2.0", "id": id, "result": text("done") });
                ask.sse().await.event_and_finish(Some("e2"), &answer.to_string()).await;
            }
        });
        let proxy = Middleman::before(&rig.server);
        let client = proxy.builder(&rig).build().unwrap();
        settle(&client).await;
        let breaking = async {
            tokio::time::sleep(secs(1)).await;
            proxy.breaks();
        };

        let (result, ()) = tokio::join!(call(&client, "deploy", "a"), breaking);

        assert!(result.unwrap().as_str().contains("done"));
        assert_eq!(rig.mcp.executions("deploy"), 1);
    }

    async fn a_proxy_that_dies_under_an_unsafe_call_leaves_it_in_doubt_and_the_next_one_waits(rig: Rig) {
        rig.mcp.rule(When::tool("deploy"), Times::Once, |ask| async {
            ask.run();
            ask.reply().1.hold().await;
        });
        let proxy = Middleman::before(&rig.server);
        let client = proxy.builder(&rig).build().unwrap();
        settle(&client).await;
        let dying = async {
            tokio::time::sleep(secs(1)).await;
            proxy.dies();
        };

        let (result, ()) = tokio::join!(call(&client, "deploy", "a"), dying);
        let coming_back = async {
            tokio::time::sleep(secs(4)).await;
            proxy.goes(Way::Tunnels);
        };
        let (next, ()) = tokio::join!(call(&client, "deploy", "b"), coming_back);

        let error = result.unwrap_err();
        assert_eq!(error.call().unwrap().kind, Kind::Interrupted);
        assert!(error.may_have_run());
        assert!(next.is_ok(), "{next:?}");
        assert_eq!(rig.mcp.executions_of("deploy", "a"), 1);
        assert_eq!(rig.mcp.executions_of("deploy", "b"), 1);
    }

    async fn a_server_that_restarts_behind_the_proxy_is_waited_for(rig: Rig) {
        let proxy = Middleman::before(&rig.server);
        let client = proxy.builder(&rig).build().unwrap();
        settle(&client).await;
        rig.server.kill().await;
        rig.mcp.forget_sessions();
        let restarting = async {
            tokio::time::sleep(secs(5)).await;
            rig.server.restart().await.unwrap();
        };

        let (result, ()) = tokio::join!(call(&client, "deploy", "a"), restarting);

        assert!(result.is_ok(), "{result:?}");
        assert_eq!(rig.mcp.executions("deploy"), 1);
        assert_eq!(rig.count(When::method("initialize")), 2);
    }
}

#[tokio::test(start_paused = true)]
async fn an_ipv6_server_is_asked_for_in_brackets() {
    let rig = Rig::over(Protocol::Http1);
    let proxy = Middleman::before(&rig.server);
    let client = rig.builder_to("http://[fd00::1]/mcp").dial(proxy.clone()).proxy(URL);

    client.build().unwrap().connect().await.unwrap();

    assert!(
        proxy.asked()[0].starts_with("CONNECT [fd00::1]:80 HTTP/1.1\r\nHost: [fd00::1]:80\r\n")
    );
}

#[tokio::test(start_paused = true)]
async fn a_proxy_without_a_password_is_sent_none() {
    let rig = Rig::over(Protocol::Http1);
    let proxy = Middleman::before(&rig.server);
    let client = proxy.builder(&rig).proxy("proxy.test:3128").build().unwrap();

    client.connect().await.unwrap();

    assert!(!proxy.asked()[0].contains("Proxy-Authorization"), "{:?}", proxy.asked());
}

#[tokio::test(start_paused = true)]
async fn a_client_told_to_use_no_proxy_uses_none() {
    let rig = Rig::over(Protocol::Http1);
    let client = rig.builder().proxy(URL).no_proxy().build().unwrap();

    call(&client, "deploy", "a").await.unwrap();

    assert_eq!(rig.mcp.executions("deploy"), 1);
}

/// Whether the request resumes the stream of a call, and not the standing stream.
fn of_a_call(entry: &ridethrough_lab::Entry) -> bool {
    entry.last_event_id.as_deref() == Some("e1")
}
