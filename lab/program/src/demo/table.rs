//! The closing table: each act, its outcome here, and how other clients did when they were measured.

use std::io::{self, Write};

use super::act::Played;
use super::rival::Scorecard;
use ridethrough_terminal::out::{Colour, lines_of, painted};

/// Writes the table, in 80 columns.
pub(super) fn write(
    out: &mut impl Write,
    is_colourful: bool,
    all: &[Played],
    others: &Scorecard,
) -> io::Result<()> {
    let heads = ["act", "ridethrough, just now", "other clients, in the lab"];
    let bold = |text: &str| painted(text, Colour::Bold, is_colourful);
    write_row(out, &heads.map(|head| vec![head.to_owned()]), bold)?;
    write_row(out, &WIDTHS.map(|width| vec!["-".repeat(width)]), str::to_owned)?;
    for played in all {
        let (word, colour) = if played.verdict.is_held() {
            ("held", Colour::Green)
        } else {
            ("BROKEN", Colour::Red)
        };
        let ours = format!("{word}: {}", played.verdict.outcome);
        let theirs = others.said_of(played.act.scenario);
        let cells = [played.act.name, &ours, &theirs];
        let cells = [0, 1, 2].map(|column| lines_of(cells[column], WIDTHS[column]));
        write_row(out, &cells, |text| match text.strip_prefix(&format!("{word}:")) {
            Some(rest) => format!("{}:{rest}", painted(word, colour, is_colourful)),
            None => text.to_owned(),
        })?;
    }
    Ok(())
}

/// Writes cells of any height side by side.
fn write_row(
    out: &mut impl Write,
    cells: &[Vec<String>; 3],
    dye: impl Fn(&str) -> String,
) -> io::Result<()> {
    let height = cells.iter().map(Vec::len).max().unwrap_or_default();
    for line in 0..height {
        let piece = |column: usize| {
            let text = cells[column].get(line).map_or("", String::as_str);
            dye(&format!("{text:<width$}", width = WIDTHS[column]))
        };
        let row = [0, 1, 2].map(piece).join("  ");
        writeln!(out, "{}", row.trim_end())?;
    }
    Ok(())
}

const WIDTHS: [usize; 3] = [15, 33, 28];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_as_wide_as_a_terminal() {
        assert_eq!(WIDTHS.iter().sum::<usize>() + 4, 80);
    }
}
