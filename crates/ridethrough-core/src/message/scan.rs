//! Where a JSON value ends, by one look at each byte.
//!
//! Checks what RFC 8259 asks for and builds nothing: no numbers, no strings, no tree. Every answer of a
//! server goes through here once, so this is what a large one costs. Bytes that are not UTF-8 are the
//! caller's to find. Nesting of any depth takes a bit for each level and no stack.

use std::ops::Range;

/// A member of an object: where its key stands, without quotes, and where its value does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Member {
    pub(super) key: Range<usize>,
    pub(super) value: Range<usize>,
}

/// Where the only value of this text stands; `None` if that is not what it is.
pub(super) fn only_value(text: &[u8]) -> Option<Range<usize>> {
    let start = blank(text, 0);
    let end = value_end(text, start)?;
    (blank(text, end) == text.len()).then_some(start..end)
}

/// Hands over the members of the object that this text is, in their order; `None` if it is no object.
pub(super) fn members(text: &[u8], mut each: impl FnMut(Member)) -> Option<()> {
    let end = walk(text, blank(text, 0), |key, start| {
        let end = value_end(text, start)?;
        each(Member { key, value: start..end });
        Some(end)
    })?;
    (blank(text, end) == text.len()).then_some(())
}

/// The same, and with each member that is an object where the members of that one stand in it: found by
/// the same look at each byte.
pub(super) fn nested_members(text: &[u8], mut each: impl FnMut(Member, Vec<Member>)) -> Option<()> {
    let end = walk(text, blank(text, 0), |key, start| {
        let mut inner = Vec::new();
        let end = match text.get(start)? {
            b'{' => walk(text, start, |key, at| {
                let end = value_end(text, at)?;
                let key = key.start - start..key.end - start;
                inner.push(Member { key, value: at - start..end - start });
                Some(end)
            })?,
            _ => value_end(text, start)?,
        };
        each(Member { key, value: start..end }, inner);
        Some(end)
    })?;
    (blank(text, end) == text.len()).then_some(())
}

/// Walks the object whose brace is at `at`, and returns what is behind it. `value` is told a key and
/// where its value begins, and says where that ends.
fn walk(
    text: &[u8],
    at: usize,
    mut value: impl FnMut(Range<usize>, usize) -> Option<usize>,
) -> Option<usize> {
    if text.get(at) != Some(&b'{') {
        return None;
    }
    let mut at = blank(text, at + 1);
    if text.get(at) == Some(&b'}') {
        return Some(at + 1);
    }
    loop {
        let behind_key = key_end(text, at)?;
        let end = value(at + 1..behind_key - 1, value_start(text, behind_key)?)?;
        at = blank(text, end);
        match text.get(at)? {
            b',' => at = blank(text, at + 1),
            b'}' => return Some(at + 1),
            _ => return None,
        }
    }
}

/// Hands over the elements of the array that this text is; `None` if it is no array.
pub(super) fn elements(text: &[u8], mut each: impl FnMut(Range<usize>)) -> Option<()> {
    let start = blank(text, 0);
    if text.get(start) != Some(&b'[') {
        return None;
    }
    let mut at = blank(text, start + 1);
    if text.get(at) != Some(&b']') {
        loop {
            let end = value_end(text, at)?;
            each(at..end);
            at = blank(text, end);
            match text.get(at)? {
                b',' => at = blank(text, at + 1),
                b']' => break,
                _ => return None,
            }
        }
    }
    (blank(text, at + 1) == text.len()).then_some(())
}

/// Where the value that begins at `at` ends.
fn value_end(text: &[u8], mut at: usize) -> Option<usize> {
    let mut nesting = Nesting::default();
    loop {
        at = match *text.get(at)? {
            b'"' => string_end(text, at + 1)?,
            b'{' => match blank(text, at + 1) {
                end if text.get(end) == Some(&b'}') => end + 1,
                key => {
                    nesting.enter(Container::Object);
                    at = value_start(text, key_end(text, key)?)?;
                    continue;
                }
            },
            b'[' => match blank(text, at + 1) {
                end if text.get(end) == Some(&b']') => end + 1,
                first => {
                    nesting.enter(Container::Array);
                    at = first;
                    continue;
                }
            },
            b't' => word_end(text, at, b"true")?,
            b'f' => word_end(text, at, b"false")?,
            b'n' => word_end(text, at, b"null")?,
            _ => number_end(text, at)?,
        };
        // A value has ended; what follows depends on what it stands in.
        loop {
            let Some(container) = nesting.inner() else { return Some(at) };
            at = blank(text, at);
            match (*text.get(at)?, container) {
                (b',', Container::Object) => {
                    at = value_start(text, key_end(text, blank(text, at + 1))?)?;
                    break;
                }
                (b',', Container::Array) => {
                    at = blank(text, at + 1);
                    break;
                }
                (b'}', Container::Object) | (b']', Container::Array) => {
                    nesting.leave();
                    at += 1;
                }
                _ => return None,
            }
        }
    }
}

