//! The figures for people, as a table, and for programs, as JSON.

use std::fmt::Write;

use serde_json::{Value, json};

use crate::figure::{Beside, Figure, Measured, Verdict, median, span};
use crate::pace::Pace;

/// Returns the table, in Markdown.
pub(crate) fn table(figures: &[Figure]) -> String {
    let mut text = HEAD.to_owned();
    for figure in figures {
        let (must, goal) = (with_unit(figure.must, figure), with_unit(figure.goal, figure));
        let (value, range) = match (figure.value(), figure.range(), &figure.measured) {
            (Some(value), Some((least, most)), _) => {
                (with_unit(value, figure), format!("{}-{}", number(least), number(most)))
            }
            (.., Measured::Not(why)) => ((*why).to_owned(), "-".to_owned()),
            (.., Measured::Rounds(_)) => ("nothing".to_owned(), "-".to_owned()),
        };
        let floor = match figure.floor {
            Some(floor) => with_unit(floor, figure),
            None => "-".to_owned(),
        };
        // Writing into a string cannot fail.
        let _ = writeln!(
            text,
            "| {} | {} | {must} | {goal} | {value} | {range} | {floor} | {} |",
            figure.bar,
            figure.what,
            word(figure.verdict()),
        );
    }
    text
}

/// Returns the rivals' values of this run, in Markdown; empty if none took part.
pub(crate) fn others(figures: &[Figure]) -> String {
    let mut text = String::new();
    for figure in figures.iter().filter(|figure| !figure.beside.is_empty()) {
        if text.is_empty() {
            text.push_str("| bar | quantity | ours | others |\n|---|---|---|---|\n");
        }
        let one = |Beside { name, rounds }: &Beside| {
            let (least, most) = span(rounds);
            let value = with_unit(median(rounds), figure);
            format!("{name} {value} ({}-{})", number(least), number(most))
        };
        let others: Vec<_> = figure.beside.iter().map(one).collect();
        let ours = figure.value().map(|it| with_unit(it, figure)).unwrap_or_default();
        let _ =
            writeln!(text, "| {} | {} | {ours} | {} |", figure.bar, figure.what, others.join("; "));
    }
    text
}

/// Returns all figures with every round, as JSON.
pub(crate) fn json(figures: &[Figure], pace: Pace) -> String {
    let all: Vec<_> = figures.iter().map(figure_json).collect();
    let value = json!({ "rounds": pace.rounds, "calls": pace.calls, "figures": all });
    format!("{value:#}\n")
}

fn figure_json(figure: &Figure) -> Value {
    let rounds = match &figure.measured {
        Measured::Rounds(rounds) => json!(rounds),
        Measured::Not(_) => Value::Null,
    };
    let beside = figure.beside.iter();
    let beside = beside
        .map(|it| json!({ "name": it.name, "rounds": it.rounds, "median": median(&it.rounds) }));
    json!({
        "bar": figure.bar,
        "what": figure.what,
        "unit": figure.unit,
        "must": figure.must,
        "goal": figure.goal,
        "median": figure.value(),
        "least": figure.range().map(|(least, _)| least),
        "most": figure.range().map(|(_, most)| most),
        "floor": figure.floor,
        "verdict": word(figure.verdict()),
        "rounds": rounds,
        "beside": beside.collect::<Vec<_>>(),
    })
}

const fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Goal => "goal",
        Verdict::Missed => "MISSED",
        Verdict::Must => "must",
        Verdict::NotMeasured => "not measured",
    }
}

fn with_unit(value: f64, figure: &Figure) -> String {
    format!("{} {}", number(value), figure.unit).trim_end().to_owned()
}

/// Returns a number with as many digits as are significant.
pub(crate) fn number(value: f64) -> String {
    match value {
        whole if whole.fract() == 0.0 => format!("{whole:.0}"),
        large if large.abs() >= 100.0 => format!("{large:.0}"),
        middle if middle.abs() >= 10.0 => format!("{middle:.1}"),
        small => format!("{small:.2}"),
    }
}

const HEAD: &str = "\
| bar | quantity | must | goal | measured | range | floor | reached |
|---|---|---|---|---|---|---|---|
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_says_what_must_be_what_is_and_how_that_is_judged() {
        let figure = Figure::less("P9", "memory", "KB").bars(40.0, 20.0).floor(17.84);
        let rows = table(&[figure.rounds(vec![31.5, 29.0, 120.4])]);

        let row = rows.lines().last().unwrap();

        let wanted = "| P9 | memory | 40 KB | 20 KB | 31.5 KB | 29-120 | 17.8 KB | must |";
        assert_eq!(row, wanted);
    }

    #[test]
    fn what_was_not_measured_says_what_it_needs() {
        let rows =
            table(&[Figure::more("P5", "it", "x").bars(3.0, 5.0).not_measured("needs --rivals")]);

        assert!(rows.contains("| 3 x | 5 x | needs --rivals | - | - | not measured |"), "{rows}");
    }

    #[test]
    fn others_stand_beside_us_only_if_they_took_part() {
        let alone = Figure::less("P3", "CPU", "x").rounds(vec![1.5]);
        assert_eq!(others(std::slice::from_ref(&alone)), "");

        let rows = others(&[alone.beside("rmcp", vec![7.0, 9.0, 8.0])]);

        assert!(rows.ends_with("| P3 | CPU | 1.50 x | rmcp 8 x (7-9) |\n"), "{rows}");
    }

    #[test]
    fn json_has_every_round_and_null_where_there_is_nothing() {
        let measured = Figure::less("P3", "CPU", "x").bars(2.0, 1.5).rounds(vec![1.0, 3.0, 1.7]);
        let left_out = Figure::more("P5", "it", "x").not_measured("needs --rivals");

        let text = json(&[measured, left_out], Pace::QUICK);

        let read: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(read["figures"][0]["rounds"], json!([1.0, 3.0, 1.7]));
        assert_eq!(read["figures"][0]["median"], json!(1.7));
        assert_eq!(read["figures"][0]["verdict"], "must");
        assert_eq!(read["figures"][1]["median"], Value::Null);
        assert_eq!(read["figures"][1]["verdict"], "not measured");
    }
}
