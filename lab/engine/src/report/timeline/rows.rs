//! Puts bars and their labels into as few rows as possible, so that none covers another.

use super::scale::Scale;
use crate::report::words::shortened;

/// The position of a bar and its label, in pixels.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Placed {
    pub(super) row: usize,
    pub(super) from: f64,
    pub(super) to: f64,
    pub(super) label: String,
    /// Where the label begins, or ends if it is before the bar.
    pub(super) label_at: f64,
    pub(super) side: LabelSide,
}

/// The side of the bar on which its label is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LabelSide {
    After,
    Before,
    Inside,
}

/// Rows that fill up from the top.
#[derive(Debug)]
pub(super) struct Rows {
    scale: Scale,
    /// The ranges that are taken in each row.
    taken: Vec<Vec<(f64, f64)>>,
}

impl Rows {
    pub(super) fn new(scale: Scale) -> Self {
        Self { scale, taken: Vec::new() }
    }

    /// Returns how many rows there are; at least one, so that an empty lane is visible.
    pub(super) fn number(&self) -> usize {
        self.taken.len().max(1)
    }

    /// Finds a place for a bar.
    pub(super) fn place(&mut self, from_ms: f64, to_ms: f64, label: &str) -> Placed {
        let from = self.scale.x(from_ms).min(self.scale.right - LEAST_WIDTH);
        let to = self.scale.x(to_ms).max(from + LEAST_WIDTH);
        let (label, side) = self.label(from, to, label);
        let label_at = match side {
            LabelSide::After => to + MARK + PAD,
            LabelSide::Before => from - PAD,
            LabelSide::Inside => from + PAD,
        };
        let mut placed = Placed { row: 0, from, to, label, label_at, side };
        let (start, end) = placed.extent();
        placed.row = self.row(start - GAP, end + GAP);
        placed
    }

    /// Returns the first row with room.
    fn row(&mut self, start: f64, end: f64) -> usize {
        let is_free = |taken: &Vec<(f64, f64)>| taken.iter().all(|it| it.1 <= start || it.0 >= end);
        let row = self.taken.iter().position(is_free).unwrap_or(self.taken.len());
        if row == self.taken.len() {
            self.taken.push(Vec::new());
        }
        self.taken[row].push((start, end));
        row
    }

    /// Puts the label inside the bar if it fits, otherwise behind or before it, otherwise shortened.
    fn label(&self, from: f64, to: f64, label: &str) -> (String, LabelSide) {
        let sides = [
            (LabelSide::Inside, to - from - 2.0 * PAD - MARK),
            (LabelSide::After, self.scale.right - to - MARK - PAD),
            (LabelSide::Before, from - PAD - self.scale.left),
        ];
        let wanted = width(label);
        if let Some((side, _)) = sides.into_iter().find(|(_, room)| wanted <= *room) {
            return (label.to_owned(), side);
        }
        let most = sides.into_iter().max_by(|one, other| one.1.total_cmp(&other.1));
        let (side, room) = most.unwrap_or(sides[0]);
        (fitting(label, room), side)
    }
}

impl Placed {
    /// Returns the range that the bar and its label take.
    fn extent(&self) -> (f64, f64) {
        let label = width(&self.label);
        match self.side {
            LabelSide::After => (self.from, self.label_at + label),
            LabelSide::Before => (self.label_at - label, self.to + MARK),
            LabelSide::Inside => (self.from, self.to + MARK),
        }
    }
}

/// Returns how wide a text is, in the widest of the common fonts at the size of the pictures.
pub(super) fn width(text: &str) -> f64 {
    text.chars().map(letter_width).sum()
}

fn letter_width(letter: char) -> f64 {
    match letter {
        ' ' | '!' | '\'' | ',' | '.' | '/' | ':' | ';' | '|' | 'f' | 'i' | 'j' | 'l' => 4.2,
        '(' | ')' | '-' | 'r' | 't' | '"' | '`' | '[' | ']' => 5.3,
        'M' | 'W' | 'm' | 'w' | '%' | '@' => 11.8,
        'A'..='Z' => 8.9,
        letter if letter.is_ascii() => 7.5,
        _ => 12.0,
    }
}

/// Returns as much of a text as fits.
fn fitting(text: &str, room: f64) -> String {
    let all = text.chars().count();
    let fits = |most: &usize| width(&shortened(text, *most)) <= room;
    (1..=all).rev().find(fits).map(|most| shortened(text, most)).unwrap_or_default()
}

/// The least width of a bar: a narrower one could not be seen.
const LEAST_WIDTH: f64 = 3.0;
/// The width of the shape at the end of a bar.
const MARK: f64 = 5.0;
const PAD: f64 = 4.0;
const GAP: f64 = 3.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_as_long_as_its_time_and_has_its_label_inside() {
        let mut rows = Rows::new(Scale::new(0.0, 400.0, 0.0, 1000.0));

        let placed = rows.place(250.0, 750.0, "a call");

        assert_eq!((placed.from, placed.to), (100.0, 300.0));
        assert!(placed.label_at > 100.0 && placed.label_at + width("a call") < 300.0);
    }

    #[test]
    fn nothing_covers_anything_however_close_it_is() {
        let mut rows = Rows::new(Scale::new(0.0, 320.0, 0.0, 20_000.0));
        let times = [(0.0, 3.0), (3.0, 4.0), (4.0, 19_990.0), (19_991.0, 20_000.0), (9e3, 9e3)];

        let placed = times.map(|(from, to)| rows.place(from, to, "tools/call echo: cut"));

        for (place, one) in placed.iter().enumerate() {
            let (start, end) = one.extent();
            assert!(start >= 0.0 && end <= 320.0 + MARK, "{one:?}");
            for other in placed[place + 1..].iter().filter(|other| other.row == one.row) {
                let (from, to) = other.extent();
                assert!(to <= start || from >= end, "{one:?} and {other:?}");
            }
        }
    }

    #[test]
    fn a_label_without_room_is_shortened_to_what_fits() {
        let mut rows = Rows::new(Scale::new(0.0, 100.0, 0.0, 100.0));

        let placed = rows.place(40.0, 60.0, "a label that is much too long for this");

        assert!(placed.label.ends_with('…'), "{placed:?}");
        assert!(placed.extent().1 <= 100.0 + MARK, "{placed:?}");
    }
}
