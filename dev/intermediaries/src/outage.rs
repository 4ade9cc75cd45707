//! An outage under load: many calls a second through a proxy whose backend goes away and comes back.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use futures_util::StreamExt;
use futures_util::future::join_all;
use futures_util::stream;
use ridethrough::{Client, Error};
use serde_json::json;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, timeout};

use crate::backend::Backend;
use crate::case::{Ended, Era, GRACE, Tool};
use crate::install::prepare;
use crate::library;
use crate::proxies::{Setup, Variant};
use crate::relay::{Relay, Seen};

/// What to play.
pub(crate) struct OutageOrder {
    pub(crate) setups: Vec<&'static Setup>,
    pub(crate) era: Era,
    /// A folder for the proxies.
    pub(crate) folder: PathBuf,
}

/// What was seen of each outage.
pub(crate) struct OutageReport {
    rows: Vec<Outage>,
    skipped: Vec<String>,
}

/// How the backend goes away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Departure {
    /// It answers everything by 503 with a hint for half a second before.
    Announced,
    Sudden,
}

/// What was seen of one outage.
#[derive(Debug, Default)]
struct Outage {
    label: String,
    writes: Tally,
    reads: Tally,
    ran_twice: u32,
    denied: u32,
    /// Writes that were out, or had gone out, when the first refusal arrived, or the first that is no 500.
    doubt_allowed: u32,
    /// When each write that ended in doubt was sent and ended, and what was said of it.
    doubts: Vec<String>,
}

#[derive(Debug, Default)]
struct Tally {
    made: u32,
    answered: u32,
    doubt: u32,
    refused: u32,
    hung: u32,
}

/// What was called, and how late: when each write was due, and how long this machine kept it waiting.
struct Load {
    calls: Vec<Call>,
    pauses: Vec<(Instant, Duration)>,
}

impl Load {
    /// Returns how long this machine may have kept what came then waiting.
    fn pause_at(&self, moment: Instant) -> Duration {
        let is_near = |due: Instant| due + NEAR >= moment && due <= moment + NEAR;
        let near = self.pauses.iter().filter(|(due, _)| is_near(*due));
        near.map(|(_, late)| *late).max().unwrap_or_default()
    }
}

/// A call that has ended.
struct Call {
    tool: Tool,
    key: String,
    ended: Ended,
    at: Instant,
}

/// Plays both forms of the outage through each proxy, two at a time.
pub(crate) async fn run(order: &OutageOrder) -> Result<OutageReport> {
    let (setups, skipped) = prepare(order.setups.clone()).await?;
    // Pages over errors change no outage: their proxies are played with their defaults.
    let setups = setups.into_iter().filter(|it| !matches!(it.variant, Variant::Named(_)));
    let outages = setups.flat_map(|it| [(it, Departure::Sudden), (it, Departure::Announced)]);
    let outages: Vec<_> = outages.enumerate().collect();
    let playing = stream::iter(outages).map(|(index, (setup, departure))| async move {
        let label = match departure {
            Departure::Announced => format!("{}, announced", setup.label()),
            Departure::Sudden => setup.label(),
        };
        eprintln!("{label}: about 15 s");
        play(order, setup, departure, label, &index.to_string()).await
    });
    let rows: Result<Vec<_>> =
        playing.buffered(AT_ONCE).collect::<Vec<_>>().await.into_iter().collect();
    Ok(OutageReport { rows: rows?, skipped })
}

async fn play(
    order: &OutageOrder,
    setup: &Setup,
    departure: Departure,
    label: String,
    folder: &str,
) -> Result<Outage> {
    let mut backend = Backend::start().await?;
    let proxy = setup.start(order.folder.join(folder), backend.port()).await?;
    let relay = Relay::start(proxy.port()).await?;
    let client = Client::new(&relay.url(order.era.path()))?;
    // As the bridge and the gateway do.
    client.keep_connected();
    client.tools().await?;
    let began = Instant::now();
    let (load, outage) = tokio::join!(load(&client), away(&mut backend, relay.seen(), departure));
    outage?;
    Ok(Outage::of(label, began, &load, &backend, relay.seen()))
}

/// Calls for 9 s at an even pace, and waits for all of the calls.
async fn load(client: &Client) -> Load {
    let mut ticks = interval(PACE);
    // A machine that stood still must not make up for it all at once.
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut calls, mut pauses) = (Vec::new(), Vec::new());
    for _ in 0..WRITES {
        let due = ticks.tick().await;
        pauses.push((due, due.elapsed()));
        calls.push(tokio::spawn(call(client.clone(), Tool::Pay, format!("p{}.", calls.len()))));
        if calls.len() % READ_EVERY == 0 {
            calls.push(tokio::spawn(call(
                client.clone(),
                Tool::Look,
                format!("r{}.", calls.len()),
            )));
        }
    }
    Load { calls: join_all(calls).await.into_iter().flatten().collect(), pauses }
}

/// Makes a call with the default patience and the default deadline.
async fn call(client: Client, tool: Tool, key: String) -> Call {
    let arguments = json!({"key": key, "pause": WORK.as_millis()});
    let outcome: Result<Result<_, Error>, _> =
        timeout(PATIENCE + 2 * GRACE, client.call_tool(tool.name(), arguments).into_future()).await;
    let ended = outcome.map_or(Ended::Hung, library::of);
    Call { tool, key, ended, at: Instant::now() }
}

