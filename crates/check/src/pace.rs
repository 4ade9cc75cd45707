//! How fast the server answers, and whether it keeps its connections open.

use std::ops::RangeInclusive;
use std::time::Duration;

use ridethrough::probe::keep_alive;
use serde_json::Value;

use crate::finding::{Finding, Subject};
use crate::notes::{Notes, in_millis};
use crate::question::Visit;
use crate::seen::AnswerSeen;
use crate::wire::{Wire, millis};

/// Sends `ping` several times in a row on one connection.
pub(crate) async fn look(wire: &mut Wire, visit: &Visit, notes: &mut Notes) {
    // The state of the earlier connection must not count: this request finds it closed, or makes a new one.
    if let Err(because) = ping(wire, visit).await {
        return notes.add(unknown(&because));
    }
    let (closed, lingering) = (wire.closed, wire.lingering);
    let mut times = Vec::new();
    let mut gaps = Vec::new();
    let mut rests = None;
    for _ in 0..PINGS {
        // Each of those costs a second, and a few show as much as ten.
        if wire.lingering - lingering >= ENOUGH {
            break;
        }
        match ping(wire, visit).await {
            Ok(seen) => {
                rests = keep_alive(&seen.headers).map(|it| it.as_secs()).or(rests);
                times.push(seen.took);
                gaps.push(seen.took.saturating_sub(seen.head_took));
            }
            Err(because) => return notes.add(unknown(&because)),
        }
    }
    let asked = times.len();
    tell_times(times, notes);
    notes.findings.extend(judge_gaps(&gaps));
    let kept = KeptConnections {
        closed: wire.closed - closed,
        lingering: wire.lingering - lingering,
        rests,
    };
    notes.add(kept.judge(asked));
}

/// Returns an answer to `ping`, or why there is none.
async fn ping(wire: &mut Wire, visit: &Visit) -> Result<AnswerSeen, String> {
    // The stateless revision has no `ping`: an answer to `server/discover` shows as much.
    let method = if visit.is_stateless() { "server/discover" } else { "ping" };
    let ask = wire.request_of(visit, method, Value::Null);
    match wire.ask(ask).await {
        Ok(seen) if seen.answer.is_some() => Ok(seen),
        Ok(seen) => {
            Err(seen.unfinished().unwrap_or_else(|| format!("`{method}` brings {}", seen.words())))
        }
        Err(miss) => Err(miss.to_string()),
    }
}

fn unknown(because: &str) -> Finding {
    Subject::Speed.unknown("latency", "how fast it answers", because)
}

pub(crate) fn tell_times(mut times: Vec<Duration>, notes: &mut Notes) {
    notes.figures.ping_ms = times.iter().copied().map(in_millis).collect();
    times.sort_unstable();
    let at = |percent: usize| times[(times.len() * percent).div_ceil(100).max(1) - 1];
    let (middle, high, most) = (at(50), at(90), at(100));
    notes.figures.ping_p50_ms = Some(in_millis(middle));
    notes.figures.ping_p90_ms = Some(in_millis(high));
    notes.figures.ping_max_ms = Some(in_millis(most));
    let what = format!(
        "{} pings: half within {}, nine of ten within {}, the slowest {}",
        times.len(),
        millis(middle),
        millis(high),
        millis(most)
    );
    notes.add(if middle > SLOW {
        Subject::Speed
            .warning("latency", what)
            .advise("look what makes the server slow: `ping` does no work")
    } else {
        Subject::Speed.good("latency", what)
    });
}

/// Looks for pauses of a delayed acknowledgement. Two small writes in a row wait for each other where Nagle's
/// algorithm meets delayed acknowledgements: the second leaves when the other side has waited its 40 ms.
fn judge_gaps(gaps: &[Duration]) -> Option<Finding> {
    let held = gaps.iter().filter(|gap| DELAYED.contains(*gap)).count();
    let is_usual = held * 2 > gaps.len();
    is_usual.then(|| {
        let what = format!(
            "{held} of {} answers come some 40 ms after their heads: it looks like small writes that wait for \
             acknowledgements",
            gaps.len()
        );
        let advice = "set `TCP_NODELAY` on the server's connections, or let it write head and \
             body at once";
        Subject::Speed.warning("delay", what).advise(advice)
    })
}

/// What became of the connections between pings.
struct KeptConnections {
    /// How many the server closed.
    closed: u32,
    /// How many we closed, because a stream went on after its answer.
    lingering: u32,
    /// For how many seconds the server keeps an idle connection, if it says so.
    rests: Option<u64>,
}

impl KeptConnections {
    fn judge(&self, asked: usize) -> Finding {
        let Self { closed, lingering, rests } = self;
        let keep = "let the server, or the proxy before it, keep connections (HTTP keep-alive)";
        match (lingering, closed, rests) {
            (0, 0, None) => {
                Subject::Speed.good("reuse", "keeps its connection from one call to the next")
            }
            (0, 0, Some(seconds @ 0..=2)) => Subject::Speed
                .warning(
                    "reuse",
                    format!(
                        "keeps a connection that rests for {seconds} s \
                     only: nearly every call makes a new one"
                    ),
                )
                .advise(keep),
            (0, 0, Some(seconds)) => Subject::Speed.good(
                "reuse",
                format!(
                    "keeps its connection, {seconds} s when it rests; our client leaves \
                     it a second before"
                ),
            ),
            (0, closed, _) => Subject::Speed
                .warning(
                    "reuse",
                    format!(
                        "closes connections: {closed} in {asked} calls; \
                     each call after that pays for a new one"
                    ),
                )
                .advise(keep),
            (lingering, ..) => Subject::Speed
                .warning(
                    "reuse",
                    format!(
                        "keeps {lingering} of {asked} streams open after \
                     their answers: those connections cannot be used again, and each call \
                     after that pays for a new one"
                    ),
                )
                .advise("let the server end a stream with its answer"),
        }
    }
}

const PINGS: usize = 10;
const ENOUGH: u32 = 3;
/// The time from which an answer counts as slow: longer than any network takes.
const SLOW: Duration = Duration::from_secs(1);
/// The pause that a delayed acknowledgement adds, on Linux.
const DELAYED: RangeInclusive<Duration> = Duration::from_millis(36)..=Duration::from_millis(60);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_that_wait_for_acknowledgements_are_seen_and_slow_answers_are_not() {
        let found = |millis: [u64; 10]| judge_gaps(&millis.map(Duration::from_millis)).is_some();

        assert!(found([1, 42, 42, 43, 41, 42, 42, 40, 44, 41]));
        assert!(!found([0, 1, 0, 42, 0, 0, 41, 0, 0, 0]));
        assert!(!found([200; 10]));
    }
}
