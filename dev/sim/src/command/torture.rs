//! The command `torture`: plays the points, prints what was broken and the command that shows it again.

use std::io::{self, Write};

use anyhow::Result;
use clap::builder::PossibleValuesParser;
use ridethrough_sim::net::Harm;
use ridethrough_sim::torture::{
    BREAKS, PROTOCOLS, Point, TorturePlan, TortureSummary, WAYS, all, run, run_point,
};
use serde_json::json;

use super::ticker::Ticker;

/// Cut every scripted exchange at every byte
#[derive(clap::Args)]
pub(crate) struct TortureArgs {
    /// Play every N-th point only
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    every: u64,
    /// Play this exchange only
    #[arg(long, value_name = "NAME", value_parser = names(all().map(|it| it.name)))]
    exchange: Option<String>,
    /// Play over this protocol only
    #[arg(long, value_parser = names(PROTOCOLS.map(|(name, _)| name)))]
    protocol: Option<String>,
    /// Name the exchanges, and play nothing
    #[arg(long)]
    list: bool,
    /// Print the summary as JSON
    #[arg(long)]
    json: bool,
    /// Play one point: cut this connection; the first is 0
    #[arg(long, value_name = "N", requires_all = ["exchange", "protocol", "way", "at", "breaks"])]
    dial: Option<u64>,
    /// Count the bytes that go this way
    #[arg(long, requires = "dial", value_parser = names(WAYS.map(|(name, _)| name)))]
    way: Option<String>,
    /// Cut after so many bytes
    #[arg(long, value_name = "BYTES", requires = "dial")]
    at: Option<u64>,
    /// Cut so
    #[arg(long = "break", requires = "dial", value_parser = names(BREAKS.map(|(name, _)| name)))]
    breaks: Option<String>,
}

impl TortureArgs {
    pub(super) fn play(self) -> Result<bool> {
        let out = &mut io::stdout().lock();
        if self.list {
            for exchange in all() {
                writeln!(out, "{}", exchange.name)?;
            }
            return Ok(true);
        }
        let ticker = Ticker::start();
        let summary = match self.point() {
            Some(point) => run_point(&point),
            None => run(&self.plan(), |done, points| {
                ticker.tell(done as u64, points as u64, || format!("{done} of {points} points"));
            }),
        };
        let seconds = ticker.end();
        if self.json {
            writeln!(out, "{}", as_json(&summary, seconds))?
        } else {
            tell(out, &summary, seconds)?
        }
        Ok(summary.violations.is_empty())
    }

    fn plan(&self) -> TorturePlan {
        TorturePlan {
            every: usize::try_from(self.every).unwrap_or(usize::MAX),
            exchange: self.exchange.clone(),
            protocol: chosen(&PROTOCOLS, self.protocol.as_deref()),
            ..TorturePlan::default()
        }
    }

    fn point(&self) -> Option<Point> {
        let exchange = all().find(|it| Some(it.name) == self.exchange.as_deref())?.name;
        let protocol = chosen(&PROTOCOLS, self.protocol.as_deref())?;
        let way = chosen(&WAYS, self.way.as_deref())?;
        let breaks = chosen(&BREAKS, self.breaks.as_deref())?;
        let harm = Harm { way, after: self.at?, breaks };
        Some(Point { exchange, protocol, dial: self.dial?, harm })
    }
}

fn tell(out: &mut impl Write, summary: &TortureSummary, seconds: f64) -> io::Result<()> {
    for violation in summary.violations.iter().take(MOST_TOLD) {
        writeln!(out, "violation: {}\n  again: {}", violation.what, violation.again)?;
    }
    writeln!(out, "{summary} ({seconds:.1} s)")
}

fn as_json(summary: &TortureSummary, seconds: f64) -> serde_json::Value {
    let TortureSummary { exchanges, points, violations } = summary;
    let violations: Vec<_> =
        violations.iter().map(|it| json!({ "what": it.what, "again": it.again })).collect();
    json!({ "exchanges": exchanges, "points": points, "seconds": seconds, "violations": violations })
}

fn chosen<T: Copy>(names: &[(&str, T)], name: Option<&str>) -> Option<T> {
    names.iter().find(|(it, _)| Some(*it) == name).map(|(_, value)| *value)
}

fn names(names: impl IntoIterator<Item = &'static str>) -> PossibleValuesParser {
    PossibleValuesParser::new(names.into_iter().collect::<Vec<_>>())
}

/// How many violations are printed one by one.
const MOST_TOLD: usize = 20;
