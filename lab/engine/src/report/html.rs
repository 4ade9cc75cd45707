//! The page: a heading with totals, the table, and a section for each scenario.
//!
//! It has no script, and its policy forbids every script: folding and filtering are done by HTML elements and
//! the style alone.

mod log;
mod overview;
mod run;
mod said;
mod verdict;

use std::collections::BTreeMap;

use super::words::count;
use crate::page::{self, Life, Markup};
use crate::scenario::Group;
use crate::score::{Score, Scorecard};

/// Returns one page about these clients, which needs no network, no script and no other file.
///
/// `made` is the date to show.
pub fn html(cards: &[Scorecard], made: &str) -> String {
    let scenarios = scenarios(cards);
    let heading = heading(cards, scenarios.len());
    page::document(&heading, Life::Still, |page| {
        overview::draw(page, &heading, cards, &scenarios, made);
        page.element("main", &[], |page| sections(page, &scenarios));
        page.source(FOOT);
    })
}

/// One scenario, and its score for each client.
struct Row<'a> {
    id: &'a str,
    title: &'a str,
    why: &'a str,
    /// The scores by the position of the client.
    scores: Vec<Option<(&'a str, &'a Score)>>,
}

impl Row<'_> {
    /// Whether it belongs to this group.
    fn is_in(&self, group: Group) -> bool {
        self.id.starts_with(group.letter())
    }

    fn is_alone(&self) -> bool {
        self.scores.len() == 1
    }

    /// Returns the anchor of the section about the client at this position.
    fn anchor(&self, place: usize) -> String {
        if self.is_alone() { self.id.to_owned() } else { format!("{}-{}", self.id, place + 1) }
    }
}

/// Returns every scenario that any client was put through, by group and number.
fn scenarios(cards: &[Scorecard]) -> Vec<Row<'_>> {
    let mut rows: BTreeMap<_, Row<'_>> = BTreeMap::new();
    for (place, card) in cards.iter().enumerate() {
        for score in &card.scores {
            let Score { id, title, why, .. } = score;
            let number: u64 = id.chars().skip(1).collect::<String>().parse().unwrap_or(u64::MAX);
            let row = rows.entry((id.chars().next(), number, id)).or_insert_with(|| Row {
                id,
                title,
                why,
                scores: vec![None; cards.len()],
            });
            row.scores[place] = Some((&card.client, score));
        }
    }
    rows.into_values().collect()
}

fn heading(cards: &[Scorecard], scenarios: usize) -> String {
    let faults = count(scenarios, "fault");
    match cards {
        [card] => format!("{} through {faults}", card.client),
        cards => format!("{} through {faults}", count(cards.len(), "client")),
    }
}

fn sections(page: &mut Markup, scenarios: &[Row<'_>]) {
    for group in Group::ALL {
        let rows: Vec<_> = scenarios.iter().filter(|row| row.is_in(group)).collect();
        if rows.is_empty() {
            continue;
        }
        let anchor = format!("group-{}", group.letter());
        page.element("section", &[("class", &"group"), ("id", &anchor)], |page| {
            page.element("h2", &[], |page| {
                page.words("span", &[("class", &"letter")], group.letter()).text(group.title());
            });
            for row in rows {
                run::section(page, row);
            }
        });
    }
}

const FOOT: &str = "<footer>Made by the fault lab of ridethrough. Times are those of the machine \
    that ran it: compare clients only within one page.</footer>";
