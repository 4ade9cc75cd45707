//! Plays the calls: several proxies at once, several calls through each, and what hits others alone.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::Result;
use futures_util::StreamExt;
use futures_util::stream;
use serde_json::json;
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep, timeout};

use crate::backend::Backend;
use crate::bridge::BridgeProgram;
use crate::case::{Caller, Case, Ended, Era, Tool};
use crate::install::prepare;
use crate::library;
use crate::proxies::{Setup, Variant, ask};
use crate::relay::Relay;
use crate::report::Report;
use crate::verdict::Played;
use crate::way::{Phase, Way};

/// What to play.
pub(crate) struct RunOrder {
    pub(crate) setups: Vec<&'static Setup>,
    pub(crate) ways: Vec<Way>,
    pub(crate) callers: Vec<Caller>,
    /// The program `ridethrough`.
    pub(crate) program: PathBuf,
    /// A folder for the proxies, which is removed afterwards.
    pub(crate) folder: PathBuf,
}

/// Plays all calls.
pub(crate) async fn run(order: &RunOrder) -> Result<Report> {
    let (setups, skipped) = prepare(order.setups.clone()).await?;
    let run = Run {
        order,
        done: AtomicUsize::new(0),
        all: setups.len() * order.ways.len() * order.callers.len() * Tool::ALL.len() * ERAS.len(),
        bridges: Semaphore::new(BRIDGES_AT_ONCE),
    };
    let indexed = setups.into_iter().enumerate();
    let playing = stream::iter(indexed).map(|(index, setup)| run.play_setup(index, setup));
    let playing = playing.buffered(PROXIES_AT_ONCE).collect::<Vec<_>>();
    let played: Result<Vec<_>> = tokio::select! {
        played = playing => played.into_iter().collect(),
        () = run.tell() => unreachable!("it tells for ever"),
    };
    Ok(Report { played: played?.concat(), skipped })
}

struct Run<'a> {
    order: &'a RunOrder,
    done: AtomicUsize,
    all: usize,
    /// A bridge is a process each, which starts and ends within seconds.
    bridges: Semaphore,
}

/// A proxy between a relay and a backend.
struct Stage {
    label: String,
    backend: Backend,
    proxy: u16,
    relay: Relay,
    bridge: BridgeProgram,
}

impl Run<'_> {
    async fn play_setup(&self, index: usize, setup: &'static Setup) -> Result<Vec<Played>> {
        let folder = self.order.folder.join(index.to_string());
        let backend = Backend::start().await?;
        let proxy = setup.start(folder.clone(), backend.port()).await?;
        let relay = Relay::start(proxy.port()).await?;
        let home = folder.join("home");
        let bridge = BridgeProgram { path: self.order.program.clone(), home };
        let stage = Stage { label: setup.label(), backend, proxy: proxy.port(), relay, bridge };
        let mut played = Vec::new();
        for phase in [Phase::Together, Phase::Alone, Phase::Last] {
            let cases = cases(self.order).into_iter();
            let cases = cases.filter(|it| it.way.phase() == phase);
            played.extend(self.play(&stage, cases.collect(), at_once(setup, phase)).await);
        }
        Ok(played)
    }

    async fn play(&self, stage: &Stage, cases: Vec<Case>, at_once: usize) -> Vec<Played> {
        let playing = stream::iter(cases).map(|case| self.play_case(stage, case));
        playing.buffer_unordered(at_once).collect().await
    }

    async fn play_case(&self, stage: &Stage, case: Case) -> Played {
        let url = stage.relay.url(case.era.path());
        let (ended, took) = match case.caller {
            Caller::Bridge => {
                let _place = self.bridges.acquire().await;
                let began = Instant::now();
                (stage.bridge.call(&url, &case).await, began.elapsed())
            }
            Caller::Library => {
                let began = Instant::now();
                (library::call(&url, &case).await, began.elapsed())
            }
        };
        // Both are read before the judge itself sends a request.
        let sends = stage.relay.seen().sends(&case.key);
        let (received, runs) = (stage.backend.received(&case.key), stage.backend.runs(&case.key));
        let is_read = case.tool == Tool::Look && !matches!(ended, Ended::Answered(_));
        let second_answered =
            if is_read { Some(answers_again(stage.proxy, &case).await) } else { None };
        self.done.fetch_add(1, Ordering::Relaxed);
        let setup = stage.label.clone();
        Played { setup, case, sends, received, runs, ended, second_answered, took }
    }

    async fn tell(&self) {
        let began = Instant::now();
        loop {
            sleep(Duration::from_secs(2)).await;
            let done = self.done.load(Ordering::Relaxed);
            eprintln!("{done} of {} calls in {} s", self.all, began.elapsed().as_secs());
        }
    }
}

/// Returns how many calls go through one proxy at once.
fn at_once(setup: &Setup, phase: Phase) -> usize {
    match (phase, &setup.variant) {
        (Phase::Alone, _) => 1,
        // A proxy that watches its backend takes it out when many calls fail at once.
        (Phase::Together, Variant::Manual) => CALLS_AT_ONCE / 4,
        _ => CALLS_AT_ONCE,
    }
}

/// Whether the proxy brings the answer to a second request for a read, within the time of a call.
async fn answers_again(proxy: u16, case: &Case) -> bool {
    let params = json!({"name": case.tool.name(), "arguments": case.arguments()});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let body = body.to_string();
    let request = format!(
        "POST {} HTTP/1.1\r\nhost: localhost\r\nuser-agent: intermediaries\r\naccept: application/json, text/event-stream\r\n\
         content-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        Era::Stateless.path(),
        body.len()
    );
    let wanted = format!("looked at {}", case.key);
    let began = Instant::now();
    while began.elapsed() < AGAIN_LIMIT {
        let answer = timeout(AGAIN_LIMIT, ask(proxy, &request)).await;
        if matches!(answer, Ok(Ok(answer)) if answer.contains(&wanted)) {
            return true;
        }
        sleep(Duration::from_millis(200)).await;
    }
    false
}

fn cases(order: &RunOrder) -> Vec<Case> {
    let mut cases = Vec::new();
    for caller in &order.callers {
        for way in &order.ways {
            for era in ERAS {
                for tool in Tool::ALL {
                    // The dot ends the key: no key is the beginning of another.
                    let key = format!("k{}.", cases.len());
                    cases.push(Case { key, way: *way, tool, era, caller: *caller });
                }
            }
        }
    }
    cases
}

const ERAS: [Era; 2] = [Era::Sessions, Era::Stateless];
const PROXIES_AT_ONCE: usize = 6;
const CALLS_AT_ONCE: usize = 24;
const BRIDGES_AT_ONCE: usize = 12;
const AGAIN_LIMIT: Duration = Duration::from_secs(5);
