//! A parser for JSON as config files have it: with comments and trailing commas, and with the byte range of
//! every value.

use crate::document::tree::{Broken, Node, Value};

/// Reads a whole file.
pub(crate) fn parse(text: &str) -> Result<Node, Broken> {
    let mut reader = JsoncReader { text, at: 0, depth: 0 };
    let whole = reader.file();
    whole.map_err(|Wrong { place, what }| Broken::at(text.as_bytes(), place, what))
}

/// Returns where white space and comments that begin at this byte end.
pub(crate) fn gap_end(text: &str, at: usize) -> usize {
    let mut reader = JsoncReader { text, at, depth: 0 };
    // A comment without an end would have been found when the file was read.
    let _ = reader.skip();
    reader.at
}

struct JsoncReader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

/// A syntax error, and its byte offset.
struct Wrong {
    place: usize,
    what: &'static str,
}

impl JsoncReader<'_> {
    fn file(&mut self) -> Result<Node, Wrong> {
        self.skip()?;
        let root = self.value()?;
        self.skip()?;
        match self.peek() {
            None => Ok(root),
            Some(_) => Err(self.wrong("the file should end here")),
        }
    }

    fn value(&mut self) -> Result<Node, Wrong> {
        let start = self.at;
        let value = match self.peek() {
            Some(b'{') => Value::Object(self.list(b'}', Self::member)?),
            Some(b'[') => Value::Array(self.list(b']', Self::value)?),
            Some(b'"') => Value::Text(self.string()?),
            _ => self.bare()?,
        };
        Ok(Node { span: start..self.at, key: None, value })
    }

    /// Parses the elements between two brackets, with commas between and perhaps one at the end.
    fn list<T>(
        &mut self,
        end: u8,
        item: fn(&mut Self) -> Result<T, Wrong>,
    ) -> Result<Vec<T>, Wrong> {
        if self.depth == DEEPEST {
            return Err(self.wrong("it is nested too deeply"));
        }
        self.depth += 1;
        self.at += 1;
        let mut items = Vec::new();
        loop {
            self.skip()?;
            if self.take(end) {
                break;
            }
            items.push(item(self)?);
            self.skip()?;
            if !self.take(b',') && self.peek() != Some(end) {
                return Err(self.wrong(match end {
                    b'}' => "expected `,` or `}`",
                    _ => "expected `,` or `]`",
                }));
            }
        }
        self.depth -= 1;
        Ok(items)
    }

    fn member(&mut self) -> Result<(String, Node), Wrong> {
        if self.peek() != Some(b'"') {
            return Err(self.wrong("expected a name in double quotes"));
        }
        let start = self.at;
        let name = self.string()?;
        let key = Some(start..self.at);
        self.skip()?;
        if !self.take(b':') {
            return Err(self.wrong("expected `:`"));
        }
        self.skip()?;
        Ok((name, Node { key, ..self.value()? }))
    }

    fn string(&mut self) -> Result<String, Wrong> {
        let start = self.at;
        let mut is_escaped = false;
        loop {
            self.at += 1;
            match self.peek() {
                None => return Err(Wrong { place: start, what: "this text has no end" }),
                Some(_) if is_escaped => is_escaped = false,
                Some(b'\\') => is_escaped = true,
                Some(b'"') => break,
                Some(_) => {}
            }
        }
        self.at += 1;
        serde_json::from_str(&self.text[start..self.at])
            .map_err(|_| Wrong { place: start, what: "this text is not written as JSON wants it" })
    }

    /// Parses a number, `true`, `false` or `null`.
    fn bare(&mut self) -> Result<Value, Wrong> {
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
        let length = self.text.as_bytes()[self.at..].iter().take_while(|it| is_part(**it)).count();
        let word = &self.text[self.at..self.at + length];
        let value = match word {
            "" => return Err(self.wrong("expected a value")),
            "false" => Value::Flag(false),
            "true" => Value::Flag(true),
            word if word == "null" || word.parse::<serde_json::Number>().is_ok() => {
                Value::Other(word.to_owned())
            }
            _ => return Err(self.wrong("expected a value; texts stand in double quotes")),
        };
        self.at += length;
        Ok(value)
    }

    /// Skips white space and comments.
    fn skip(&mut self) -> Result<(), Wrong> {
        loop {
            let rest = &self.text[self.at..];
            if rest.starts_with("//") {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else if let Some(comment) = rest.strip_prefix("/*") {
                let end = comment.find("*/");
                self.at += end.ok_or_else(|| self.wrong("this comment has no end"))? + 4;
            } else if rest.starts_with([' ', '\t', '\r', '\n']) {
                self.at += 1;
            } else {
                return Ok(());
            }
        }
    }

    fn take(&mut self, byte: u8) -> bool {
        let is_there = self.peek() == Some(byte);
        self.at += usize::from(is_there);
        is_there
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    const fn wrong(&self, what: &'static str) -> Wrong {
        Wrong { place: self.at, what }
    }
}

/// The deepest nesting: more than any config file has, and far from the end of the stack.
const DEEPEST: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_trailing_commas_are_read_past_and_places_are_exact() {
        let text = "// head\n{ \"a\": /* why */ [\"x\\\"y\", 1.5e3,], // tail\n  \"b\": true, }\n";

        let root = parse(text).ok().unwrap();

        let list = root.get("a").unwrap();
        assert_eq!(&text[list.span.clone()], "[\"x\\\"y\", 1.5e3,]");
        let Value::Array(items) = &list.value else { panic!("an array") };
        assert_eq!(items[0].text(), Some("x\"y"));
        assert_eq!(&text[items[1].span.clone()], "1.5e3");
        assert!(root.get("b").unwrap().is(true));
    }

    #[test]
    fn what_is_wrong_is_told_with_line_and_column_and_never_with_the_text() {
        let cases = [
            ("{\n  \"a\": \"s3cret\"\n  \"b\": 1\n}", 3, 3),
            ("{\n\t\"ä\": s3cret }", 2, 7),
            ("{ \"a\": \"s3cret", 1, 8),
            ("{ 'a': 1 }", 1, 3),
            ("{} x", 1, 4),
            ("{ /* s3cret", 1, 3),
            ("{ /*/ }", 1, 3),
            ("[1 2]", 1, 4),
            ("", 1, 1),
        ];
        for (text, line, column) in cases {
            let broken = parse(text).err().unwrap();

            assert_eq!((broken.line, broken.column), (line, column), "{text}: {broken}");
            assert!(!broken.to_string().contains("s3cret"));
        }
    }

    #[test]
    fn of_a_name_that_is_there_twice_the_last_counts() {
        assert_eq!(parse(r#"{"a":"1","a":"2"}"#).ok().unwrap().get("a").unwrap().text(), Some("2"));
    }

    #[test]
    fn a_file_of_brackets_does_not_eat_the_stack() {
        let broken = parse(&"[".repeat(1_000_000)).err().unwrap();

        assert_eq!(broken.what, "it is nested too deeply");
    }
}
