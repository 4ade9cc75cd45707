//! One of ten servers is sick: what its neighbours' callers notice: G5.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::Result;
use futures_util::future::{join_all, try_join_all};
use ridethrough_testkit::place::ScratchFolder;
use serde_json::json;
use tokio::time::{sleep, timeout};

use super::http_caller::HttpCaller;
use super::measuring::{Rank, percentile, runtime};
use super::proxy::Proxy;
use crate::cost::micros;
use crate::field::Field;
use crate::figure::Figure;
use crate::pace::Pace;
use crate::progress::Progress;
use crate::server::{Server, Sickness};

/// Measures the p99 of calls at nine servers, while a tenth is called that is sick, against while it is not.
pub(crate) fn neighbours(_: &Field, pace: Pace) -> Result<Vec<Figure>> {
    let (well, ill) = (Street::open()?, Street::open()?);
    let mut figures = Vec::new();
    for (sickness, word) in [
        (Sickness::Hangs, "hangs"),
        (Sickness::Dies, "dies"),
        (Sickness::Floods, "floods"),
        (Sickness::Lies, "lies"),
    ] {
        // Each takes six seconds and more.
        let rounds = pace.rounds.min(5);
        let progress = Progress::new(format!("G5: one of ten servers {word}"), rounds);
        let mut ratios = Vec::new();
        ill.tenth().fall_ill(sickness);
        for round in 0..rounds {
            progress.round(round);
            let (mut with, mut without) = (Vec::new(), Vec::new());
            // They take turns, so that both share what else goes on in the machine.
            for _ in 0..TURNS {
                without.extend(well.times(pace.calls / TURNS)?);
                with.extend(ill.times(pace.calls / TURNS)?);
            }
            ratios.push(micros(percentile(&mut with, 99)) / micros(percentile(&mut without, 99)));
        }
        let what = format!("p99 of nine servers while a tenth {word}, against without");
        figures.push(Figure::less("G5", what, "x").bars(1.2, 1.05).rounds(ratios));
    }
    Ok(figures)
}

/// A gateway with ten servers, of which the last may be sick. One street stays well: in one that has just recovered,
/// links are still opened again.
struct Street {
    gateway: Proxy,
    servers: Vec<Server>,
    _home: ScratchFolder,
}

impl Street {
    fn open() -> Result<Self> {
        let home = ScratchFolder::new("bench")?;
        let servers = (0..SERVERS).map(|_| Server::start()).collect::<Result<Vec<_>>>()?;
        let entry = |(place, server): (usize, &Server)| {
            (format!("s{place}"), json!({ "url": server.url("sse", "gateway") }))
        };
        let entries: Vec<_> = servers.iter().enumerate().map(entry).collect();
        let gateway = Rank::Gateway.start(|| Proxy::gateway(home.path(), &entries))?;
        Ok(Self { gateway, servers, _home: home })
    }

    fn tenth(&self) -> &Server {
        &self.servers[SERVERS - 1]
    }

    /// Returns how long calls at the nine others take, while the tenth is called too.
    fn times(&self, calls: usize) -> Result<Vec<Duration>> {
        let is_over = Arc::<AtomicBool>::default();
        let (url, over) = (self.gateway.url.clone(), is_over.clone());
        // On a thread of its own, so that what a flood brings does not delay whoever measures.
        let patients = thread::spawn(move || call_the_sick(&url, &over));
        thread::sleep(SETTLING);
        let measured = runtime()?.block_on(self.neighbours(calls));
        is_over.store(true, Ordering::Relaxed);
        // How calls to the sick one end is not what is measured here.
        let _ = patients.join();
        measured
    }

    async fn neighbours(&self, calls: usize) -> Result<Vec<Duration>> {
        let calling = (0..SERVERS - 1).map(|place| async move {
            let mut caller = HttpCaller::connect(&self.gateway.url).await?;
            caller.begin().await?;
            let tool = format!("s{place}_echo");
            // The first opens the link.
            caller.call(&tool).await?;
            let mut times = Vec::new();
            for _ in 0..calls / (SERVERS - 1) {
                times.push(caller.call(&tool).await?);
                sleep(PAUSE).await;
            }
            // A server has 64 links, and each session one of them.
            caller.end().await?;
            anyhow::Ok(times)
        });
        Ok(try_join_all(calling).await?.into_iter().flatten().collect())
    }
}

/// Calls the sick server from a few clients, until it is over.
fn call_the_sick(url: &str, is_over: &AtomicBool) -> Result<()> {
    runtime()?.block_on(async {
        join_all((0..PATIENTS).map(|_| async {
            while !is_over.load(Ordering::Relaxed) {
                // A session whose call failed or took too long is ended, and another begun.
                let _ = visit(url, is_over).await;
                sleep(PAUSE).await;
            }
        }))
        .await;
    });
    Ok(())
}

/// Calls over one session, until a call fails, takes too long, or it is over.
async fn visit(url: &str, is_over: &AtomicBool) -> Result<()> {
    let tool = format!("s{}_echo", SERVERS - 1);
    let mut caller = HttpCaller::connect(url).await?;
    let session = timeout(LONGEST_ANSWER, caller.begin()).await??;
    while !is_over.load(Ordering::Relaxed) {
        if !matches!(timeout(GIVING_UP, caller.call(&tool)).await, Ok(Ok(_))) {
            break;
        }
        sleep(PAUSE).await;
    }
    // Its connection still waits for the answer. Sessions that are left behind would be an attack of another kind.
    let mut caller = HttpCaller::connect(url).await?;
    caller.session = Some(session);
    timeout(LONGEST_ANSWER, caller.end()).await?
}

const SERVERS: usize = 10;
/// How often each street has its turn in a round.
const TURNS: usize = 8;
/// Clients that call the tenth server.
const PATIENTS: usize = 4;
/// Between two calls of one client: there is load, and no queue.
const PAUSE: Duration = Duration::from_millis(5);
const GIVING_UP: Duration = Duration::from_millis(500);
/// For what the gateway answers by itself.
const LONGEST_ANSWER: Duration = Duration::from_secs(5);
/// Until the sickness has been noticed.
const SETTLING: Duration = Duration::from_millis(300);
