//! Puts bars and their labels into as few rows as they need so that none covers another.

use super::scale::Scale;
use crate::report::words::shortened;

/// Where a bar and its label stand, in pixels.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Placed {
    pub(super) row: usize,
    pub(super) from: f64,
    pub(super) to: f64,
    pub(super) label: String,
    pub(super) label_at: f64,
}

/// Rows that fill up from above.
#[derive(Debug)]
pub(super) struct Rows {
    scale: Scale,
    /// For each row what is taken, from and to.
    taken: Vec<Vec<(f64, f64)>>,
}

impl Rows {
    pub(super) fn new(scale: Scale) -> Self {
        Self { scale, taken: Vec::new() }
    }

    /// How many rows there are; at least one, so that an empty lane can be seen.
    pub(super) fn number(&self) -> usize {
        self.taken.len().max(1)
    }

    /// Finds a place for a bar.
    pub(super) fn place(&mut self, from_ms: f64, to_ms: f64, label: &str) -> Placed {
        let from = self.scale.x(from_ms).min(self.scale.right - LEAST_WIDTH);
        let to = self.scale.x(to_ms).max(from + LEAST_WIDTH);
        let (label, label_at) = self.label(from, to, label);
        let start = from.min(label_at) - GAP;
        let end = (to + MARK).max(label_at + width(&label)) + GAP;
        let row = self.row(start, end);
        Placed { row, from, to, label, label_at }
    }

    /// The first row with room.
    fn row(&mut self, start: f64, end: f64) -> usize {
        let is_free = |taken: &Vec<(f64, f64)>| taken.iter().all(|it| it.1 <= start || it.0 >= end);
        let row = self.taken.iter().position(is_free).unwrap_or(self.taken.len());
        if row == self.taken.len() {
            self.taken.push(Vec::new());
        }
        self.taken[row].push((start, end));
        row
    }

    /// Inside the bar if it fits, otherwise behind it or before it, otherwise shortened.
    fn label(&self, from: f64, to: f64, label: &str) -> (String, f64) {
        let wanted = width(label);
        let (inside, after) = (to - from - 2.0 * PAD - MARK, self.scale.right - to - MARK - PAD);
        let before = from - PAD - self.scale.left;
        if wanted <= inside {
            return (label.to_owned(), from + PAD);
        }
        if wanted <= after {
            return (label.to_owned(), to + MARK + PAD);
        }
        if wanted <= before {
            return (label.to_owned(), from - PAD - wanted);
        }
        let room = inside.max(after).max(before);
        let label = fitting(label, room);
        let at = match room {
            room if room == inside => from + PAD,
            room if room == after => to + MARK + PAD,
            _ => from - PAD - width(&label),
        };
        (label, at)
    }
}

/// How wide a text is about, at the size of the pictures; rather too much than too little.
pub(super) fn width(text: &str) -> f64 {
    text.chars().map(|letter| if letter.is_ascii() || letter == '…' { LETTER } else { WIDE }).sum()
}

/// As much of a text as there is room for.
fn fitting(text: &str, room: f64) -> String {
    let all = text.chars().count();
    let fits = |most: &usize| width(&shortened(text, *most)) <= room;
    (1..=all).rev().find(fits).map(|most| shortened(text, most)).unwrap_or_default()
}

const LETTER: f64 = 5.9;
const WIDE: f64 = 11.0;
/// Less could not be seen.
const LEAST_WIDTH: f64 = 3.0;
/// For the shape at the end of a bar.
const MARK: f64 = 5.0;
const PAD: f64 = 4.0;
const GAP: f64 = 2.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_as_long_as_its_time_and_has_its_label_inside() {
        let mut rows = Rows::new(Scale::new(0.0, 400.0, 1000.0));

        let placed = rows.place(250.0, 750.0, "a call");

        assert_eq!((placed.from, placed.to), (100.0, 300.0));
        assert!(placed.label_at > 100.0 && placed.label_at + width("a call") < 300.0);
    }

    #[test]
    fn nothing_covers_anything_however_close_it_is() {
        let mut rows = Rows::new(Scale::new(0.0, 320.0, 20_000.0));
        let times = [(0.0, 3.0), (3.0, 4.0), (4.0, 19_990.0), (19_991.0, 20_000.0), (9e3, 9e3)];

        let placed = times.map(|(from, to)| rows.place(from, to, "tools/call echo: cut"));

        for (place, one) in placed.iter().enumerate() {
            let (start, end) = extent(one);
            assert!(start >= 0.0 && end <= 320.0 + MARK, "{one:?}");
            for other in placed[place + 1..].iter().filter(|other| other.row == one.row) {
                let (from, to) = extent(other);
                assert!(to <= start || from >= end, "{one:?} and {other:?}");
            }
        }
    }

    #[test]
    fn a_label_without_room_is_shortened_to_what_fits() {
        let mut rows = Rows::new(Scale::new(0.0, 100.0, 100.0));

        let placed = rows.place(40.0, 60.0, "a label that is much too long for this");

        assert!(placed.label.ends_with('…'), "{placed:?}");
        assert!(extent(&placed).1 <= 100.0 + MARK, "{placed:?}");
    }

    fn extent(placed: &Placed) -> (f64, f64) {
        let end = placed.label_at + width(&placed.label);
        (placed.from.min(placed.label_at), placed.to.max(end))
    }
}
