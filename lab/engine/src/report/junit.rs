//! A scorecard as JUnit XML: a test suite for each group, a test for each scenario.

use std::fmt::Write;

use super::words::colourless;
use crate::page::Markup;
use crate::scenario::{Group, Level};
use crate::score::{Finding, Score, Scorecard, Verdict};

/// Returns a JUnit report: a suite for each group, a case for each scenario. A scenario that passed softly is
/// a test that passed, and says so in its output.
pub fn junit(card: &Scorecard) -> String {
    let mut xml = Markup::default();
    xml.source("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let scores: Vec<_> = card.scores.iter().collect();
    let totals = JunitTotals::of(&scores);
    let name = format!("ridethrough lab: {}", card.client);
    let seconds = card.elapsed_ms / 1e3;
    let attributes: [(_, &dyn std::fmt::Display); 5] = [
        ("name", &name),
        ("tests", &totals.tests),
        ("failures", &totals.failures),
        ("errors", &0),
        ("time", &format!("{seconds:.3}")),
    ];
    xml.element("testsuites", &attributes, |xml| {
        xml.source("\n");
        for group in Group::ALL {
            let is_here = |score: &&Score| score.id.starts_with(group.letter());
            let scores: Vec<_> = card.scores.iter().filter(is_here).collect();
            if !scores.is_empty() {
                suite(xml, &card.client, group, &scores);
            }
        }
    });
    xml.source("\n");
    xml.into_string()
}

struct JunitTotals {
    tests: usize,
    failures: usize,
    seconds: f64,
}

impl JunitTotals {
    fn of(scores: &[&Score]) -> Self {
        Self {
            tests: scores.len(),
            failures: scores.iter().filter(|it| it.verdict == Verdict::Fail).count(),
            seconds: scores.iter().map(|it| it.figures.elapsed_ms).sum::<f64>() / 1e3,
        }
    }
}

fn suite(xml: &mut Markup, client: &str, group: Group, scores: &[&Score]) {
    let totals = JunitTotals::of(scores);
    let name = format!("{} {}", group.letter(), group.title());
    let attributes: [(_, &dyn std::fmt::Display); 5] = [
        ("name", &name),
        ("tests", &totals.tests),
        ("failures", &totals.failures),
        ("errors", &0),
        ("time", &format!("{:.3}", totals.seconds)),
    ];
    xml.element("testsuite", &attributes, |xml| {
        xml.source("\n");
        for score in scores {
            case(xml, &format!("{client}.{}", group.letter()), score);
        }
    });
    xml.source("\n");
}

fn case(xml: &mut Markup, class: &str, score: &Score) {
    let name = format!("{} {}", score.id, score.title);
    let seconds = format!("{:.3}", score.figures.elapsed_ms / 1e3);
    xml.element("testcase", &[("classname", &class), ("name", &name), ("time", &seconds)], |xml| {
        let broken: Vec<_> = score.faults().filter(|it| it.level == Level::Must).collect();
        if let Some(worst) = broken.first() {
            // One element for all of them, because several readers keep only the first.
            let what = [("message", &worst.that as _), ("type", &"must" as _)];
            xml.words("failure", &what, told(&broken));
        }
        let missed: Vec<_> = score.faults().filter(|it| it.level == Level::Ideal).collect();
        if !missed.is_empty() {
            let how = if broken.is_empty() { "passed softly" } else { "failed" };
            xml.words("system-out", &[], format!("{how}; missed ideals:\n{}", told(&missed)));
        }
        if !broken.is_empty() && !score.stderr.is_empty() {
            xml.words("system-err", &[], colourless(&score.stderr));
        }
    });
    xml.source("\n");
}

/// Checks that did not hold, each with its evidence.
fn told(findings: &[&Finding]) -> String {
    let mut text = String::new();
    for finding in findings {
        // Writing into a string cannot fail.
        let _ = writeln!(text, "{}\n  {}", finding.that, colourless(&finding.evidence));
    }
    text
}
