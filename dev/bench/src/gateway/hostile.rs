//! Hostile clients beside a polite one: what the gateway holds then, and how long the polite one waits: H1.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::Result;
use ridethrough_testkit::place::ScratchFolder;
use serde_json::json;
use tokio::time::sleep;

use super::attacks::{ATTACKS, Attack};
use super::http_caller::HttpCaller;
use super::measuring::{Rank, percentile, runtime};
use super::proxy::Proxy;
use crate::cost::{micros, number};
use crate::field::Field;
use crate::figure::Figure;
use crate::pace::Pace;
use crate::progress::Progress;
use crate::server::Server;

/// Measures the peak of memory, and the p99 of a polite client under each attack against before it.
pub(crate) fn hostile(_: &Field, pace: Pace) -> Result<Vec<Figure>> {
    let lasts = if pace == Pace::SMOKE { Duration::from_millis(500) } else { ATTACKING };
    let rounds = pace.rounds.min(7);
    let mut figures = Vec::new();
    for attack in ATTACKS {
        let progress = Progress::new(format!("H1: {}", attack.what), rounds);
        let (mut peaks, mut ratios) = (Vec::new(), Vec::new());
        for round in 0..rounds {
            progress.round(round);
            let (peak, ratio) = under(&attack, lasts)?;
            peaks.push(peak);
            ratios.push(ratio);
        }
        let memory = format!("peak memory, {}", attack.what);
        let p99 = format!("p99 of a polite client, {}", attack.what);
        figures.push(Figure::less("H1", memory, "MB").bars(512.0, 256.0).rounds(peaks));
        figures.push(Figure::less("H1", p99, "x").bars(2.0, 1.2).rounds(ratios));
    }
    Ok(figures)
}

/// Returns the peak of memory in megabytes, and by how much the p99 of a polite client grows.
fn under(attack: &Attack, lasts: Duration) -> Result<(f64, f64)> {
    // What is measured is the gateway, and not how a server fares that attackers call, too.
    let (server, attacked) = (Server::start()?, Rank::Attackers.start(Server::start)?);
    let home = ScratchFolder::new("bench")?;
    let entry = |name: &str, server: &Server| {
        (name.to_owned(), json!({ "url": server.url("json", "gateway") }))
    };
    let entries = [entry("bench", &server), entry("attacked", &attacked)];
    let gateway = Rank::Gateway.start(|| Proxy::gateway(home.path(), &entries))?;
    let url = format!("{}/bench", gateway.url);
    let polite = runtime()?;
    let (mut caller, before) = polite.block_on(async {
        let mut caller = HttpCaller::connect(&url).await?;
        caller.begin().await?;
        // The first calls open the link, and load code.
        calls(&mut caller, lasts / 4).await?;
        let before = calls(&mut caller, lasts).await?;
        anyhow::Ok((caller, before))
    })?;
    let (run, target) = (attack.run, format!("{}/attacked", gateway.url));
    // What attackers do ends with the runtime.
    let attackers = thread::spawn(move || -> Result<()> {
        Rank::Attackers.take()?;
        let runtime = runtime()?;
        runtime.block_on(async {
            run(&target);
            sleep(lasts + STARTING).await;
        });
        runtime.shutdown_background();
        Ok(())
    });
    thread::sleep(STARTING);
    let during = polite.block_on(calls(&mut caller, lasts));
    // It is over before the figures are read.
    let _ = attackers.join();
    let peak = number(gateway.peak()?) / 1e6;
    Ok((peak, during? / before))
}

/// Calls for a while, and returns the p99 in microseconds.
async fn calls(caller: &mut HttpCaller, lasts: Duration) -> Result<f64> {
    let began = Instant::now();
    let mut times = Vec::new();
    while began.elapsed() < lasts {
        times.push(caller.call("echo").await?);
        sleep(PAUSE).await;
    }
    Ok(micros(percentile(&mut times, 99)))
}

const ATTACKING: Duration = Duration::from_secs(8);
/// Until an attack is under way.
const STARTING: Duration = Duration::from_millis(500);
const PAUSE: Duration = Duration::from_millis(2);
