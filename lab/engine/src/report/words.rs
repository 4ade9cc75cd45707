//! Formats times, steps and long texts briefly.

use std::fmt;

use crate::adapter::Step;

/// A time that reads well at any size: `3.2 ms`, `0.107 s`, `12.4 s`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Time(pub(super) f64);

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            ms if ms < 9.95 => write!(f, "{ms:.1} ms"),
            ms if ms < 999.5 => write!(f, "{ms:.0} ms"),
            ms if ms < 9995.0 => write!(f, "{:.2} s", ms / 1e3),
            ms => write!(f, "{:.1} s", ms / 1e3),
        }
    }
}

/// Returns a number of things: `1 request`, `2 requests`.
pub(super) fn count(number: usize, thing: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {thing}{plural}")
}

/// Returns the beginning of a text, with a mark where it breaks off.
pub(super) fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some(_) => {
            let kept: String = text.chars().take(most.saturating_sub(1)).collect();
            format!("{}…", kept.trim_end())
        }
        None => text.to_owned(),
    }
}

/// Returns text without terminal colour sequences.
pub(super) fn colourless(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        if letter != '\u{1b}' {
            plain.push(letter);
        } else if letters.clone().next() == Some('[') {
            letters.next();
            // A sequence ends with its first letter or sign from `@` on.
            letters.by_ref().find(|it| ('@'..='~').contains(it));
        }
    }
    plain
}

/// Returns a step of the script, in a few words.
pub(super) fn step(step: &Step) -> String {
    match step {
        Step::Call { tool, concurrency: Some(times), .. } => format!("call {tool} × {times}"),
        Step::Call { tool, .. } => format!("call {tool}"),
        Step::Close {} => "close".to_owned(),
        Step::Initialize { .. } => "initialize".to_owned(),
        Step::Request { method, .. } => method.clone(),
        Step::Sleep { s } => format!("sleep {s} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_the_digits_that_matter() {
        let times = [0.04, 3.21, 107.4, 999.7, 12_345.0].map(|ms| Time(ms).to_string());

        assert_eq!(times, ["0.0 ms", "3.2 ms", "107 ms", "1.00 s", "12.3 s"]);
    }

    #[test]
    fn a_shortened_text_is_no_longer_than_it_may_be() {
        assert_eq!(shortened("notification", 6), "notif…");
        assert_eq!(shortened("größe", 5), "größe");
    }

    #[test]
    fn colours_of_a_terminal_are_left_out() {
        assert_eq!(colourless("\u{1b}[1;31merror\u{1b}[0m: no\u{1b}"), "error: no");
    }
}
