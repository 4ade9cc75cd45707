//! The last lines that a server wrote to its stderr, for the error that reports its end.

use std::collections::VecDeque;

use ridethrough_bridge::harmless;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};

/// The last lines, oldest first, without characters that control a terminal.
#[derive(Debug, Default)]
pub(super) struct LastWords {
    lines: VecDeque<String>,
    bytes: usize,
}

impl LastWords {
    pub(super) fn hear(&mut self, line: &str) {
        let line = line.to_owned();
        self.bytes += line.len();
        self.lines.push_back(line);
        while self.lines.len() > MOST_LINES || self.bytes > MOST_BYTES {
            let Some(oldest) = self.lines.pop_front() else { break };
            self.bytes -= oldest.len();
        }
    }

    pub(super) fn to_vec(&self) -> Vec<String> {
        self.lines.iter().cloned().collect()
    }
}

/// Reads a stderr to its end, line by line, and cuts long lines.
pub(super) async fn listen(stderr: impl AsyncRead + Unpin, mut hear: impl FnMut(&str)) {
    let mut stderr = BufReader::new(stderr);
    loop {
        let mut line = Vec::new();
        let mut limited = (&mut stderr).take(MOST_LINE);
        if !matches!(limited.read_until(b'\n', &mut line).await, Ok(1..)) {
            return;
        }
        let text = String::from_utf8_lossy(&line);
        let text = harmless(text.trim_end());
        if !text.is_empty() {
            hear(&text);
        }
    }
}

const MOST_LINES: usize = 20;
const MOST_BYTES: usize = 4096;
/// The most bytes of a line; a longer one becomes several.
const MOST_LINE: u64 = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_last_lines_are_kept_and_no_more_than_4_kib() {
        let hundred: String = (0..100).map(|number| format!("line {number}\n")).collect();
        let long = format!("{0}\n{0}\n{0}\n{0}\n{0}\nlast\n", "x".repeat(1000));

        let (many, long) = (heard(hundred.as_bytes()).await, heard(long.as_bytes()).await);

        assert_eq!((many.len(), &*many[0], &*many[19]), (20, "line 80", "line 99"));
        assert_eq!((long.len(), &*long[4]), (5, "last"));
    }

    #[tokio::test]
    async fn nothing_in_them_can_move_a_terminal() {
        let heard = heard(&b"\x1b[31mred\r\n\n\xff end"[..]).await;

        assert_eq!(heard, ["\u{fffd}[31mred", "\u{fffd} end"]);
    }

    async fn heard(stderr: &[u8]) -> Vec<String> {
        let mut words = LastWords::default();
        listen(stderr, |line| words.hear(line)).await;
        words.to_vec()
    }
}
