//! Our client in every scenario through our gateway, over pipes and in paused time: a server behind the
//! gateway can do no more harm than one without.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use ridethrough::machine::Failure;
use ridethrough::transport::{Connection, Dial, Endpoint, Peek};
use ridethrough::{Client, ClientBuilder, Era};
use ridethrough_lab::adapter::Line;
use ridethrough_lab::contestant::Inside;
use ridethrough_lab::run::run_on;
use ridethrough_lab::scenario::{Scenario, Scenarios};
use ridethrough_lab::score::{Score, Verdict};
use ridethrough_lab::stage::{Stage, StageTransport};
use ridethrough_server::Server;
use tokio::sync::mpsc::UnboundedSender;

use super::{EXEMPT, PATH, exempt, gateway};
use crate::drive::{ScriptAccess, play_script};
use crate::pipes::{client_on, login_on};
use crate::verdicts::{AsBridge, told};

#[tokio::test(start_paused = true)]
async fn a_client_with_sessions_has_its_own_verdicts_through_the_gateway() {
    let missed = missed(Era::Legacy, |id| exempt(id).is_some()).await;

    assert!(missed.is_empty(), "{missed}");
}

#[tokio::test(start_paused = true)]
async fn a_client_without_sessions_has_its_own_verdicts_through_the_gateway() {
    let is_exempt = |id: &str| WITHOUT_SESSIONS.contains(&id) || exempt(id).is_some();
    let missed = missed(Era::Modern, is_exempt).await;

    assert!(missed.is_empty(), "{missed}");
}

#[test]
fn the_page_names_what_is_exempt_and_it_is_little() {
    let page = include_str!("../../../../docs/guides/lab.md");
    let all: Vec<_> = EXEMPT.iter().map(|(id, _)| *id).chain(WITHOUT_SESSIONS).collect();

    for id in &all {
        assert!(page.contains(&format!("| {id} |")), "{id}");
    }
    assert!(all.len() <= 12, "{all:?}");
}

/// Scenarios that are left out for a client without sessions; the page has the reasons.
const WITHOUT_SESSIONS: [&str; 9] = ["A4", "A6", "A7", "D5", "G1", "H3", "H4", "H6", "H8"];

/// What did not hold in the scenarios that are not exempt.
async fn missed(front: Era, is_exempt: impl Fn(&str) -> bool) -> String {
    let mut missed = String::new();
    for scenario in Scenarios::ours().unwrap().all() {
        if is_exempt(&scenario.id) {
            continue;
        }
        let score = put_through(scenario, front).await;
        if score.verdict != Verdict::Pass {
            missed += &told(&score);
        }
    }
    missed
}

async fn put_through(scenario: &Scenario, front: Era) -> Score {
    let stage = Arc::new(Stage::open(scenario, StageTransport::Pipes).await.unwrap());
    let at = stage.clone();
    let client = Inside(move |_url, script, said: UnboundedSender<String>| {
        let stage = at.clone();
        Box::pin(async move {
            let tell = |line: Line| {
                let text = serde_json::to_string(&line)?;
                said.send(text).map_err(std::io::Error::other)
            };
            let begin = |access: ScriptAccess| {
                let stage = stage.clone();
                let server = gateway(move || access.clone().on(client_on(&stage)));
                Ok(client_of(server).eras(front))
            };
            play_script(begin, login_on(&stage), script, tell).await.unwrap();
        }) as BoxFuture<'static, ()>
    });
    run_on(&stage, scenario, &AsBridge(client)).await
}

/// Begins a client of a gateway, over pipes and with a fixed seed.
fn client_of(gateway: Server) -> ClientBuilder {
    Client::builder(&format!("http://localhost{PATH}")).dial(ToGateway(gateway)).seed(7)
}

struct ToGateway(Server);

impl Dial for ToGateway {
    fn dial<'a>(&'a self, _: &'a Endpoint) -> BoxFuture<'a, Result<Connection, Failure>> {
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        let gateway = self.0.clone();
        tokio::spawn(async move { gateway.serve(theirs).await });
        Box::pin(async { Ok(Connection::new(ours, NothingToSee)) })
    }
}

struct NothingToSee;

impl Peek for NothingToSee {
    fn is_quiet(&self) -> bool {
        true
    }
}
