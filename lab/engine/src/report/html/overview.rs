//! The top of the page: the clients, the date, the totals, and the table.

use std::fmt::Display;

use super::{Row, verdict};
use crate::page::Markup;
use crate::report::words::Time;
use crate::scenario::Group;
use crate::score::{Score, Scorecard, Verdict};

pub(super) fn draw(
    page: &mut Markup,
    heading: &str,
    cards: &[Scorecard],
    scenarios: &[Row<'_>],
    made: &str,
) {
    page.element("header", &[], |page| {
        page.words("p", &[("class", &"eyebrow")], "ridethrough fault lab");
        page.words("h1", &[], heading);
        page.words("p", &[("class", &"made")], made);
        for card in cards {
            totals(page, card);
        }
        filter(page, scenarios);
        table(page, cards, scenarios);
        page.source(KEY);
    });
}

/// Writes the result of one client, as a bar and in numbers.
fn totals(page: &mut Markup, card: &Scorecard) {
    page.element("div", &[("class", &"totals")], |page| {
        page.element("p", &[("class", &"who")], |page| {
            page.words("b", &[], &card.client);
            if !card.command.is_empty() {
                page.words("code", &[], &card.command);
            }
            page.words("span", &[("class", &"dim")], Time(card.elapsed_ms));
        });
        page.element("div", &[("class", &"share"), ("aria-hidden", &"true")], |page| {
            for verdict in verdict::ALL.into_iter().rev().filter(|it| card.count(*it) > 0) {
                let grow = format!("flex-grow:{}", card.count(verdict));
                page.element("i", &[("class", &verdict.word()), ("style", &grow)], |_| {});
            }
        });
        page.element("ul", &[("class", &"counts")], |page| {
            for verdict in verdict::ALL.into_iter().rev() {
                page.element("li", &[("class", &verdict.word())], |page| {
                    verdict::shape(page, verdict);
                    page.words("b", &[], card.count(verdict)).text(" ").text(verdict.word());
                });
            }
        });
    });
}

/// Adds the switches that show only scenarios with one verdict. The style does the rest.
fn filter(page: &mut Markup, scenarios: &[Row<'_>]) {
    let has = |row: &Row<'_>, verdict| {
        row.scores.iter().flatten().any(|(_, score)| score.verdict == verdict)
    };
    page.element("fieldset", &[("class", &"filter")], |page| {
        page.words("legend", &[], "Show");
        page.source("<label><input type=\"radio\" name=\"only\" id=\"only-all\" checked>");
        page.words("span", &[], format_args!("all {}", scenarios.len())).source("</label>");
        for verdict in verdict::ALL {
            let number = scenarios.iter().filter(|row| has(row, verdict)).count();
            let id = format!("only-{}", verdict.word());
            page.element("label", &[], |page| {
                let attributes: [(_, &dyn Display); 3] =
                    [("type", &"radio"), ("name", &"only"), ("id", &id)];
                page.void("input", &attributes);
                page.words("span", &[], format_args!("{} {number}", verdict.word()));
            });
        }
    });
}

fn table(page: &mut Markup, cards: &[Scorecard], scenarios: &[Row<'_>]) {
    let is_alone = cards.len() == 1;
    let class = if is_alone { "one" } else { "many" };
    page.element("div", &[("class", &"scroll")], |page| {
        page.element("table", &[("class", &class)], |page| {
            page.element("thead", &[], |page| {
                page.element("tr", &[], |page| {
                    page.words("th", &[], "scenario");
                    if is_alone {
                        page.words("th", &[], "verdict");
                        for name in FIGURES {
                            page.words("th", &[("class", &"number")], name);
                        }
                    } else {
                        cards.iter().for_each(|card| {
                            page.words("th", &[], &card.client);
                        });
                    }
                });
            });
            for group in Group::ALL {
                rows(page, group, scenarios, cards);
            }
        });
    });
}

fn rows(page: &mut Markup, group: Group, scenarios: &[Row<'_>], cards: &[Scorecard]) {
    let columns = if let [_] = cards { 2 + FIGURES.len() } else { 1 + cards.len() };
    let rows: Vec<_> = scenarios.iter().filter(|row| row.is_in(group)).collect();
    if rows.is_empty() {
        return;
    }
    page.element("tbody", &[], |page| {
        page.element("tr", &[("class", &"group")], |page| {
            page.element("th", &[("colspan", &columns), ("scope", &"rowgroup")], |page| {
                let to = format!("#group-{}", group.letter());
                page.element("a", &[("href", &to)], |page| {
                    page.words("span", &[("class", &"letter")], group.letter());
                    page.text(group.title());
                });
                if let [_] = cards {
                    let scores = rows.iter().flat_map(|row| row.scores.iter().flatten());
                    let passed = scores.filter(|it| it.1.verdict == Verdict::Pass).count();
                    let of = format!("{passed} of {} pass", rows.len());
                    page.words("span", &[("class", &"dim")], of);
                }
            });
        });
        rows.iter().for_each(|row| scenario(page, row, cards));
    });
}

fn scenario(page: &mut Markup, row: &Row<'_>, cards: &[Scorecard]) {
    let marks = verdict::marks(row.scores.iter().flatten().map(|(_, score)| *score));
    page.element("tr", &[("class", &format_args!("item {marks}"))], |page| {
        page.element("th", &[("scope", &"row")], |page| {
            let to = if row.is_alone() { format!("#{}", row.id) } else { format!("#{}-0", row.id) };
            page.element("a", &[("href", &to)], |page| {
                page.words("b", &[], row.id).text(" ").text(row.title);
            });
            if row.is_alone() {
                row.scores.iter().flatten().for_each(|(_, score)| fault(page, score));
            }
        });
        for (place, score) in row.scores.iter().enumerate() {
            let name = cards[place].client.as_str();
            page.element(
                "td",
                &[("class", &"verdict"), ("data-name", &name)],
                |page| match score {
                    Some((_, score)) => {
                        let to = format!("#{}", row.anchor(place));
                        page.element("a", &[("href", &to)], |page| {
                            verdict::badge(page, score.verdict)
                        });
                    }
                    None => {
                        page.words("span", &[("class", &"dim")], "not run");
                    }
                },
            );
            if let (true, Some((_, score))) = (row.is_alone(), score) {
                for (name, figure) in FIGURES.iter().zip(figures(score)) {
                    page.words("td", &[("class", &"number"), ("data-name", name)], figure);
                }
            }
        }
    });
}

/// Writes the worst check that did not hold, if any.
fn fault(page: &mut Markup, score: &Score) {
    if let Some(worst) = score.faults().next().filter(|_| score.verdict == Verdict::Fail) {
        page.words("span", &[("class", &"fault")], format_args!("not true: {}", worst.that));
    }
}

/// Returns the numbers of a score, in the order of [`FIGURES`].
pub(super) fn figures(score: &Score) -> [String; 5] {
    let figures = score.figures;
    let [attempts, connections, executions, deliveries] =
        [figures.attempts, figures.connections, figures.executions, figures.deliveries]
            .map(|it| it.to_string());
    [attempts, connections, executions, deliveries, Time(figures.elapsed_ms).to_string()]
}

pub(super) const FIGURES: [&str; 5] =
    ["attempts", "connections", "executions", "deliveries", "elapsed"];
/// The key to the numbers and the pictures.
const KEY: &str = include_str!("key.html");
