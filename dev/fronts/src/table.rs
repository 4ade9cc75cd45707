//! What was said, as a table: a line of the script in each row, a door in each column.

use std::fmt::Write;

use crate::differences::{Differences, Played, groups};
use crate::door::Place;

/// Returns a table in Markdown, of the lines that some doors answer otherwise than others. Doors that say one thing
/// have one letter.
pub(crate) fn markdown(played: &[Played], differences: &Differences) -> String {
    let (apart, alike): (Vec<_>, Vec<_>) =
        played.iter().partition(|played| !groups(played).is_empty());
    let mut text = String::from("| row | why |\n|---|---|\n");
    // Writing to a text cannot fail.
    for (name, reason) in differences.reasons() {
        let _ = writeln!(text, "| {name} | {reason} |");
    }
    let places = Place::ALL.map(Place::name).join(" | ");
    let rule = "|:-:".repeat(Place::ALL.len());
    let _ = writeln!(text, "\n| line | {places} | row |\n|---{rule}|---|");
    for played in &apart {
        let letters = letters(played).join(" | ");
        let name = differences.name(&played.line).unwrap_or_default();
        let _ = writeln!(text, "| {} | {letters} | {name} |", played.line);
    }
    let _ = writeln!(text, "\nTo {} lines more all doors say one thing.", alike.len());
    text
}

/// Returns a letter for each place: `a` for what the first says, and a further one for what differs from it.
/// Only places with one server behind them are compared.
fn letters(played: &Played) -> Vec<String> {
    let differ = groups(played);
    let letter = |place: Place| {
        let said = &played.said.get(&place)?;
        let of_era = Place::ALL.iter().filter(|it| it.behind == place.behind);
        let mut known: Vec<&Vec<String>> = Vec::new();
        for it in of_era.filter_map(|it| played.said.get(it)) {
            if !known.contains(&it) {
                known.push(it);
            }
        }
        let at = known.iter().position(|it| it == said)?;
        let letter = char::from(b'a' + u8::try_from(at).ok()?);
        Some(if at == 0 || differ.is_empty() {
            letter.to_string()
        } else {
            format!("**{letter}**")
        })
    };
    Place::ALL.map(|place| letter(place).unwrap_or_default()).into()
}

/// Returns everything that was said to each line, for people who look into one.
pub(crate) fn in_full(played: &[Played]) -> String {
    let mut text = String::new();
    for played in played {
        let _ = writeln!(text, "{}", played.line);
        for (place, said) in &played.said {
            let said = if said.is_empty() { "(nothing)".to_owned() } else { said.join("\n      ") };
            let _ = writeln!(text, "  {}\n      {said}", place.name());
        }
    }
    text
}
