//! One measured quantity, with the values that it must and should reach.

/// One quantity of the table.
#[derive(Clone, Debug)]
pub(crate) struct Figure {
    /// The bar it belongs to, such as `P7`.
    pub(crate) bar: &'static str,
    pub(crate) what: String,
    pub(crate) unit: &'static str,
    pub(crate) better: Better,
    pub(crate) must: f64,
    pub(crate) goal: f64,
    pub(crate) measured: Measured,
    /// The floor's value, where the figure is not a ratio to it.
    pub(crate) floor: Option<f64>,
    /// The values of others.
    pub(crate) beside: Vec<Beside>,
}

/// Whether a small or a great value is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Better {
    Less,
    More,
}

/// The result of a measurement.
#[derive(Clone, Debug)]
pub(crate) enum Measured {
    /// One value for each round, in any order.
    Rounds(Vec<f64>),
    /// There is no value, for this reason.
    Not(&'static str),
}

/// The value of another contestant.
#[derive(Clone, Debug)]
pub(crate) struct Beside {
    pub(crate) name: String,
    pub(crate) rounds: Vec<f64>,
}

/// How a figure compares with its bars.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Goal,
    Missed,
    Must,
    NotMeasured,
}

impl Figure {
    /// Creates a figure that should be small.
    pub(crate) fn less(bar: &'static str, what: impl Into<String>, unit: &'static str) -> Self {
        let measured = Measured::Rounds(Vec::new());
        let (must, goal) = (0.0, 0.0);
        let what = what.into();
        Self {
            bar,
            what,
            unit,
            better: Better::Less,
            must,
            goal,
            measured,
            floor: None,
            beside: Vec::new(),
        }
    }

    /// Creates a figure that should be great.
    pub(crate) fn more(bar: &'static str, what: impl Into<String>, unit: &'static str) -> Self {
        Self { better: Better::More, ..Self::less(bar, what, unit) }
    }

    pub(crate) const fn bars(mut self, must: f64, goal: f64) -> Self {
        self.must = must;
        self.goal = goal;
        self
    }

    pub(crate) fn rounds(mut self, rounds: Vec<f64>) -> Self {
        self.measured = Measured::Rounds(rounds);
        self
    }

    /// Records why there is no value, such as `needs --rivals`.
    pub(crate) fn not_measured(mut self, why: &'static str) -> Self {
        self.measured = Measured::Not(why);
        self
    }

    pub(crate) const fn floor(mut self, floor: f64) -> Self {
        self.floor = Some(floor);
        self
    }

    pub(crate) fn beside(mut self, name: impl Into<String>, rounds: Vec<f64>) -> Self {
        self.beside.push(Beside { name: name.into(), rounds });
        self
    }

    /// Returns the median, if there is a value.
    pub(crate) fn value(&self) -> Option<f64> {
        match &self.measured {
            Measured::Rounds(rounds) if !rounds.is_empty() => Some(median(rounds)),
            Measured::Rounds(_) | Measured::Not(_) => None,
        }
    }

    /// Returns the best and the worst round.
    pub(crate) fn range(&self) -> Option<(f64, f64)> {
        match &self.measured {
            Measured::Rounds(rounds) if !rounds.is_empty() => Some(span(rounds)),
            Measured::Rounds(_) | Measured::Not(_) => None,
        }
    }

    /// Returns the verdict. A figure without rounds that should have been measured is missed, not skipped.
    pub(crate) fn verdict(&self) -> Verdict {
        if let Measured::Not(_) = self.measured {
            return Verdict::NotMeasured;
        }
        let Some(value) = self.value() else { return Verdict::Missed };
        let reaches = |bar| match self.better {
            Better::Less => value <= bar,
            Better::More => value >= bar,
        };
        match (reaches(self.goal), reaches(self.must)) {
            (true, _) => Verdict::Goal,
            (false, true) => Verdict::Must,
            (false, false) => Verdict::Missed,
        }
    }
}

/// Returns the median; for an empty list, a value that never passes.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Returns the least and the greatest value.
pub(crate) fn span(values: &[f64]) -> (f64, f64) {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    (least, most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_without_rounds_is_missed_and_one_that_was_left_out_is_not() {
        assert_eq!(figure(vec![]).verdict(), Verdict::Missed);
        assert_eq!(figure(vec![]).not_measured("needs --rivals").verdict(), Verdict::NotMeasured);
    }

    #[test]
    fn one_bad_round_does_not_miss_a_bar_and_most_do() {
        assert_eq!(figure(vec![1.0, 9.0, 1.2]).verdict(), Verdict::Goal);
        assert_eq!(figure(vec![1.4, 9.0, 1.2]).verdict(), Verdict::Must);
        assert_eq!(figure(vec![1.0, 9.0, 9.0]).verdict(), Verdict::Missed);
    }

    #[test]
    fn a_figure_that_should_be_great_is_held_to_its_bars_from_below() {
        let figure = |value| Figure::more("P0", "it", "x").bars(3.0, 5.0).rounds(vec![value]);

        let verdicts = [2.9, 3.0, 5.0].map(|value| figure(value).verdict());

        assert_eq!(verdicts, [Verdict::Missed, Verdict::Must, Verdict::Goal]);
    }

    #[test]
    fn a_value_that_is_no_number_reaches_nothing() {
        assert_eq!(figure(vec![f64::NAN]).verdict(), Verdict::Missed);
    }

    fn figure(rounds: Vec<f64>) -> Figure {
        Figure::less("P0", "it", "x").bars(1.5, 1.2).rounds(rounds)
    }
}
