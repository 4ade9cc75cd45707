//! One of ten servers is sick: what its neighbours' callers notice: G5.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::Result;
use futures_util::future::{join_all, try_join_all};
use serde_json::json;
use tokio::time::{sleep, timeout};

use super::http_caller::HttpCaller;
use super::measuring::{Rank, percentile, runtime};
use super::proxy::Proxy;
use crate::cost::micros;
use crate::field::Field;
use crate::figure::Figure;
use crate::host::{Home, Progress};
use crate::pace::Pace;
use crate::server::{Server, Sickness};

/// Measures the p99 of calls at nine servers, while a tenth is called that is sick, against while it is not.
pub(crate) fn neighbours(_: &Field, pace: Pace) -> Result<Vec<Figure>> {
    let home = Home::new()?;
    let servers = (0..SERVERS).map(|_| Server::start()).collect::<Result<Vec<_>>>()?;
    let entry = |(place, server): (usize, &Server)| {
        (format!("s{place}"), json!({ "url": server.url("sse", "gateway") }))
    };
    let entries: Vec<_> = servers.iter().enumerate().map(entry).collect();
    let gateway = Rank::Gateway.start(|| Proxy::gateway(home.path(), &entries))?;
    let street = Street { url: gateway.url.clone(), sick: &servers[SERVERS - 1] };
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
        for round in 0..rounds {
            progress.round(round);
            let without = street.p99(Sickness::None, pace.calls)?;
            let with = street.p99(sickness, pace.calls)?;
            ratios.push(with / without);
        }
        let what = format!("p99 of nine servers while a tenth {word}, against without");
        figures.push(Figure::less("G5", what, "x").bars(1.2, 1.05).rounds(ratios));
    }
    Ok(figures)
}

/// A gateway with ten servers, of which the last may be sick.
struct Street<'a> {
    url: String,
    sick: &'a Server,
}

impl Street<'_> {
    /// Returns the p99 of calls at the nine others, in microseconds, while the tenth is called too.
    fn p99(&self, sickness: Sickness, calls: usize) -> Result<f64> {
        self.sick.fall_ill(sickness);
        let is_over = Arc::<AtomicBool>::default();
        let (url, over) = (self.url.clone(), is_over.clone());
        // On a thread of its own, so that what a flood brings does not delay whoever measures.
        let patients = thread::spawn(move || call_the_sick(&url, &over));
        thread::sleep(SETTLING);
        let measured = runtime()?.block_on(self.neighbours(calls));
        is_over.store(true, Ordering::Relaxed);
        self.sick.fall_ill(Sickness::None);
        // How calls to the sick one end is not what is measured here.
        let _ = patients.join();
        let mut times = measured?;
        Ok(micros(percentile(&mut times, 99)))
    }

    async fn neighbours(&self, calls: usize) -> Result<Vec<Duration>> {
        let calling = (0..SERVERS - 1).map(|place| async move {
            let mut caller = HttpCaller::connect(&self.url).await?;
            caller.begin().await?;
            let tool = format!("s{place}_echo");
            // The first opens the link.
            caller.call(&tool).await?;
            let mut times = Vec::new();
            for _ in 0..calls / (SERVERS - 1) {
                times.push(caller.call(&tool).await?);
                sleep(PAUSE).await;
            }
            anyhow::Ok(times)
        });
        Ok(try_join_all(calling).await?.into_iter().flatten().collect())
    }
}

/// Calls the sick server from a few clients, which give up after half a second, until it is over.
fn call_the_sick(url: &str, is_over: &AtomicBool) -> Result<()> {
    let tool = format!("s{}_echo", SERVERS - 1);
    runtime()?.block_on(async {
        let calling = (0..PATIENTS).map(|_| async {
            while !is_over.load(Ordering::Relaxed) {
                let visit = async {
                    let mut caller = HttpCaller::connect(url).await?;
                    caller.begin().await?;
                    while !is_over.load(Ordering::Relaxed) {
                        caller.call(&tool).await?;
                        sleep(PAUSE).await;
                    }
                    anyhow::Ok(())
                };
                // A call that fails or takes too long is made again on another connection.
                let _ = timeout(GIVING_UP, visit).await;
                sleep(PAUSE).await;
            }
        });
        join_all(calling).await;
    });
    Ok(())
}

const SERVERS: usize = 10;
/// Clients that call the tenth server.
const PATIENTS: usize = 4;
/// Between two calls of one client: there is load, and no queue.
const PAUSE: Duration = Duration::from_millis(5);
const GIVING_UP: Duration = Duration::from_millis(500);
/// Until the sickness has been noticed.
const SETTLING: Duration = Duration::from_millis(300);
