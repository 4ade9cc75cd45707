//! Parses event streams.

use super::mistake::{Habit, Mistake};

/// One item of a stream.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Item {
    Event {
        id: Option<String>,
        data: String,
    },
    /// The digits of `retry:`, not parsed.
    Retry(String),
}

/// The error that one event is larger than the client keeps.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooMuch;

pub(super) struct Parser {
    splits_at_lf_only: bool,
    keeps_one_line: bool,
    most: usize,
    line: Vec<u8>,
    is_first_line: bool,
    /// Whether the last line ended with CR: an LF that follows belongs to it.
    is_after_cr: bool,
    kept: usize,
    event: Pending,
}

#[derive(Default)]
struct Pending {
    id: Option<String>,
    kind: String,
    data: Option<String>,
}

impl Parser {
    pub(super) fn new(mistake: Mistake) -> Self {
        let most = if mistake.has(Habit::NoLimits) { usize::MAX } else { MOST_BYTES };
        Self {
            splits_at_lf_only: mistake.has(Habit::LfOnly),
            keeps_one_line: mistake.has(Habit::OneDataLine),
            most,
            line: Vec::new(),
            is_first_line: true,
            is_after_cr: false,
            kept: 0,
            event: Pending::default(),
        }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<Vec<Item>, TooMuch> {
        let mut items = Vec::new();
        for &byte in bytes {
            match byte {
                b'\n' if std::mem::take(&mut self.is_after_cr) => {}
                b'\n' => self.end_line(&mut items),
                b'\r' if !self.splits_at_lf_only => {
                    self.end_line(&mut items);
                    self.is_after_cr = true;
                }
                _ => {
                    self.is_after_cr = false;
                    self.line.push(byte);
                    self.kept += 1;
                }
            }
        }
        if self.kept > self.most { Err(TooMuch) } else { Ok(items) }
    }

    fn end_line(&mut self, items: &mut Vec<Item>) {
        let line = std::mem::take(&mut self.line);
        let line = String::from_utf8_lossy(&line);
        let is_first = std::mem::take(&mut self.is_first_line);
        let line = match line.strip_prefix('\u{feff}') {
            Some(rest) if is_first && !self.splits_at_lf_only => rest,
            _ => &line,
        };
        if line.is_empty() {
            self.kept = 0;
            items.extend(std::mem::take(&mut self.event).into_item());
            return;
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => match &mut self.event.data {
                Some(data) if !self.keeps_one_line => *data = format!("{data}\n{value}"),
                _ => self.event.data = Some(value.to_owned()),
            },
            "event" => value.clone_into(&mut self.event.kind),
            "id" if !value.contains('\0') => self.event.id = Some(value.to_owned()),
            "retry" if !value.is_empty() && value.bytes().all(|it| it.is_ascii_digit()) => {
                items.push(Item::Retry(value.to_owned()));
            }
            _ => {}
        }
    }
}

impl Pending {
    fn into_item(self) -> Option<Item> {
        let Self { id, kind, data } = self;
        // An event of another type is not a message, but its id counts.
        let is_message = kind.is_empty() || kind == "message";
        let data = data.filter(|_| is_message);
        (id.is_some() || data.is_some()).then(|| Item::Event { id, data: data.unwrap_or_default() })
    }
}

/// The most bytes of an event: far more than any answer of the lab.
const MOST_BYTES: usize = 8 << 20;

#[cfg(test)]
mod tests {
    use super::super::mistake::{PLAIN, find};
    use super::*;

    #[test]
    fn every_line_end_is_one_and_a_byte_order_mark_is_none_of_the_text() {
        let text = "\u{feff}id: 1\r\ndata: a\rdata: b\r\rdata: c\n\n: note\nretry: 50\n\n";

        let whole = Parser::new(PLAIN).push(text.as_bytes()).unwrap();
        let mut parser = Parser::new(PLAIN);
        let bytes = text.bytes().flat_map(|byte| parser.push(&[byte]).unwrap());

        assert_eq!(bytes.collect::<Vec<_>>(), whole);
        let first = Item::Event { id: Some("1".to_owned()), data: "a\nb".to_owned() };
        let second = Item::Event { id: None, data: "c".to_owned() };
        assert_eq!(whole, [first, second, Item::Retry("50".to_owned())]);
    }

    #[test]
    fn the_wrong_one_sees_no_event_between_other_line_ends() {
        let mut parser = Parser::new(*find("lf-only").unwrap());

        assert_eq!(parser.push(b"data: a\r\n\r\ndata: b\r\r").unwrap(), []);
    }

    #[test]
    fn an_endless_line_is_too_much() {
        let line = vec![b'x'; MOST_BYTES + 1];

        assert_eq!(Parser::new(PLAIN).push(&line), Err(TooMuch));
        assert_eq!(Parser::new(*find("no-limits").unwrap()).push(&line), Ok(Vec::new()));
    }
}
