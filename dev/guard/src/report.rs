//! The counts beside those of the baseline.

use std::fmt::Write;

use crate::baseline::{Baseline, Counts};

/// The comparison of one workload.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Verdict {
    name: String,
    before: Option<u64>,
    now: Option<u64>,
}

impl Verdict {
    /// Whether it costs more than is allowed, or is missing on one of the two sides.
    pub(crate) fn is_broken(&self) -> bool {
        let (Some(before), Some(now)) = (self.before, self.now) else { return true };
        now * 100 > before * (100 + ALLOWED_PERCENT)
    }

    fn word(&self) -> &'static str {
        let (Some(before), Some(now)) = (self.before, self.now) else { return "NOT IN BOTH" };
        match () {
            () if self.is_broken() => "COSTS MORE",
            () if now * 100 < before * (100 - ALLOWED_PERCENT) => "costs less: update the baseline",
            () => "as before",
        }
    }
}

/// Compares every workload that is on either side.
pub(crate) fn compare(baseline: &Baseline, counts: &Counts) -> Vec<Verdict> {
    let mut names: Vec<_> = baseline.counts.keys().chain(counts.keys()).collect();
    names.sort();
    names.dedup();
    let verdict = |name: &String| Verdict {
        name: name.clone(),
        before: baseline.counts.get(name).copied(),
        now: counts.get(name).copied(),
    };
    names.into_iter().map(verdict).collect()
}

pub(crate) fn table(verdicts: &[Verdict]) -> String {
    let mut text = format!("{:<18} {:>12} {:>12} {:>8}\n", "instructions", "baseline", "now", "");
    for verdict in verdicts {
        let count = |count: Option<u64>| count.map_or("-".to_owned(), |it| it.to_string());
        let (before, now) = (count(verdict.before), count(verdict.now));
        let (name, change, word) = (&verdict.name, change(verdict), verdict.word());
        let _ = writeln!(text, "{name:<18} {before:>12} {now:>12} {change:>8}  {word}");
    }
    text
}

#[allow(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
fn change(verdict: &Verdict) -> String {
    let (Some(before), Some(now)) = (verdict.before, verdict.now) else { return String::new() };
    format!("{:+.1} %", (now as f64 / before as f64 - 1.0) * 100.0)
}

const ALLOWED_PERCENT: u64 = 10;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::baseline::Maker;

    #[test]
    fn ten_percent_more_is_allowed_and_eleven_are_not() {
        assert_eq!(broken(&[("a", 1000)], &[("a", 1100)]), [false]);
        assert_eq!(broken(&[("a", 1000)], &[("a", 1101)]), [true]);
        assert_eq!(broken(&[("a", 1000), ("b", 10)], &[("a", 500), ("b", 20)]), [false, true]);
    }

    #[test]
    fn a_workload_that_is_on_one_side_only_is_no_success() {
        assert_eq!(broken(&[("a", 1)], &[]), [true]);
        assert_eq!(broken(&[], &[("a", 1)]), [true]);
    }

    fn broken(before: &[(&str, u64)], now: &[(&str, u64)]) -> Vec<bool> {
        let counts = |it: &[(&str, u64)]| it.iter().map(|(k, v)| ((*k).to_owned(), *v)).collect();
        let baseline = Baseline { maker: Maker::this(), counts: counts(before) };
        compare(&baseline, &counts(now)).iter().map(Verdict::is_broken).collect()
    }
}
