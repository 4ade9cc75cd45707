//! `ridethrough demo`: five faults from real reports, against the real client, as you watch.
//!
//! Each act (`acts`) has a server of the lab on a socket of this machine and a client with default settings,
//! and reports what happens line by line. A pure check of its own (`judge`) then says whether the promise
//! held. This module only decides the order: play, show, count.

mod act;
mod acts;
mod json;
mod judge;
mod line;
mod record;
mod rival;
mod scene;
mod screen;
mod table;
mod words;

use std::io;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use tokio::runtime;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};

use act::{Act, Played, Show};
use acts::ACTS;
use json::Json;
use judge::ActVerdict;
use line::DemoLine;
use ridethrough_terminal::out::is_colourful;
use screen::Screen;

/// The arguments of `ridethrough demo`.
#[derive(clap::Args)]
pub(crate) struct DemoArgs {
    /// Writes JSON instead: one object a line for each act, and a last one with the totals.
    #[arg(long)]
    json: bool,
}

/// Plays every act. The exit code is 0 only if every promise held.
pub(crate) fn play(args: &DemoArgs) -> Result<ExitCode> {
    let mut show: Box<dyn Show> = if args.json {
        Box::new(Json::new(io::stdout()))
    } else {
        Box::new(Screen::new(io::stdout(), is_colourful(&io::stdout())))
    };
    let runtime = runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("no threads could be started to run the demo on")?;
    let played = runtime.block_on(perform(&ACTS, show.as_mut()));
    // Servers of an act that did not end are of no interest any more.
    runtime.shutdown_background();
    played.map(exit).or_else(forgive)
}

fn exit(is_good: bool) -> ExitCode {
    if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Turns a closed stdout into success: a reader that has seen enough, such as `head`, is no failure.
fn forgive(error: anyhow::Error) -> Result<ExitCode> {
    match error.downcast_ref::<io::Error>() {
        Some(io) if io.kind() == io::ErrorKind::BrokenPipe => Ok(ExitCode::SUCCESS),
        _ => Err(error),
    }
}

/// Plays these acts, and returns whether every promise held.
async fn perform(acts: &'static [Act], show: &mut dyn Show) -> Result<bool> {
    let began = Instant::now();
    show.begin(acts)?;
    let mut all = Vec::new();
    for act in acts {
        show.raise(all.len() + 1, act)?;
        let limit = LONGEST.min(WHOLE.saturating_sub(began.elapsed()));
        let played = play_act(act, limit, show).await?;
        show.lower(&played)?;
        all.push(played);
    }
    show.close(&all, began.elapsed())?;
    Ok(all.iter().all(|played| played.verdict.is_held()))
}

/// Plays one act and shows its lines as they come.
async fn play_act(act: &'static Act, limit: Duration, show: &mut dyn Show) -> Result<Played> {
    let began = Instant::now();
    let (tell, mut told) = mpsc::unbounded_channel();
    // In a task of its own: however slowly the lines are taken, the act keeps its time.
    let mut acting = tokio::spawn(timeout(limit, (act.play)(tell)));
    let mut lines = Vec::new();
    let ended = loop {
        tokio::select! {
            biased;
            Some(line) = told.recv() => {
                sleep(GATHER).await;
                let at_once = gather(line, &mut told);
                show.lines(&at_once)?;
                lines.extend(at_once);
            }
            ended = &mut acting => break ended.context("an act of the demo broke off")?,
        }
    };
    let (verdict, ends) = match ended {
        Ok(record) => {
            let record = record.context(act.name)?;
            ((act.judge)(&record), record.ends)
        }
        Err(_) => (ActVerdict::endless(limit), Vec::new()),
    };
    Ok(Played { act, lines, ends, verdict, took: began.elapsed() })
}

/// Returns this line and those that wait behind it, in order of time: the client's lines arrive through a
/// watcher, and so late.
fn gather(first: DemoLine, told: &mut mpsc::UnboundedReceiver<DemoLine>) -> Vec<DemoLine> {
    let waiting = std::iter::from_fn(|| told.try_recv().ok());
    let mut lines: Vec<_> = std::iter::once(first).chain(waiting).collect();
    lines.sort_by_key(|line| line.at);
    lines
}

/// How long lines are collected before they are shown, so that ten callers with one outcome are one line.
const GATHER: Duration = Duration::from_millis(40);

/// The limit for one act. By the client's own limits the longest takes 23 s.
const LONGEST: Duration = Duration::from_secs(32);

/// The limit for the whole demo: it ends in under a minute even if the client hangs.
const WHOLE: Duration = Duration::from_secs(58);

#[cfg(test)]
mod tests;
