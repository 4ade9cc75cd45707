//! The failures that prove that a call did not reach the server, and those that do not.
//!
//! The first half has a test for each line of the table in `src/http/proof.rs`: a client that tries once
//! reports that the call did not run; a client that keeps trying sends it again, and it runs once. The second
//! half has the failures that prove nothing.

use bytes::Bytes;
use futures_util::future::join;
use h2::Reason;
use ridethrough::error::{Delivery, Kind};
use ridethrough::machine::Cause;
use ridethrough::{Client, Error, RetryPolicy};
use ridethrough_lab::{Ask, Certificate, Mood, Processed, Protocol, Times, When};
use tokio::time::{Instant, sleep};

use crate::rig::{Rig, call, millis, secs, settle};
use crate::valve::{Sight, Up, Valve};

#[tokio::test(start_paused = true)]
async fn a_name_that_no_longer_resolves_proves_it() {
    let bench = Bench::over(Protocol::Http1);

    let said = bench.cut_off(async || bench.valve.fail_dials(Some(Cause::NameUnknown))).await;

    assert!(said.contains(&Cause::NameUnknown.to_string()), "{said}");
}

#[tokio::test(start_paused = true)]
async fn a_refused_connect_proves_it() {
    let bench = Bench::over(Protocol::Http1);

    let said = bench.cut_off(async || bench.rig.server.set_mood(Mood::Down)).await;

    assert!(said.contains(&Cause::ConnectRefused.to_string()), "{said}");
}

