//! The section about one scenario: why it matters, and the result of each client.

use super::overview::{FIGURES, figures};
use super::{Row, log, said, verdict};
use crate::page::Markup;
use crate::report::timeline::timeline;
use crate::report::words::{colourless, shortened};
use crate::scenario::Level;
use crate::score::{Finding, Score, Verdict};

pub(super) fn section(page: &mut Markup, row: &Row<'_>) {
    let marks = verdict::marks(row.scores.iter().flatten().map(|(_, score)| *score));
    page.element("section", &[("class", &format_args!("item {marks}"))], |page| {
        if !row.is_alone() {
            page.element("h3", &[("id", &format_args!("{}-0", row.id))], |page| {
                page.words("b", &[], row.id).text(" ").text(row.title);
            });
            why(page, row.why);
        }
        for (place, score) in row.scores.iter().enumerate() {
            if let Some((client, score)) = score {
                run(page, row, &row.anchor(place), client, score);
            }
        }
    });
}

/// Writes the result of one client: folded unless a check failed.
fn run(page: &mut Markup, row: &Row<'_>, anchor: &str, client: &str, score: &Score) {
    let word = score.verdict.word();
    let class = format!("run {word}");
    let content = |page: &mut Markup| {
        page.element("summary", &[], |page| {
            verdict::badge(page, score.verdict);
            page.element("span", &[("class", &"title")], |page| {
                if row.is_alone() {
                    page.words("b", &[], row.id).text(" ").text(row.title);
                } else {
                    page.words("b", &[], client);
                }
            });
            chips(page, score);
        });
        // A link to an element inside opens the folded section.
        page.element("div", &[("class", &"body"), ("id", &anchor)], |page| body(page, row, score));
    };
    if score.verdict == Verdict::Pass {
        page.element("details", &[("class", &class)], content);
    } else {
        page.element("details", &[("class", &class), ("open", &"")], content);
    }
}

fn chips(page: &mut Markup, score: &Score) {
    page.element("span", &[("class", &"chips")], |page| {
        for (name, figure) in FIGURES.iter().zip(figures(score)) {
            page.element("span", &[], |page| {
                page.words("b", &[], figure).text(" ").text(name);
            });
        }
    });
}

fn body(page: &mut Markup, row: &Row<'_>, score: &Score) {
    if row.is_alone() {
        why(page, row.why);
    }
    page.element("div", &[("class", &"split")], |page| {
        page.element("div", &[], |page| {
            page.words("h4", &[], "What was checked");
            page.element("ul", &[("class", &"checks")], |page| {
                score.faults().for_each(|finding| check(page, finding));
                score.findings.iter().filter(|it| it.held).for_each(|it| check(page, it));
            });
        });
        page.element("div", &[], |page| {
            page.words("h4", &[], "What happened");
            timeline(page, score);
            said::draw(page, score);
        });
    });
    said::stderr(page, score);
    log::draw(page, score);
}

fn why(page: &mut Markup, text: &str) {
    page.element("p", &[("class", &"why")], |page| page.prose(text));
}

fn check(page: &mut Markup, finding: &Finding) {
    let (verdict, word) = match (finding.held, finding.level) {
        (true, _) => (Verdict::Pass, "held"),
        (false, Level::Must) => (Verdict::Fail, "broken"),
        (false, Level::Ideal) => (Verdict::Soft, "missed"),
    };
    let level = match finding.level {
        Level::Ideal => "ideal",
        Level::Must => "must",
    };
    page.element("li", &[("class", &verdict.word())], |page| {
        verdict::shape(page, verdict);
        page.element("div", &[], |page| {
            page.prose(&finding.that);
            page.text(" ");
            page.words("small", &[], format_args!("{level}, {word}"));
            if !finding.evidence.is_empty() {
                let evidence = shortened(&colourless(&finding.evidence), MOST_EVIDENCE);
                page.words("pre", &[], evidence);
            }
        });
    });
}

const MOST_EVIDENCE: usize = 1500;