/// The end of the key that begins at `at`, behind its closing quote.
#[inline]
fn key_end(text: &[u8], at: usize) -> Option<usize> {
    (text.get(at) == Some(&b'"')).then(|| string_end(text, at + 1))?
}

/// Where the value of the key begins that ended at `at`.
#[inline]
fn value_start(text: &[u8], at: usize) -> Option<usize> {
    let colon = blank(text, at);
    (text.get(colon) == Some(&b':')).then(|| blank(text, colon + 1))
}

/// The first byte from `at` on that is no white space.
#[inline]
fn blank(text: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\n' | b'\r' | b'\t') = text.get(at) {
        at += 1;
    }
    at
}

/// Behind the closing quote of the string whose first character is at `at`.
fn string_end(text: &[u8], mut at: usize) -> Option<usize> {
    loop {
        while let Some((eight, _)) = text.get(at..)?.split_first_chunk::<8>() {
            let special = special(u64::from_le_bytes(*eight));
            if special != 0 {
                at += special.trailing_zeros() as usize / 8;
                break;
            }
            at += 8;
        }
        match *text.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at = escape_end(text, at + 1)?,
            0..0x20 => return None,
            _ => at += 1,
        }
    }
}

/// Marks bytes that need a look: quotes, backslashes and control characters. Only the lowest mark is
/// sure to be right, which is the one that counts.
const fn special(eight: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let quote = eight ^ (ONES * b'"' as u64);
    let backslash = eight ^ (ONES * b'\\' as u64);
    let is_quote = quote.wrapping_sub(ONES) & !quote;
    let is_backslash = backslash.wrapping_sub(ONES) & !backslash;
    let is_control = eight.wrapping_sub(ONES * 0x20) & !eight;
    (is_quote | is_backslash | is_control) & HIGH
}

/// Behind the escape whose backslash stands before `at`.
#[inline]
fn escape_end(text: &[u8], at: usize) -> Option<usize> {
    match text.get(at)? {
        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Some(at + 1),
        b'u' => {
            let digits = text.get(at + 1..at + 5)?;
            digits.iter().all(u8::is_ascii_hexdigit).then_some(at + 5)
        }
        _ => None,
    }
}

fn word_end<const N: usize>(text: &[u8], at: usize, word: &[u8; N]) -> Option<usize> {
    (text.get(at..)?.first_chunk() == Some(word)).then_some(at + N)
}

#[inline]
fn number_end(text: &[u8], mut at: usize) -> Option<usize> {
    if text.get(at) == Some(&b'-') {
        at += 1;
    }
    at = match text.get(at)? {
        b'0' => at + 1,
        _ => digits_end(text, at)?,
    };
    if text.get(at) == Some(&b'.') {
        at = digits_end(text, at + 1)?;
    }
    if let Some(b'e' | b'E') = text.get(at) {
        let sign = usize::from(matches!(text.get(at + 1), Some(b'+' | b'-')));
        at = digits_end(text, at + 1 + sign)?;
    }
    Some(at)
}

/// Behind the digits at `at`, of which there must be one.
#[inline]
fn digits_end(text: &[u8], at: usize) -> Option<usize> {
    let count = text.get(at..)?.iter().take_while(|byte| byte.is_ascii_digit()).count();
    (count > 0).then_some(at + count)
}

/// What a value stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Container {
    Array,
    Object,
}

/// The containers that are open, a bit for each: the innermost 64 at hand, the others put by.
#[derive(Default)]
struct Nesting {
    depth: usize,
    near: u64,
    far: Vec<u64>,
}

