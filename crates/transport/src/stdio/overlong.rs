//! Finding the call that an overlong line answers: the line is read as it passes, and dropped.
//!
//! A call whose answer is beyond the limit must end, and the others must not end with it. The id may come
//! before the result or after it, so the whole line is read, byte by byte and with a few bytes of memory.
//! Only members of the message itself count, never the contents of its result.

/// Looks for the id of a message while its bytes pass.
#[derive(Default)]
pub(super) struct Glance {
    depth: usize,
    is_escaped: bool,
    place: Position,
    /// The member that is being read and its value, as far as they matter.
    key: Vec<u8>,
    value: Vec<u8>,
    id: Option<u64>,
    is_asked: bool,
}

/// What the next byte belongs to.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Position {
    /// The name of a member of the message.
    Key,
    /// A string inside a value.
    Text,
    /// Outside of all strings, before a colon.
    #[default]
    Outside,
    /// Outside of all strings, after a colon.
    Value,
}

impl Glance {
    pub(super) fn look(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.step(*byte);
        }
    }

    /// Returns the id of the call that the message answers, if it is a response.
    pub(super) const fn answers(&self) -> Option<u64> {
        if self.is_asked { None } else { self.id }
    }

    fn step(&mut self, byte: u8) {
        if matches!(self.place, Position::Key | Position::Text) {
            return self.step_in_text(byte);
        }
        match byte {
            b'"' if self.depth == 1 && self.place == Position::Outside => {
                self.key.clear();
                self.place = Position::Key;
            }
            b'"' => {
                keep(&mut self.value, byte);
                self.place = Position::Text;
            }
            b':' if self.depth == 1 => {
                self.value.clear();
                self.place = Position::Value;
            }
            b',' if self.depth == 1 => self.finish_member(),
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => {
                if self.depth == 1 {
                    self.finish_member();
                }
                self.depth = self.depth.saturating_sub(1);
            }
            _ => keep(&mut self.value, byte),
        }
    }

    fn step_in_text(&mut self, byte: u8) {
        let is_end = byte == b'"' && !self.is_escaped;
        self.is_escaped = byte == b'\\' && !self.is_escaped;
        match (self.place, is_end) {
            (Position::Key, true) => self.place = Position::Outside,
            (Position::Key, false) => keep(&mut self.key, byte),
            (_, true) => self.place = Position::Value,
            (_, false) => keep(&mut self.value, byte),
        }
    }

    fn finish_member(&mut self) {
        self.place = Position::Outside;
        match &self.key[..] {
            b"id" => {
                let text = String::from_utf8_lossy(&self.value);
                self.id = text.trim().trim_matches('"').parse().ok();
            }
            b"method" => self.is_asked = true,
            _ => {}
        }
    }
}

fn keep(kept: &mut Vec<u8>, byte: u8) {
    if kept.len() < MOST_KEPT {
        kept.push(byte);
    }
}

/// The most bytes kept of a name or value: longer than any that is looked for.
const MOST_KEPT: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_is_found_before_the_result_and_after_it() {
        for text in [
            r#"{"jsonrpc":"2.0","id":7,"result":{"content":"x"}}"#,
            r#"{"result":{"content":["}", "]"],"deep":[[{"a":{}}]]},"jsonrpc":"2.0","id":7}"#,
            r#"{ "id" : "7" , "error" : { "code" : 1 } }"#,
        ] {
            assert_eq!(glance(text).answers(), Some(7), "{text}");
        }
    }

    #[test]
    fn an_id_inside_the_result_is_nobodys() {
        for text in [
            r#"{"result":{"id":7}}"#,
            r#"{"result":"\"id\":7,","jsonrpc":"2.0"}"#,
            r#"{"result":"\\","x":"{\"id\":7}"}"#,
            r#"{"result":[{"id":7}]}"#,
            r#"[{"id":7,"result":0}]"#,
            r#""id":7"#,
        ] {
            assert_eq!(glance(text).answers(), None, "{text}");
        }
    }

    #[test]
    fn a_question_with_the_same_number_is_no_answer() {
        for text in [r#"{"id":7,"method":"m","params":[]}"#, r#"{"params":{},"id":7,"method":"m"}"#]
        {
            assert_eq!(glance(text).answers(), None, "{text}");
        }
    }

    #[test]
    fn what_it_remembers_does_not_grow_with_the_line() {
        let glance =
            glance(&format!(r#"{{"{0}":"{0}","x":{1}}}"#, "y".repeat(9999), "1".repeat(9999)));

        assert!(glance.key.capacity() <= 2 * MOST_KEPT && glance.value.capacity() <= 2 * MOST_KEPT);
    }

    fn glance(text: &str) -> Glance {
        let mut glance = Glance::default();
        for byte in text.bytes() {
            glance.look(&[byte]);
        }
        glance
    }
}
