//! Servers that ask for a client certificate: it is presented, and its refusal is final.

use std::time::Duration;

use ridethrough::error::{Delivery, Kind};
use ridethrough::{Client, Error};
use ridethrough_lab::{Authority, Certificate, Protocol};
use tokio::time::Instant;

use crate::middleman::{Middleman, URL};
use crate::rig::{Rig, call, secs, settle};

#[tokio::test(start_paused = true)]
async fn a_server_that_demands_a_certificate_is_shown_ours() {
    for protocol in TLS {
        let rig = demanding(protocol);
        let (chain, key) = rig.server.authority().client_pem();
        let client = rig.builder().client_certificate(chain, key).build().unwrap();

        for number in 0..3 {
            call(&client, "deploy", &number.to_string()).await.unwrap();
        }

        assert_eq!(rig.mcp.executions("deploy"), 3, "{protocol:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_without_a_certificate_is_refused_at_once_and_nothing_has_run() {
    for protocol in TLS {
        let rig = demanding(protocol);

        let error = ends_at_once(&rig.client()).await;

        assert!(
            error.to_string().contains("the server said `certificate required`"),
            "{protocol:?}: {error}"
        );
        assert_eq!(rig.mcp.log().len(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_certificate_of_a_stranger_is_refused_at_once_and_nothing_has_run() {
    for protocol in TLS {
        let rig = demanding(protocol);
        let (chain, key) = Authority::new().client_pem();

        let client = rig.builder().client_certificate(chain, key).build().unwrap();
        let error = ends_at_once(&client).await;

        assert!(error.to_string().contains("TLS handshake was refused"), "{protocol:?}: {error}");
        assert_eq!(rig.mcp.log().len(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_begins_to_demand_a_certificate_ends_the_next_call_without_a_doubt() {
    for protocol in TLS {
        let rig = Rig::over(protocol);
        let client = rig.client();
        settle(&client).await;
        rig.server.set_certificate(Certificate::Demanding);
        rig.server.reset_connections();
        tokio::time::sleep(secs(60)).await;

        let error = call(&client, "deploy", "a").await.unwrap_err();

        assert_unsent(&error);
        assert_eq!(rig.mcp.executions("deploy"), 0, "{protocol:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_proxy_is_not_shown_the_certificate_that_is_meant_for_the_server() {
    for protocol in TLS {
        let rig = demanding(protocol);
        let (chain, key) = rig.server.authority().client_pem();
        let proxy = Middleman::before(&rig.server).over_tls(rig.server.authority());
        let client = proxy.builder(&rig).proxy(URL.replace("http:", "https:"));
        let client = client.client_certificate(chain, key).build().unwrap();

        call(&client, "deploy", "a").await.unwrap();

        assert_eq!(proxy.certificates_shown(), 0);
        assert_eq!(rig.mcp.executions("deploy"), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn every_certificate_is_accepted_by_whoever_asks_for_that_and_a_proxys_is_not() {
    for protocol in TLS {
        for certificate in [Certificate::Stranger, Certificate::Expired, Certificate::WrongName] {
            let rig = Rig::over(protocol);
            rig.server.set_certificate(certificate);
            let client = rig.builder().danger_accept_any_certificate().build().unwrap();

            call(&client, "deploy", "a").await.unwrap();

            assert_eq!(rig.mcp.executions("deploy"), 1, "{protocol:?} {certificate:?}");
        }
        let rig = Rig::over(protocol);
        let proxy = Middleman::before(&rig.server).over_tls(&Authority::new());
        let client = proxy.builder(&rig).proxy(URL.replace("http:", "https:"));
        let client = client.danger_accept_any_certificate().build().unwrap();
        let error = ends_at_once(&client).await;
        assert!(
            error.to_string().contains("not accepted (proxy `proxy.test:3128`: it was issued by"),
            "{error}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_certificate_that_is_not_accepted_is_told_in_words_and_with_what_to_do() {
    for protocol in TLS {
        let rig = Rig::over(protocol);
        rig.server.set_certificate(Certificate::Expired);

        let report = ends_at_once(&rig.client()).await.report();

        let what = "the server's certificate was not accepted (it expired on 2001-01-01 00:00 UTC)";
        assert!(report.contains(what), "{report}");
        assert!(report.contains("\nhint: renew the server's certificate"), "{report}");
    }
}

/// Only an alert tells of a refused certificate, and a connection may break before the alert arrives.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_without_a_certificate_never_runs_anything_on_sockets() {
    for protocol in TLS {
        let rig = Rig::on_sockets(protocol).await;
        rig.server.set_certificate(Certificate::Demanding);
        let client = rig.client();

        let call = client.request("tools/call", crate::rig::params("deploy", "a"));
        let error = call.timeout(secs(5)).await.unwrap_err();

        assert!(!error.may_have_run(), "{protocol:?}: {error}");
        assert_eq!(rig.mcp.log().len(), 0);
    }
}

const TLS: [Protocol; 2] = [Protocol::Http1Tls, Protocol::Http2Tls];

fn demanding(protocol: Protocol) -> Rig {
    let rig = Rig::over(protocol);
    rig.server.set_certificate(Certificate::Demanding);
    rig
}

async fn ends_at_once(client: &Client) -> Error {
    let began = Instant::now();
    let error = call(client, "deploy", "a").await.unwrap_err();
    assert_eq!(began.elapsed(), Duration::ZERO, "{error}");
    assert_unsent(&error);
    error
}

fn assert_unsent(error: &Error) {
    let call = error.call().unwrap();
    assert_eq!((call.kind, call.delivery), (Kind::Unreachable, Delivery::NotSent), "{error}");
}