/// Takes the backend away from second 2 to 7.
async fn away(backend: &mut Backend, seen: &Seen, departure: Departure) -> Result<()> {
    sleep(BEFORE - NOTICE).await;
    if departure == Departure::Announced {
        seen.watch_for_refusal();
        backend.announce_end();
    }
    sleep(NOTICE).await;
    seen.watch_for_refusal();
    backend.leave();
    sleep(OUTAGE).await;
    Ok(backend.come_back().await?)
}

impl Outage {
    fn of(label: String, began: Instant, load: &Load, backend: &Backend, seen: &Seen) -> Self {
        let mut row = Self { label, ..Self::default() };
        for call in &load.calls {
            match call.tool {
                Tool::Look => row.reads.add(&call.ended),
                Tool::Pay => row.add_write(call, load, backend, seen),
            }
            if let (Tool::Pay, Ended::Doubt(said)) = (call.tool, &call.ended) {
                let seconds = |at: Instant| at.saturating_duration_since(began).as_secs_f64();
                let sent = seen.first_sent(&call.key).map_or(f64::NAN, seconds);
                let said = said.lines().next().unwrap_or_default();
                let ended = seconds(call.at);
                row.doubts
                    .push(format!("{}sent {sent:.3} s, ended {ended:.3} s: {said}", call.key));
            }
        }
        row
    }

    fn add_write(&mut self, call: &Call, load: &Load, backend: &Backend, seen: &Seen) {
        self.writes.add(&call.ended);
        let runs = backend.runs(&call.key);
        self.ran_twice += u32::from(runs > 1 && seen.sends(&call.key) > 1);
        self.denied += u32::from(runs > 0 && matches!(call.ended, Ended::Refused(_)));
        let was_out = |refused: Instant| {
            let known = refused + ARRIVAL + load.pause_at(refused);
            seen.first_sent(&call.key).is_some_and(|sent| sent <= known) && call.at >= refused
        };
        let met = seen.refused().is_some_and(was_out) || seen.away().is_some_and(was_out);
        self.doubt_allowed += u32::from(met);
    }

    const fn is_good(&self) -> bool {
        let Self { writes, reads, ran_twice, denied, doubt_allowed, .. } = self;
        let hung = writes.hung + reads.hung;
        let broken = *ran_twice + *denied + hung + writes.refused;
        broken == 0 && writes.doubt <= *doubt_allowed
    }
}

impl Tally {
    fn add(&mut self, ended: &Ended) {
        self.made += 1;
        match ended {
            Ended::Answered(_) => self.answered += 1,
            Ended::Doubt(_) => self.doubt += 1,
            Ended::Hung | Ended::NotMade(_) => self.hung += 1,
            Ended::Refused(_) => self.refused += 1,
        }
    }
}

impl OutageReport {
    /// Whether every promise was kept.
    pub(crate) fn is_good(&self) -> bool {
        self.rows.iter().all(Outage::is_good)
    }
}

impl fmt::Display for OutageReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "| outage of 5 s behind | writes | answered | in doubt | of at most | refused | ran twice | denied | hung | reads answered |"
        )?;
        writeln!(f, "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|")?;
        for Outage { label, writes, reads, ran_twice, denied, doubt_allowed, .. } in &self.rows {
            let Tally { made, answered, doubt, refused, hung } = writes;
            writeln!(
                f,
                "| {label} | {made} | {answered} | {doubt} | {doubt_allowed} | {refused} | {ran_twice} | {denied} | {} | {} of {} |",
                hung + reads.hung,
                reads.answered,
                reads.made
            )?;
        }
        writeln!(f)?;
        for row in self.rows.iter().filter(|it| !it.is_good()) {
            for doubt in &row.doubts {
                writeln!(f, "- {}: {doubt}", row.label)?;
            }
        }
        for skipped in &self.skipped {
            writeln!(f, "- {skipped}")?;
        }
        let verdict =
            if self.is_good() { "every promise was kept" } else { "a promise was broken" };
        write!(f, "intermediaries: {} outages: {verdict}", self.rows.len())
    }
}

/// 100 writes a second.
const PACE: Duration = Duration::from_millis(10);
/// Every fifth call is a read.
const READ_EVERY: usize = 5;
/// 9 s of them.
const WRITES: u32 = 900;
const BEFORE: Duration = Duration::from_secs(2);
const NOTICE: Duration = Duration::from_millis(500);
const OUTAGE: Duration = Duration::from_secs(5);
/// How long a tool works.
const WORK: Duration = Duration::from_millis(20);
/// How long a call waits by default for a server that was there before.
const PATIENCE: Duration = Duration::from_secs(30);
/// What a refusal takes from the relay into the client: half a pace.
const ARRIVAL: Duration = Duration::from_millis(5);
/// Around a refusal, how far off a pause of this machine is one that it waited for.
const NEAR: Duration = Duration::from_secs(1);
/// More would not leave each of them the machine that it needs.
const AT_ONCE: usize = 2;
