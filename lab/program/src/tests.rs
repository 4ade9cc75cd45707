//! Our own client in every scenario, over pipes and in paused time: hours of waiting pass in moments, and
//! every run is equal.

use std::sync::Arc;

use ridethrough_lab::contestant::Inside;
use ridethrough_lab::run::run_on;
use ridethrough_lab::scenario::{Group, Scenario, Scenarios};
use ridethrough_lab::score::{Score, Verdict};
use ridethrough_lab::stage::{Stage, StageTransport};

use super::drive::play_script;
use super::pipes::{client_on, login_on};
use super::verdicts::told;

#[tokio::test(start_paused = true)]
async fn our_client_passes_every_scenario_without_a_soft_one() {
    let scenarios = Scenarios::ours().unwrap();
    assert!(scenarios.all().len() >= 100, "{} scenarios", scenarios.all().len());
    let mut missed = String::new();
    for scenario in scenarios.all() {
        let score = put_through(scenario).await;
        if score.verdict != Verdict::Pass {
            missed += &told(&score);
        }
    }

    assert!(missed.is_empty(), "{missed}");
}

#[test]
fn the_pages_say_how_many_scenarios_there_are() {
    let number = Scenarios::ours().unwrap().all().len();
    let page = include_str!("../../../README.md");

    assert!(page.contains(&format!("through {number} faults")), "{number}");
    assert!(page.contains(&format!("{number} scenarios")), "{number}");
}

#[test]
fn every_group_that_the_lab_promises_has_scenarios() {
    let scenarios = Scenarios::ours().unwrap();
    let has = |group| scenarios.all().iter().any(|it| it.group() == Some(group));

    let empty: Vec<_> = Group::ALL.into_iter().filter(|group| !has(*group)).collect();

    assert_eq!(empty, []);
}

async fn put_through(scenario: &Scenario) -> Score {
    let stage = Arc::new(Stage::open(scenario, StageTransport::Pipes).await.unwrap());
    let at = stage.clone();
    let client = Inside(move |_url, script, said: tokio::sync::mpsc::UnboundedSender<String>| {
        let stage = at.clone();
        Box::pin(async move {
            let tell = |line| {
                let text = serde_json::to_string(&line)?;
                said.send(text).map_err(std::io::Error::other)
            };
            let login = login_on(&stage);
            play_script(|access| access.on(client_on(&stage)), login, script, tell).await.unwrap();
        }) as futures_util::future::BoxFuture<'static, ()>
    });
    run_on(&stage, scenario, &client).await
}
