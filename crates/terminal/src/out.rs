//! Output for people and for pipes: colours only on a terminal, and a reader that closes stdout early is no
//! failure.

use std::env;
use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use anyhow::Result;

/// Lets `write` fill stdout. A reader that closed it early, as `head` does, counts as success.
pub fn print(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<ExitCode> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    match write(&mut out).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(ExitCode::SUCCESS),
    }
}

/// Returns JSON in the form that stdout's reader wants: indented on a terminal, in one line for a program.
pub fn json(text: &str) -> String {
    if io::stdout().is_terminal() { pretty(text) } else { text.to_owned() }
}

/// Whether escape codes may be written to this stream.
pub fn is_colourful(stream: &impl IsTerminal) -> bool {
    stream.is_terminal() && wants_colour(|name| env::var_os(name))
}

/// Whether the environment wants colour; see <https://no-color.org>.
fn wants_colour(read: impl Fn(&str) -> Option<OsString>) -> bool {
    let is_refused = read("NO_COLOR").is_some_and(|it| !it.is_empty());
    let is_dumb = read("TERM").is_some_and(|it| it == "dumb");
    !is_refused && !is_dumb
}

/// A colour of the terminal's own palette, or a weight of its letters.
#[derive(Clone, Copy, Debug)]
pub enum Colour {
    /// Heavy letters.
    Bold,
    /// Light letters.
    Faint,
    /// Green.
    Green,
    /// Red.
    Red,
    /// Yellow.
    Yellow,
}

/// Returns the text in a colour, if colours are on.
pub fn painted(text: &str, colour: Colour, is_colourful: bool) -> String {
    let code = match colour {
        Colour::Bold => 1,
        Colour::Faint => 2,
        Colour::Green => 32,
        Colour::Red => 31,
        Colour::Yellow => 33,
    };
    if is_colourful { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
}

/// Returns a paragraph in lines of at most 90 characters, all with this indent.
pub fn wrapped(text: &str, indent: &str) -> String {
    let lines = lines_of(text, WIDTH - indent.chars().count());
    let lines: Vec<_> = lines.iter().map(|line| format!("{indent}{line}")).collect();
    lines.join("\n")
}

/// Breaks a text between words. A word that is too long gets a line of its own and exceeds the width.
pub fn lines_of(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Returns the JSON with a member on each line.
fn pretty(json: &str) -> String {
    let mut pretty = String::with_capacity(json.len() * 2);
    let mut depth: usize = 0;
    let (mut is_text, mut is_escaped) = (false, false);
    let mut characters = json.chars().peekable();
    while let Some(it) = characters.next() {
        if is_text {
            pretty.push(it);
            is_text = it != '"' || is_escaped;
            is_escaped = it == '\\' && !is_escaped;
            continue;
        }
        match it {
            '{' | '[' => {
                pretty.push(it);
                while characters.next_if(|it| it.is_ascii_whitespace()).is_some() {}
                match characters.next_if(|it| matches!(it, '}' | ']')) {
                    Some(end) => pretty.push(end),
                    None => {
                        depth += 1;
                        break_line(&mut pretty, depth);
                    }
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                break_line(&mut pretty, depth);
                pretty.push(it);
            }
            ',' => {
                pretty.push(it);
                break_line(&mut pretty, depth);
            }
            ':' => pretty.push_str(": "),
            it if it.is_ascii_whitespace() => {}
            it => {
                pretty.push(it);
                is_text = it == '"';
            }
        }
    }
    pretty
}

fn break_line(pretty: &mut String, depth: usize) {
    pretty.push('\n');
    // A server's lists may be of any depth, so the indent is bounded.
    pretty.push_str(&"  ".repeat(depth.min(DEEPEST)));
}

const WIDTH: usize = 90;
const DEEPEST: usize = 40;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_are_broken_between_words_only() {
        let text = "word ".repeat(40) + &"x".repeat(200);

        let wrapped = wrapped(&text, "  ");

        let lines: Vec<_> = wrapped.lines().collect();
        assert_eq!(lines.len(), 4, "{wrapped}");
        assert!(lines.iter().all(|line| line.starts_with("  ") && !line.ends_with(' ')));
        assert_eq!(wrapped.split_whitespace().count(), 41);
        assert!(lines[..3].iter().all(|line| line.chars().count() <= WIDTH));
    }

    #[test]
    fn a_text_is_broken_where_the_width_says() {
        assert_eq!(lines_of("one two three  four", 9), ["one two", "three", "four"]);
        assert_eq!(lines_of("unbreakable word", 5), ["unbreakable", "word"]);
        assert!(lines_of("", 5).is_empty());
    }

    #[test]
    fn who_refuses_colour_gets_none() {
        let wants = |name: &'static str, value: &'static str| {
            wants_colour(|asked| (asked == name).then(|| value.into()))
        };

        assert!(wants("TERM", "xterm") && wants("NO_COLOR", ""));
        assert!(!wants("TERM", "dumb") && !wants("NO_COLOR", "1"));
    }

    #[test]
    fn what_is_plain_has_no_codes() {
        assert_eq!(painted("held", Colour::Green, false), "held");
        assert_eq!(painted("held", Colour::Green, true), "\x1b[32mheld\x1b[0m");
    }

    #[test]
    fn nothing_changes_but_the_space_between_values() {
        let json = r#"{"a":[1.10,{"b\"]":"x, {y}: \\"}], "e":{ },"l":[],"n":123456789012345678901234567890}"#;

        let pretty = pretty(json);

        assert_eq!(
            pretty,
            r#"{
  "a": [
    1.10,
    {
      "b\"]": "x, {y}: \\"
    }
  ],
  "e": {},
  "l": [],
  "n": 123456789012345678901234567890
}"#
        );
    }
}