impl Nesting {
    fn enter(&mut self, container: Container) {
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.far.push(self.near);
        }
        self.near = self.near << 1 | u64::from(container == Container::Object);
        self.depth += 1;
    }

    fn leave(&mut self) {
        self.depth -= 1;
        self.near >>= 1;
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.near = self.far.pop().unwrap_or_default();
        }
    }

    const fn inner(&self) -> Option<Container> {
        match (self.depth, self.near & 1) {
            (0, _) => None,
            (_, 0) => Some(Container::Array),
            (_, _) => Some(Container::Object),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::*;

    #[test]
    fn what_is_json_and_what_is_not_is_what_serde_json_says() {
        for text in [
            "",
            " ",
            "1",
            "-1",
            "01",
            "-",
            "1.",
            "1.5",
            ".5",
            "1e",
            "1e5",
            "1E+05",
            "1e-",
            "-0.0e-0",
            "true",
            "tru",
            "truex",
            "false",
            "null",
            "nul",
            "NaN",
            "\"\"",
            "\"",
            "\"a",
            "\"a\"b",
            r#""\n""#,
            r#""\x""#,
            r#""\u12""#,
            r#""\u12g4""#,
            r#""\u12aF""#,
            r#""\""#,
            "\"\t\"",
            "\"0123456\t\"",
            "\"01234567\"",
            r#""0123456\"8""#,
            "{}",
            "{ }",
            "[]",
            "[ ]",
            "{",
            "[",
            "}",
            "]",
            "[1]",
            "[1,]",
            "[,1]",
            "[1 2]",
            "[1,2]",
            r#"{"a":1}"#,
            r#"{"a":1,}"#,
            r#"{"a"}"#,
            r#"{"a":}"#,
            r#"{a:1}"#,
            r#"{"a":1 "b":2}"#,
            r#"{"a":1,"b":[{"c":[]}]}"#,
            r#"{"a":[1}"#,
            r#"[{"a":1]]"#,
            r#"[[1],{"a":{}}]"#,
            "[1]]",
            "1 1",
            "\u{feff}1",
            " [ 1 , { \"a\" : 2 } ]\r\n\t",
            "\"\u{e9}\u{1F600}\"",
            "\"\u{7f}\"",
            "\u{b}1",
        ] {
            assert_eq!(only_value(text.as_bytes()).is_some(), is_json(text), "{text:?}");
        }
    }

    #[test]
    fn a_broken_text_is_broken_wherever_it_is_cut_or_changed() {
        let text =
            r#"{"a":[1.5e3,-0,"x\u00e9\"y"],"b":{"c":null,"d":[true,false,{}]},"e":"0123456789"}"#;
        for at in 0..text.len() {
            assert_eq!(only_value(&text.as_bytes()[..at]), None, "cut at {at}");
            for byte in [b'"', b'\\', b'{', b'}', b'[', b']', b',', b':', b'0', b'x', b' ', 1] {
                let mut changed = text.as_bytes().to_vec();
                changed[at] = byte;
                let is_json = is_json(std::str::from_utf8(&changed).unwrap());
                assert_eq!(only_value(&changed).is_some(), is_json, "{byte} at {at}");
            }
        }
    }

    #[test]
    fn containers_may_be_nested_to_any_depth_and_must_match() {
        for depth in [1, 63, 64, 65, 128, 129, 100_000] {
            let mut text = String::new();
            (0..depth).for_each(|level| text += if level % 3 == 0 { "{\"k\":" } else { "[" });
            text += "1";
            let closed = (0..depth).rev().map(|level| if level % 3 == 0 { '}' } else { ']' });
            text.extend(closed);
            assert!(only_value(text.as_bytes()).is_some(), "{depth}");

            let last = text.pop();
            text.push(if last == Some('}') { ']' } else { '}' });
            assert_eq!(only_value(text.as_bytes()), None, "{depth}");
        }
    }

    #[test]
    fn members_and_elements_are_found_where_they_stand() {
        let text = r#" { "a" : [1, 2] ,"b\"":"x", "a":{} } "#;
        let mut found = Vec::new();

        members(text.as_bytes(), |it| found.push((&text[it.key], &text[it.value]))).unwrap();

        assert_eq!(found, [("a", "[1, 2]"), ("b\\\"", "\"x\""), ("a", "{}")]);
        let mut found = Vec::new();
        elements(b" [ 1,[2] , {} ] ", |it| found.push(it)).unwrap();
        assert_eq!(found, [3..4, 5..8, 11..13]);
        for not in ["[1]", "{} 1", "{\"a\":1", "1", "{\"a\" 1}", "{,}"] {
            assert_eq!(members(not.as_bytes(), |_| {}), None, "{not}");
        }
        for not in ["{}", "[1] 1", "[1", "[1,]", "1"] {
            assert_eq!(elements(not.as_bytes(), |_| {}), None, "{not}");
        }
    }

    #[test]
    fn members_of_members_are_found_in_them() {
        let text = r#" {"id":1, "result": { "a": {"b":1}, "c":[] } , "e":{} } "#;
        let mut found = Vec::new();

        nested_members(text.as_bytes(), |member, inner| {
            let value = &text[member.value];
            let inner = inner.into_iter().map(|it| (&value[it.key], &value[it.value]));
            found.push((&text[member.key], inner.collect::<Vec<_>>()));
        })
        .unwrap();

        let result = vec![("a", "{\"b\":1}"), ("c", "[]")];
        assert_eq!(found, [("id", vec![]), ("result", result), ("e", vec![])]);
        for not in
            ["{\"a\":{\"b\":1}", "{\"a\":{\"b\"}}", "{\"a\":{\"b\":1,}}", "{\"a\":{} 1}", "7"]
        {
            assert_eq!(nested_members(not.as_bytes(), |_, _| {}), None, "{not}");
        }
    }

    fn is_json(text: &str) -> bool {
        serde_json::from_str::<&RawValue>(text).is_ok()
    }
}
