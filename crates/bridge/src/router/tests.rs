//! The loop's order of inputs, which cannot be timed from outside.

use std::future::{pending, ready};
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt};
use ridethrough::Client;
use ridethrough::transport::{Failure, Reply, Transport, TransportRequest};
use ridethrough_core::ExchangeId;
use ridethrough_upstream::Gauge;
use ridethrough_wire::message::Json;
use tokio::io::{DuplexStream, duplex};
use tokio::time::{advance, timeout};

use super::*;
use crate::rounds::{Question, Subject};

/// An upstream that always has more to say is handled first, so each of the other sources needs a turn.
#[tokio::test(start_paused = true)]
async fn what_waits_for_a_host_of_the_stateless_revision_has_its_turn_in_a_flood() {
    let (mut router, _host) = served();
    assert!(router.rounds.ask(Instant::now(), 1, question(), subject));
    router.own_requests.push(ready(OwnAnswer::LetGo));
    advance(Duration::from_secs(1)).await;

    let mut turns = Vec::new();
    for turn in 0..100 {
        router.in_a_row = turn * CROWD;
        turns.extend(router.look_around());
    }

    assert!(turns.iter().any(|it| matches!(it, Woken::RoundsDue)), "the questions of a call");
    assert!(turns.iter().any(|it| matches!(it, Woken::OwnAnswer(_))), "an answer of the upstream");
}

/// A call whose host does not come back would otherwise run for as long as the host does not read.
#[tokio::test(start_paused = true)]
async fn a_round_is_due_though_the_host_does_not_read() {
    let (mut router, _host) = served();
    while !router.outbox.is_full() {
        router.outbox.notification(&"x".repeat(1 << 16), None);
    }
    assert!(router.rounds.ask(Instant::now(), 1, question(), subject));

    let waiting = async {
        loop {
            match router.wait().await {
                Woken::Written(Ok(())) => {}
                woken => break woken,
            }
        }
    };
    let woken = timeout(Duration::from_secs(3600), waiting).await;

    assert!(matches!(woken, Ok(Woken::RoundsDue)));
}

/// Returns a router between a host that neither writes nor reads and an upstream that never answers.
fn served() -> (Router, [DuplexStream; 2]) {
    struct Silent;

    impl Transport for Silent {
        fn perform(&self, _: TransportRequest) -> BoxFuture<'static, Result<Reply, Failure>> {
            pending().boxed()
        }
    }

    let client = Client::builder("http://server.test/mcp").transport(Silent).build().unwrap();
    let ((said, source), (heard, sink)) = (duplex(64), duplex(64));
    let (_, asks) = Gauge::new(client.clone());
    let settings = Settings::new(client);
    (Router::new(settings, asks, Box::new(source), Box::new(sink)), [said, heard])
}

fn subject() -> Subject {
    Subject::of("tools/call", &Json::empty_object())
}

fn question() -> Question {
    let (id, exchange) = (QuestionId::new(1), Some(ExchangeId::new(1)));
    Question { id, exchange, method: "roots/list".into(), params: None }
}
