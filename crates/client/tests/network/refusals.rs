//! Proxies that open no tunnel: the call waits if the trouble may pass and ends at once if it cannot, and
//! neither leaves it in doubt.

use std::time::Duration;

use ridethrough::error::{CallError, Delivery, Kind};
use ridethrough::{Client, Error};
use ridethrough_lab::{Protocol, When};
use tokio::time::Instant;

use crate::middleman::{Middleman, Way};
use crate::rig::{Rig, call, secs};

on_every_carrier! {
    async fn a_proxy_that_asks_for_a_password_ends_the_call_at_once_and_is_named(rig: Rig) {
        let proxy = Middleman::before(&rig.server);
        proxy.goes(Way::Status(407));

        for (url, words) in [
            (crate::middleman::URL, "`proxy.test:3128` refuses the name and password: status 407"),
            ("proxy.test:3128", "`proxy.test:3128` asks for a name and a password: status 407"),
        ] {
            let client = proxy.builder(&rig).proxy(url).build().unwrap();

            let error = ends_at_once(&client).await;

            assert!(error.to_string().contains(words), "{error}");
        }
    }

    async fn a_proxy_that_refuses_the_server_ends_the_call_at_once(rig: Rig) {
        let proxy = Middleman::before(&rig.server);
        for status in [302, 400, 401, 403, 404, 405] {
            proxy.goes(Way::Status(status));
            let client = proxy.builder(&rig).build().unwrap();

            let error = ends_at_once(&client).await;

            let words = format!("opens no tunnel to `{}`: status {status}", server(&rig));
            assert!(error.to_string().contains(&words), "{error}");
        }
    }

    async fn what_is_no_http_proxy_ends_the_call_at_once(rig: Rig) {
        let proxy = Middleman::before(&rig.server);
        let answers = ["SSH-2.0-OpenSSH_9.9\r\n", "\x15\x03\x01", "HTTP/2 200\r\n\r\n", "HTTP/1.1 OK\r\n\r\n"];
        for answer in answers {
            proxy.goes(Way::Says(answer));
            let client = proxy.builder(&rig).build().unwrap();

            let error = ends_at_once(&client).await;

            assert!(error.to_string().contains("is not HTTP/1.1"), "{answer}: {error}");
        }
    }

    async fn a_proxy_whose_answer_has_no_end_ends_the_call_at_once(rig: Rig) {
        let head = format!("HTTP/1.1 200 OK\r\nX-Long: {}", "x".repeat(32 << 10));
        let proxy = Middleman::before(&rig.server);
        proxy.goes(Way::Says(head.leak()));
        let client = proxy.builder(&rig).build().unwrap();

        let error = ends_at_once(&client).await;

        assert!(error.to_string().contains("a head without an end"), "{error}");
    }

    async fn a_proxy_that_cannot_reach_the_server_is_asked_again_until_it_can(rig: Rig) {
        for status in [408, 429, 500, 502, 503, 504] {
            waits_for_a_proxy_that_goes(&rig, Way::Status(status)).await;
        }
    }

    async fn a_proxy_that_is_down_is_waited_for(rig: Rig) {
        waits_for_a_proxy_that_goes(&rig, Way::Down).await;
    }

    async fn a_proxy_that_closes_or_resets_instead_of_an_answer_is_asked_again(rig: Rig) {
        waits_for_a_proxy_that_goes(&rig, Way::Closes).await;
        waits_for_a_proxy_that_goes(&rig, Way::Resets).await;
    }

    async fn a_proxy_that_says_nothing_has_the_time_of_a_connect_and_is_asked_again(rig: Rig) {
        waits_for_a_proxy_that_goes(&rig, Way::Silent).await;
    }

    async fn a_server_that_stays_unreachable_behind_a_proxy_ends_the_call_without_a_doubt(rig: Rig) {
        let proxy = Middleman::before(&rig.server);
        proxy.goes(Way::Status(502));
        let client = proxy.builder(&rig).build().unwrap();
        let began = Instant::now();

        let error = call(&client, "deploy", "a").await.unwrap_err();

        assert_unsent(&error);
        assert!(error.to_string().contains("proxy `proxy.test:3128`"), "{error}");
        assert!(error.to_string().contains("status 502"), "{error}");
        assert!(began.elapsed() >= secs(10), "{:?}", began.elapsed());
        assert!(proxy.asked().len() > 3);
    }
}

/// Checks that a call waits while the proxy fails in this way for 4 s, and runs once.
async fn waits_for_a_proxy_that_goes(rig: &Rig, way: Way) {
    let rig = Rig::over(rig.server.protocol());
    let proxy = Middleman::before(&rig.server);
    proxy.goes(way);
    let client = proxy.builder(&rig).build().unwrap();
    let mending = async {
        tokio::time::sleep(secs(4)).await;
        assert_eq!(rig.count(When::any()), 0);
        proxy.goes(Way::Tunnels);
    };

    let (result, ()) = tokio::join!(call(&client, "deploy", "a"), mending);

    assert!(result.is_ok(), "{way:?}: {result:?}");
    assert_eq!(rig.mcp.executions("deploy"), 1, "{way:?}");
    assert!(proxy.dialed().len() > 1, "{way:?}");
}

async fn ends_at_once(client: &Client) -> Error {
    let began = Instant::now();
    let error = call(client, "deploy", "a").await.unwrap_err();
    assert_eq!(began.elapsed(), Duration::ZERO, "{error}");
    assert_unsent(&error);
    assert!(!format!("{error:?} {}", error.report()).contains("s3cret"), "{error:?}");
    error
}

fn assert_unsent(error: &Error) {
    let CallError { kind, delivery, .. } = error.call().unwrap();
    assert_eq!((*kind, *delivery), (Kind::Unreachable, Delivery::NotSent), "{error}");
}

fn server(rig: &Rig) -> &'static str {
    match rig.server.protocol() {
        Protocol::Http1 => "server.test:80",
        _ => "server.test:443",
    }
}
