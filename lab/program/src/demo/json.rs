//! The demo for machines: an object a line for each act, and a last one with the totals.

use std::io::{self, Write};
use std::time::Duration;

use serde_json::{Value, json};

use super::act::{Act, Played, Show};
use super::line::DemoLine;
use super::record::CallEnd;
use super::rival::Scorecard;

/// Shows the demo as JSON.
pub(super) struct Json<W> {
    out: W,
    others: Scorecard,
}

impl<W: Write> Json<W> {
    pub(super) fn new(out: W) -> Self {
        Self { out, others: Scorecard::measured() }
    }

    /// Returns the writer.
    #[cfg(test)]
    pub(super) fn into_inner(self) -> W {
        self.out
    }

    fn write(&mut self, object: &Value) -> io::Result<()> {
        writeln!(self.out, "{object}")?;
        self.out.flush()
    }
}

impl<W: Write> Show for Json<W> {
    fn begin(&mut self, _: &[Act]) -> io::Result<()> {
        Ok(())
    }

    fn raise(&mut self, _: usize, _: &Act) -> io::Result<()> {
        Ok(())
    }

    fn lines(&mut self, _: &[DemoLine]) -> io::Result<()> {
        Ok(())
    }

    fn lower(&mut self, played: &Played) -> io::Result<()> {
        let Played { act, lines, ends, verdict, took } = played;
        let events: Vec<_> = lines.iter().map(of_line).collect();
        let calls: Vec<_> = ends.iter().map(of_end).collect();
        self.write(&json!({
            "act": act.name,
            "breaks": act.breaks,
            "report": act.report,
            "promise": act.promise,
            "events": events,
            "calls": calls,
            "outcome": verdict.outcome,
            "held": verdict.is_held(),
            "broken": verdict.broken,
            "elapsed_ms": millis(*took),
            "scenario": act.scenario,
            "others": self.others.said_of(act.scenario),
        }))
    }

    fn close(&mut self, all: &[Played], took: Duration) -> io::Result<()> {
        let held = all.iter().filter(|played| played.verdict.is_held()).count();
        self.write(&json!({
            "acts": all.len(),
            "held": held,
            "broken": all.len() - held,
            "elapsed_ms": millis(took),
        }))
    }
}

fn of_line(line: &DemoLine) -> Value {
    json!({"at_ms": millis(line.at), "who": line.who.word(), "what": line.what})
}

fn of_end(end: &CallEnd) -> Value {
    let failed = end.result.as_ref().err();
    json!({
        "call": end.name,
        "elapsed_ms": millis(end.took),
        "answer": end.result.as_ref().ok(),
        "error": failed.map(|failed| &failed.report),
        "may_have_run": failed.map(|failed| failed.may_have_run),
    })
}

/// Returns a time in milliseconds, to the microsecond.
fn millis(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}
