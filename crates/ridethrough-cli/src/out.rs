//! What is printed for people and for pipes: colours only where somebody sees them, and a reader who
//! has seen enough is no failure.

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use anyhow::Result;

/// Lets `write` fill stdout. Ends well also if the reader went away, as `head` does.
pub(crate) fn print(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<ExitCode> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    match write(&mut out).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(ExitCode::SUCCESS),
    }
}

/// Whether escape codes are welcome there.
pub(crate) fn is_colourful(stream: &impl IsTerminal) -> bool {
    stream.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|it| it.is_empty())
}

/// A colour of the terminal's own palette.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Colour {
    Green,
    Red,
    Yellow,
}

/// The text in a colour, if there are colours.
pub(crate) fn painted(text: &str, colour: Colour, is_colourful: bool) -> String {
    let code = match colour {
        Colour::Green => 32,
        Colour::Red => 31,
        Colour::Yellow => 33,
    };
    if is_colourful { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
}

/// A paragraph in lines of at most [`WIDTH`] characters, each after the same indent.
pub(crate) fn wrapped(text: &str, indent: &str) -> String {
    let mut lines = vec![indent.to_owned()];
    for word in text.split_whitespace() {
        let line = lines.last().map_or(0, |line| line.chars().count());
        let is_first = line == indent.chars().count();
        if !is_first && line + 1 + word.chars().count() > WIDTH {
            lines.push(indent.to_owned());
        }
        if let Some(line) = lines.last_mut() {
            if line.len() > indent.len() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines.join("\n")
}

const WIDTH: usize = 90;

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
}
