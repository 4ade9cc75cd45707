//! What was measured, beside what it must be and what it should be.

use std::fmt;

/// One quantity of the table.
pub(crate) struct Figure {
    /// Which bar it belongs to, such as `P7`.
    pub(crate) bar: &'static str,
    pub(crate) what: &'static str,
    pub(crate) unit: &'static str,
    /// One value for each round, in any order.
    pub(crate) rounds: Vec<f64>,
    pub(crate) must: f64,
    pub(crate) goal: f64,
    /// The same quantity of the floor, where the figure is not a ratio to it.
    pub(crate) floor: Option<f64>,
}

impl Figure {
    pub(crate) fn is_met(&self) -> bool {
        median(&self.rounds) <= self.must
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { bar, what, unit, rounds, must, goal, floor } = self;
        let least = rounds.iter().copied().fold(f64::INFINITY, f64::min);
        let most = rounds.iter().copied().fold(0.0, f64::max);
        let floor = floor.map(|it| format!("{it:.1} {unit}")).unwrap_or_else(|| "1.0 x".to_owned());
        let verdict = match median(rounds) {
            it if it <= *goal => "goal",
            it if it <= *must => "must",
            _ => "MISSED",
        };
        write!(
            f,
            "| {bar} | {what} | {must} {unit} | {goal} {unit} | {:.2} {unit} | {least:.2}-{most:.2} | {floor} | {verdict} |",
            median(rounds)
        )
    }
}

/// The value in the middle; of an empty list, nothing that could pass for good.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::INFINITY)
}

pub(crate) const HEAD: &str = "\
| bar | quantity | must | goal | measured | range | floor | reached |
|---|---|---|---|---|---|---|---|";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_that_was_not_measured_is_not_met() {
        assert!(!figure(vec![]).is_met());
    }

    #[test]
    fn one_bad_round_does_not_miss_a_bar_and_most_do() {
        assert!(figure(vec![1.0, 9.0, 1.2]).is_met());
        assert!(!figure(vec![1.0, 9.0, 9.0]).is_met());
        assert!(figure(vec![1.0, 9.0, 9.0]).to_string().ends_with("| MISSED |"));
    }

    fn figure(rounds: Vec<f64>) -> Figure {
        Figure { bar: "P0", what: "it", unit: "x", rounds, must: 1.5, goal: 1.2, floor: None }
    }
}
