//! Makes words of servers safe to print: without our secrets, and harmless for a terminal.
//!
//! A terminal obeys control characters: they move the cursor, change the title, paste into the shell. Other
//! characters hide text or reverse it. All of them are shown as escapes, `\u{1b}`, in everything that people
//! read: on a terminal, on stderr, and in lists, whose lines are ours. Only the text of an answer reaches a
//! file or a pipe as it was sent.

use std::fmt::Write;
use std::io::{self, IsTerminal};
use std::path::Path;

use ridethrough_core::answer::words::is_harmful;

use crate::secrets;

/// Makes a server's text of several lines safe. Line breaks and tabs stay.
pub fn text(raw: &str) -> String {
    harmless_text(&secrets::masked(raw))
}

/// Makes a server's text safe as data for stdout: harmless on a terminal, and anywhere else as it was sent
/// except for our secrets. A file must hold what the server sent, and a program in a pipe knows what it
/// reads.
pub fn data(raw: &str) -> String {
    if io::stdout().is_terminal() { text(raw) } else { secrets::masked(raw) }
}

/// Makes a server's text safe that must stay on one line.
pub fn line(raw: &str) -> String {
    harmless_line(&secrets::masked(raw))
}

/// Makes a server's JSON safe, on one line. Except for secrets its meaning is unchanged: control characters
/// occur only in strings, where they can be written as escapes, and line breaks only between values.
pub fn json(raw: &str) -> String {
    harmless_json(&secrets::masked_json(raw))
}

/// Makes a text of ours safe, in which the words of a server went through one of the functions above.
pub fn our_text(raw: &str) -> String {
    harmless_text(&secrets::masked_in_ours(raw))
}

/// Makes a line of ours safe, in which the words of a server went through one of the functions above.
pub fn our_line(raw: &str) -> String {
    harmless_line(&secrets::masked_in_ours(raw))
}

/// Makes JSON of ours safe, in which the words of a server went through one of the functions above.
pub fn our_json(raw: &str) -> String {
    harmless_json(&secrets::masked_in_our_json(raw))
}

/// Makes a path of unknown origin safe.
pub fn path(path: &Path) -> String {
    line(&path.to_string_lossy())
}

/// Returns a word quoted for a shell.
pub fn quoted(word: &str) -> String {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "_-./:=,@%+".contains(it);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

fn harmless_text(raw: &str) -> String {
    let mut safe = String::with_capacity(raw.len());
    let mut characters = raw.chars().peekable();
    while let Some(it) = characters.next() {
        match it {
            '\n' | '\t' => safe.push(it),
            '\r' if characters.peek() == Some(&'\n') => {}
            it => push(&mut safe, it),
        }
    }
    safe
}

fn harmless_line(raw: &str) -> String {
    let mut safe = String::with_capacity(raw.len());
    for it in raw.chars() {
        match it {
            '\n' => safe.push_str("\\n"),
            it => push(&mut safe, it),
        }
    }
    safe
}

fn harmless_json(raw: &str) -> String {
    let mut safe = String::with_capacity(raw.len());
    for it in raw.chars() {
        match it {
            '\n' | '\r' | '\t' => safe.push(' '),
            it if is_harmful(it) => {
                for unit in it.encode_utf16(&mut [0; 2]) {
                    let _ = write!(safe, "\\u{unit:04x}");
                }
            }
            it => safe.push(it),
        }
    }
    safe
}

fn push(safe: &mut String, it: char) {
    if is_harmful(it) {
        let _ = write!(safe, "\\u{{{:x}}}", u32::from(it));
    } else {
        safe.push(it);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NASTY: &str = "a\u{1b}]0;title\u{7}\u{9b}2J\u{202e}b\rc\u{7f}\u{e0041}";

    #[test]
    fn no_character_that_a_terminal_obeys_comes_through() {
        for safe in [text(NASTY), line(NASTY)] {
            assert_eq!(safe, "a\\u{1b}]0;title\\u{7}\\u{9b}2J\\u{202e}b\\u{d}c\\u{7f}\\u{e0041}");
        }
    }

    #[test]
    fn ordinary_text_of_any_language_stays_what_it_is() {
        let words = "naïve\tñandú 日本語 👩\u{200d}🚀\nשלום";

        assert_eq!(text(words), words);
        assert_eq!(text("a\r\nb"), "a\nb");
        assert_eq!(line("a\nb"), "a\\nb");
    }

    #[test]
    fn json_says_the_same_as_before_and_stands_on_one_line() {
        let raw = format!("{{\n \"a\": {} }}", serde_json::to_string(NASTY).unwrap());
        let raw = raw.replace("\\u001b", "\\u001b\u{9b}\u{202e}");

        let safe = json(&raw);

        assert!(!safe.contains(|it: char| it.is_control() || it == '\u{202e}'), "{safe}");
        let (before, after): (serde_json::Value, serde_json::Value) =
            (serde_json::from_str(&raw).unwrap(), serde_json::from_str(&safe).unwrap());
        assert_eq!(before, after);
    }
}
