//! `ridethrough ping`: whether a server is there, what it is, and how long it takes to answer.

use std::process::ExitCode;

use anyhow::Result;
use serde::Serialize;
use tokio::time::Instant;

use super::questions::{Asking, Flags};
use super::{Common, Talk, talk_asked};
use crate::ending::exit::Exit;
use crate::safe;

/// The arguments of `ridethrough ping`.
#[derive(clap::Args)]
pub(crate) struct PingArgs {
    #[command(flatten)]
    common: Common,
    /// How often to ask
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1000))]
    count: u16,
}

pub(super) fn play(args: &PingArgs) -> Result<ExitCode> {
    talk_asked(&args.common, &Flags::default(), Asking::Never, async |talk| {
        ping(talk, args.count).await
    })
}

/// The findings of `ping`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PingResult {
    server: Option<String>,
    revision: &'static str,
    connect_ms: f64,
    ping_ms: Vec<f64>,
}

async fn ping(talk: &Talk, count: u16) -> Result<Exit> {
    let began = Instant::now();
    let server = talk.client.connect().await?;
    let mut found = PingResult {
        server: server.name(),
        revision: server.version.as_str(),
        connect_ms: millis_since(began),
        ping_ms: Vec::new(),
    };
    for _ in 0..count {
        let began = Instant::now();
        talk.timed(talk.client.ping()).await?;
        found.ping_ms.push(millis_since(began));
    }
    let json = || serde_json::to_string(&found).expect("numbers and strings are JSON");
    talk.print(json, |out, _| {
        let name = safe::line(found.server.as_deref().unwrap_or("a server without a name"));
        let PingResult { revision, connect_ms, .. } = &found;
        writeln!(out, "{name} speaks {revision}; connected in {connect_ms:.1} ms")?;
        found.ping_ms.iter().try_for_each(|millis| writeln!(out, "answered in {millis:.1} ms"))
    })?;
    Ok(Exit::Done)
}

/// Returns the time since `began` in milliseconds, to the microsecond.
fn millis_since(began: Instant) -> f64 {
    (began.elapsed().as_secs_f64() * 1e6).round() / 1e3
}
