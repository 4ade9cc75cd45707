//! The last lines that a server wrote to its stderr, for the error that reports its end.

use std::collections::VecDeque;
use std::fmt::Write;

use tokio::io::{AsyncRead, AsyncReadExt};
use tracing::debug;

/// The last lines of a stderr.
#[derive(Default)]
pub(super) struct LastWords {
    lines: VecDeque<String>,
    bytes: usize,
    /// A line whose end has not arrived.
    begun: Vec<u8>,
}

impl LastWords {
    /// Reads to the end of the stream. Of a line without an end, the beginning is kept.
    pub(super) async fn listen(&mut self, mut source: impl AsyncRead + Unpin, program: &str) {
        let mut buffer = [0; 4096];
        while let Ok(count @ 1..) = source.read(&mut buffer).await {
            self.hear(&buffer[..count], program);
        }
    }

    fn hear(&mut self, bytes: &[u8], program: &str) {
        for byte in bytes {
            match byte {
                b'\n' => self.finish_line(program),
                _ if self.begun.len() < MOST_BYTES => self.begun.push(*byte),
                _ => {}
            }
        }
    }

    fn finish_line(&mut self, program: &str) {
        let line = printable(&std::mem::take(&mut self.begun));
        debug!(program, line, "stderr");
        if line.is_empty() {
            return;
        }
        self.bytes += line.len();
        self.lines.push_back(line);
        while self.lines.len() > MOST_LINES || self.bytes > MOST_BYTES {
            let Some(oldest) = self.lines.pop_front() else { break };
            self.bytes -= oldest.len();
        }
    }

    /// Returns the lines as one text; empty if there were none.
    pub(super) fn text(&mut self, program: &str) -> String {
        if !self.begun.is_empty() {
            self.finish_line(program);
        }
        let mut text = String::new();
        for line in &self.lines {
            let separator = if text.is_empty() { "" } else { " | " };
            write!(text, "{separator}{line}").expect("a string takes everything");
        }
        text
    }
}

/// Returns a line without control characters, which would colour or move a terminal.
pub(super) fn printable(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    text.trim_end().chars().map(|each| if each.is_control() { ' ' } else { each }).collect()
}

const MOST_LINES: usize = 20;
const MOST_BYTES: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_last_20_lines_are_kept_and_no_more_than_4_kib() {
        let mut many = LastWords::default();
        let mut long = LastWords::default();
        let hundred: String = (0..100).map(|number| format!("line {number}\n")).collect();

        many.listen(hundred.as_bytes(), "x").await;
        long.listen(format!("{0}\n{0}\nlast\n", "x".repeat(3000)).as_bytes(), "x").await;

        let kept = many.text("x");
        assert!(kept.starts_with("line 80 | line 81") && kept.ends_with("line 99"), "{kept}");
        assert_eq!(long.text("x").len(), 3000 + " | last".len());
    }

    #[tokio::test]
    async fn a_line_that_never_ends_is_kept_by_its_beginning() {
        let mut words = LastWords::default();

        words.listen(&*vec![b'a'; 1 << 20], "x").await;

        assert_eq!(words.text("x"), "a".repeat(MOST_BYTES));
    }

    #[tokio::test]
    async fn nothing_in_them_can_move_a_terminal() {
        let mut words = LastWords::default();

        words.listen(&b"\x1b[31mred\x1b[0m\r\n\xff"[..], "x").await;

        assert_eq!(words.text("x"), " [31mred [0m | \u{fffd}");
    }
}