#[tokio::test(start_paused = true)]
async fn a_connect_that_times_out_proves_it() {
    let bench = Bench::over(Protocol::Http1);

    let said = bench.cut_off(async || bench.rig.server.set_mood(Mood::BlackHole)).await;

    assert!(said.contains(&Cause::ConnectTimedOut.to_string()), "{said}");
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_breaks_in_the_tls_handshake_proves_it() {
    let bench = Bench::over(Protocol::Http1Tls);

    let said = bench.cut_off(async || bench.rig.server.set_mood(Mood::ResetOnAccept)).await;

    assert!(said.contains(&Cause::Reset.to_string()), "{said}");
}

/// The first three writes are those of TLS; the fourth would be that of HTTP.
#[tokio::test(start_paused = true)]
async fn a_connection_that_breaks_in_the_http_handshake_proves_it() {
    let bench = Bench::over(Protocol::Http2Tls);

    let said = bench.cut_off(async || bench.valve.turn_next(Up::FailsAfter(3))).await;

    assert!(said.contains("connection error"), "{said}");
}

#[tokio::test(start_paused = true)]
async fn a_message_given_back_proves_it() {
    let bench = Bench::with_sight(Protocol::Http1, Sight::Blind);

    let said = bench.disturb(async || bench.rig.server.close_idle()).await;

    assert!(said.contains("canceled"), "{said}");
}

#[tokio::test(start_paused = true)]
async fn a_count_of_written_bytes_that_has_not_moved_proves_it() {
    let bench = Bench::over(Protocol::Http1);

    let said = bench
        .disturb(async || {
            bench.valve.turn(Up::Blocked);
            sleep(millis(10)).await;
            bench.valve.turn(Up::FailsAfter(0));
        })
        .await;

    assert!(!said.contains("canceled"), "{said}");
}

#[tokio::test(start_paused = true)]
async fn a_refused_stream_proves_it() {
    let bench = Bench::over(Protocol::Http2Tls);

    bench
        .disturb(async || {
            bench.rig.mcp.rule(When::tool("deploy"), Times::Once, |ask| async {
                ask.reply().1.reset_with(Reason::REFUSED_STREAM);
            });
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_goaway_below_our_stream_proves_it() {
    let bench = Bench::over(Protocol::Http2Tls);

    bench
        .disturb(async || {
            bench.valve.turn(Up::Lost);
            sleep(millis(10)).await;
            bench.rig.server.go_away(Processed::SoFar(Reason::NO_ERROR));
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_certificate_of_an_unknown_issuer_ends_a_call_at_once() {
    let bench = Bench::over(Protocol::Http1Tls);
    bench.rig.server.set_certificate(Certificate::Stranger);

    bench.assert_lasting(&bench.builder().build().unwrap()).await;
}

#[tokio::test(start_paused = true)]
async fn an_expired_certificate_ends_a_call_at_once() {
    let bench = Bench::over(Protocol::Http1Tls);
    bench.rig.server.set_certificate(Certificate::Expired);

    bench.assert_lasting(&bench.builder().build().unwrap()).await;
}

#[tokio::test(start_paused = true)]
async fn a_certificate_for_another_name_ends_a_call_at_once() {
    let bench = Bench::over(Protocol::Http2Tls);
    bench.rig.server.set_certificate(Certificate::WrongName);

    bench.assert_lasting(&bench.builder().build().unwrap()).await;
}

#[tokio::test(start_paused = true)]
async fn tls_to_a_plain_port_ends_a_call_at_once() {
    let bench = Bench::over(Protocol::Http1);
    let url = bench.rig.url().replace("http:", "https:");

    bench.assert_lasting(&Client::builder(&url).dial(bench.valve.clone()).build().unwrap()).await;
}

#[tokio::test(start_paused = true)]
async fn a_name_that_never_resolved_ends_a_call_at_once() {
    let bench = Bench::over(Protocol::Http1);
    bench.valve.fail_dials(Some(Cause::NameUnknown));

    bench.assert_lasting(&bench.builder().build().unwrap()).await;
}

#[tokio::test(start_paused = true)]
async fn a_certificate_that_went_bad_ends_a_call_at_once_and_a_good_one_serves_the_next() {
    let bench = Bench::over(Protocol::Http2Tls);
    let client = bench.builder().build().unwrap();
    settle(&client).await;
    bench.rig.server.set_certificate(Certificate::Expired);
    bench.rig.server.reset_connections();

    bench.assert_lasting(&client).await;
    bench.rig.server.set_certificate(Certificate::Good);
    call(&client, "deploy", "good again").await.unwrap();

    assert_eq!(bench.rig.mcp.executions("deploy"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_count_that_moved_below_tls_proves_nothing() {
    let rig = Rig::over(Protocol::Http1Tls);
    let valve = Valve::to(&rig.server);
    let client =
        rig.builder().dial(valve.clone()).retry_policy(RetryPolicy::never()).build().unwrap();
    settle(&client).await;
    valve.turn(Up::FailsAfter(1));

    // The first record of the request leaves; the write that it is part of fails.
    let params =
        serde_json::json!({ "name": "deploy", "arguments": { "key": "x".repeat(40_000) } });
    let error = client.request("tools/call", params).await.unwrap_err();

    assert_eq!(error.call().unwrap().delivery, Delivery::Unknown);
}

#[tokio::test(start_paused = true)]
async fn a_reset_after_the_head_of_the_request_proves_nothing() {
    let bench = Bench::over(Protocol::Http1);
    let client = bench.builder().build().unwrap();
    settle(&client).await;

    let resetting = async {
        bench.valve.turn(Up::UntilHead);
        sleep(millis(10)).await;
        bench.rig.server.reset_connections();
    };
    let ((), result) = join(resetting, call(&client, "deploy", "a")).await;

    assert_in_doubt(&result.unwrap_err(), Kind::Interrupted);
}

#[tokio::test(start_paused = true)]
async fn a_reset_after_the_body_of_the_request_proves_nothing() {
    assert_nothing_is_proven(Kind::Interrupted, |ask| async { ask.reply().1.reset() }).await;
}

#[tokio::test(start_paused = true)]
async fn a_close_without_an_answer_proves_nothing() {
    assert_nothing_is_proven(Kind::Interrupted, |ask| ask.reply().1.close()).await;
}

#[tokio::test(start_paused = true)]
async fn half_a_head_proves_nothing() {
    let half = "HTTP/1.1 200 OK\r\ncontent-ty";

    assert_nothing_is_proven(Kind::Interrupted, move |ask| say_and_close(ask, half)).await;
}

#[tokio::test(start_paused = true)]
async fn a_status_line_that_is_none_proves_nothing() {
    let line = "HTTQ/1.1 fine\r\n\r\n";

    assert_nothing_is_proven(Kind::PeerMisbehaved, move |ask| say_and_close(ask, line)).await;
}

#[tokio::test(start_paused = true)]
async fn a_body_shorter_than_its_length_proves_nothing() {
    let short = format!("{JSON_HEAD}content-length: 1000\r\n\r\n{{\"jsonrpc\":");

    assert_nothing_is_proven(Kind::Interrupted, move |ask| say_and_close(ask, short.clone())).await;
}

#[tokio::test(start_paused = true)]
async fn a_chunked_body_without_an_end_proves_nothing() {
    let endless = format!("{JSON_HEAD}transfer-encoding: chunked\r\n\r\n5\r\n{{\"jso\r\n");

    assert_nothing_is_proven(Kind::Interrupted, move |ask| say_and_close(ask, endless.clone()))
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_reset_in_the_body_proves_nothing() {
    let short = format!("{JSON_HEAD}content-length: 1000\r\n\r\n{{\"jsonrpc\":");

    assert_nothing_is_proven(Kind::Interrupted, move |ask| say_and_reset(ask, short.clone())).await;
}

/// A server behind a valve.
struct Bench {
    rig: Rig,
    valve: Valve,
}

impl Bench {
    fn over(protocol: Protocol) -> Self {
        Self::with_sight(protocol, Sight::True)
    }

    fn with_sight(protocol: Protocol, sight: Sight) -> Self {
        let rig = Rig::over(protocol);
        let valve = Valve::with_sight(&rig.server, sight);
        Self { rig, valve }
    }

    fn builder(&self) -> ridethrough::ClientBuilder {
        self.rig.builder().dial(self.valve.clone())
    }

    /// Closes all connections, and makes new ones fail as `trouble` says for 2 s.
    async fn cut_off(&self, trouble: impl AsyncFn()) -> String {
        let before = async || {
            trouble().await;
            self.rig.server.reset_connections();
            // The client has seen the close after this.
            sleep(millis(1)).await;
        };
        let beside = async || {
            sleep(secs(2)).await;
            self.valve.fail_dials(None);
            self.rig.server.set_mood(Mood::Up);
        };
        self.call_amid(before, beside).await
    }

    /// Causes trouble during a call that begins without any.
    async fn disturb(&self, trouble: impl AsyncFn()) -> String {
        self.call_amid(async || (), trouble).await
    }

    /// Calls after and during some trouble: a client that tries once reports that the call did not run, and
    /// for one that keeps trying it runs once. Returns the words of the first.
    async fn call_amid(&self, before: impl AsyncFn(), beside: impl AsyncFn()) -> String {
        let once = self.builder().retry_policy(RetryPolicy::never()).build().unwrap();
        settle(&once).await;
        before().await;
        let ((), result) = join(beside(), call(&once, "deploy", "once")).await;
        let error = result.unwrap_err();
        assert_not_sent(&error);
        assert_eq!(self.rig.mcp.executions_of("deploy", "once"), 0);

        let persistent = self.builder().build().unwrap();
        settle(&persistent).await;
        before().await;
        let ((), result) = join(beside(), call(&persistent, "deploy", "again")).await;
        result.unwrap();
        assert_eq!(self.rig.mcp.executions_of("deploy", "again"), 1);
        error.to_string()
    }

    /// Checks row 1p: no waiting, and the next call dials for itself.
    async fn assert_lasting(&self, client: &Client) {
        let dials = self.valve.dials();
        for tries in 1..=2 {
            let began = Instant::now();

            let error = call(client, "deploy", "a").await.unwrap_err();

            assert_not_sent(&error);
            assert!(began.elapsed() < secs(1), "{:?}", began.elapsed());
            assert_eq!(self.valve.dials(), dials + tries);
        }
        assert_eq!(self.rig.count(When::tool("deploy")), 0);
    }
}

fn assert_not_sent(error: &Error) {
    assert_eq!(error.call().unwrap().kind, Kind::Unreachable, "{error}");
    assert_eq!(error.call().unwrap().delivery, Delivery::NotSent);
    assert!(!error.may_have_run());
}

fn assert_in_doubt(error: &Error, kind: Kind) {
    assert_eq!(error.call().unwrap().kind, kind, "{error}");
    assert_eq!(error.call().unwrap().delivery, Delivery::Unknown);
    assert!(error.may_have_run());
    assert_eq!(error.call().unwrap().attempts, 1);
}

/// Checks that an unsafe tool that runs and is then answered in this way leaves its call in doubt, sent once.
async fn assert_nothing_is_proven<Answering>(
    kind: Kind,
    answer: impl Fn(Ask) -> Answering + Send + Sync + 'static,
) where
    Answering: Future<Output = ()> + Send + 'static,
{
    let rig = Rig::over(Protocol::Http1);
    rig.mcp.rule(When::tool("deploy"), Times::Always, move |ask| {
        ask.run();
        answer(ask)
    });
    let client = rig.client();

    let error = call(&client, "deploy", "a").await.unwrap_err();

    assert_in_doubt(&error, kind);
    assert_eq!(rig.mcp.executions("deploy"), 1);
    assert_eq!(rig.count(When::tool("deploy")), 1);
}

/// Writes these bytes in place of an answer, then closes the connection.
async fn say_and_close(ask: Ask, bytes: impl Into<Bytes>) {
    let mut raw = ask.reply().1.raw().unwrap();
    raw.write(bytes).await;
    raw.close().await;
}

/// Writes these bytes, and resets the connection when the client has read them.
async fn say_and_reset(ask: Ask, bytes: impl Into<Bytes>) {
    let mut raw = ask.reply().1.raw().unwrap();
    raw.write(bytes).await;
    sleep(millis(10)).await;
    raw.reset();
}

const JSON_HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";
