//! Finds the end of a JSON value, in one pass over its bytes.
//!
//! It checks what RFC 8259 requires and builds nothing: no numbers, no strings, no tree. Every answer of a
//! server goes through here once, so this is what a large one costs. The caller checks for UTF-8. Nesting of
//! any depth takes one bit for each level and no stack.
//!
//! Steps are `inline(always)`: left to the compiler, a row of small values costs a fifth more.

use std::ops::Range;

/// The places of a member of an object: its key, without quotes, and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Member {
    pub(super) key: Range<usize>,
    pub(super) value: Range<usize>,
}

/// Returns the place of the only value in this text; `None` if there is not exactly one.
pub(super) fn only_value(text: &[u8]) -> Option<Range<usize>> {
    let start = blank(text, 0);
    let end = value_end(text, start)?;
    (blank(text, end) == text.len()).then_some(start..end)
}

/// Calls `each` with the members of the object in this text, in their order; `None` if it is no object.
pub(super) fn members(text: &[u8], mut each: impl FnMut(Member)) -> Option<()> {
    let end = walk(text, blank(text, 0), |key, start| {
        let end = value_end(text, start)?;
        each(Member { key, value: start..end });
        Some(end)
    })?;
    (blank(text, end) == text.len()).then_some(())
}

/// Calls `each` with the members of the object in this text and, for a member of the name `nesting` that is an
/// object, with that object's members, in one pass over the bytes. Those of other members are not listed, which
/// for many small ones would cost several times their size; for this reason a list ends with one member more
/// than [`MOST_LISTED`].
pub(super) fn nested_members(
    text: &[u8],
    nesting: &[u8],
    mut each: impl FnMut(Member, Vec<Member>),
) -> Option<()> {
    let end = walk(text, blank(text, 0), |key, start| {
        let mut inner = Vec::new();
        let end = match text.get(start)? {
            b'{' if text[key.clone()] == *nesting => walk(text, start, |key, at| {
                let end = value_end(text, at)?;
                let key = key.start - start..key.end - start;
                if inner.len() <= MOST_LISTED {
                    inner.push(Member { key, value: at - start..end - start });
                }
                Some(end)
            })?,
            _ => value_end(text, start)?,
        };
        each(Member { key, value: start..end }, inner);
        Some(end)
    })?;
    (blank(text, end) == text.len()).then_some(())
}

/// Walks the object whose brace is at `at`, and returns the place after it. `value` gets a key and the place
/// where its value begins, and returns where that ends.
fn walk(
    text: &[u8],
    at: usize,
    mut value: impl FnMut(Range<usize>, usize) -> Option<usize>,
) -> Option<usize> {
    if text.get(at) != Some(&b'{') {
        return None;
    }
    let mut sign = next(text, at + 1)?;
    if sign.byte == b'}' {
        return Some(sign.at + 1);
    }
    loop {
        let key = key(text, sign)?;
        let start = next(text, value_start(text, key.end + 1)?)?.at;
        sign = next(text, value(key, start)?)?;
        match sign.byte {
            b',' => sign = next(text, sign.at + 1)?,
            b'}' => return Some(sign.at + 1),
            _ => return None,
        }
    }
}

/// Calls `each` with the elements of the array in this text; `None` if it is no array.
pub(super) fn elements(text: &[u8], mut each: impl FnMut(Range<usize>)) -> Option<()> {
    let mut at = array_start(text)?;
    let mut is_first = true;
    while let Element::Value(place) = element(text, at, is_first)? {
        at = place.end;
        is_first = false;
        each(place);
    }
    Some(())
}

/// What follows at some place in an array.
pub(super) enum Element {
    /// The end of the array and of the text.
    End,
    Value(Range<usize>),
}

/// Returns the place after the opening bracket, if this text begins with an array.
pub(super) fn array_start(text: &[u8]) -> Option<usize> {
    let start = blank(text, 0);
    (text.get(start) == Some(&b'[')).then_some(start + 1)
}

/// Returns what follows `at` in an array, where `at` is the end of its bracket or of its last element.
pub(super) fn element(text: &[u8], at: usize, is_first: bool) -> Option<Element> {
    let mut at = blank(text, at);
    if text.get(at) == Some(&b']') {
        return (blank(text, at + 1) == text.len()).then_some(Element::End);
    }
    if !is_first {
        at = (text.get(at) == Some(&b',')).then(|| blank(text, at + 1))?;
    }
    Some(Element::Value(at..value_end(text, at)?))
}

/// Returns the end of the value that begins at `at`, or after white space there.
fn value_end(text: &[u8], mut at: usize) -> Option<usize> {
    let mut nesting = Nesting::default();
    loop {
        let sign = next(text, at)?;
        at = match sign.byte {
            b'"' => string_end(text, sign.at + 1)?,
            b'{' => match next(text, sign.at + 1)? {
                end if end.byte == b'}' => end.at + 1,
                first => {
                    nesting.enter(Container::Object);
                    at = value_start(text, key(text, first)?.end + 1)?;
                    continue;
                }
            },
            b'[' => match next(text, sign.at + 1)? {
                end if end.byte == b']' => end.at + 1,
                first => {
                    nesting.enter(Container::Array);
                    at = first.at;
                    continue;
                }
            },
            b't' => word_end(text, sign.at, b"true")?,
            b'f' => word_end(text, sign.at, b"false")?,
            b'n' => word_end(text, sign.at, b"null")?,
            _ => number_end(text, sign.at)?,
        };
        // A value has ended; what may follow depends on its container.
        loop {
            let Some(container) = nesting.inner() else { return Some(at) };
            let sign = next(text, at)?;
            at = sign.at + 1;
            match (container, sign.byte) {
                (Container::Object, b',') => {
                    at = value_start(text, key(text, next(text, at)?)?.end + 1)?;
                    break;
                }
                (Container::Array, b',') => break,
                (Container::Object, b'}') | (Container::Array, b']') => nesting.leave(),
                _ => return None,
            }
        }
    }
}

/// A byte that is no white space, and its place.
#[derive(Clone, Copy)]
struct Sign {
    byte: u8,
    at: usize,
}

/// Returns the first byte from `at` on that is no white space. Nearly always it is the first.
#[inline(always)]
fn next(text: &[u8], at: usize) -> Option<Sign> {
    let byte = *text.get(at)?;
    if byte > b' ' { Some(Sign { byte, at }) } else { next_behind_blank(text, at) }
}

#[cold]
fn next_behind_blank(text: &[u8], at: usize) -> Option<Sign> {
    let at = blank(text, at);
    Some(Sign { byte: *text.get(at)?, at })
}

/// Returns the place after the white space at `at`.
fn blank(text: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\n' | b'\r' | b'\t') = text.get(at) {
        at += 1;
    }
    at
}

/// Returns the place of the key that begins with this quote, without its quotes.
#[inline(always)]
fn key(text: &[u8], quote: Sign) -> Option<Range<usize>> {
    let start = quote.at + 1;
    (quote.byte == b'"').then(|| Some(start..string_end(text, start)? - 1))?
}

/// Returns the place after the colon of the key that ended at `at`.
#[inline(always)]
fn value_start(text: &[u8], at: usize) -> Option<usize> {
    let colon = next(text, at)?;
    (colon.byte == b':').then_some(colon.at + 1)
}

/// Returns the place after the closing quote of the string whose first character is at `at`.
#[inline(always)]
fn string_end(text: &[u8], mut at: usize) -> Option<usize> {
    loop {
        if let Some(eight) = text.get(at..)?.first_chunk() {
            let special = special(u64::from_le_bytes(*eight));
            if special == 0 {
                at += 8;
                continue;
            }
            at += special.trailing_zeros() as usize / 8;
        }
        match *text.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at = escape_end(text, at + 1)?,
            0..0x20 => return None,
            _ => at += 1,
        }
    }
}

/// Marks bytes that need a closer look: quotes, backslashes and control characters. Only the lowest mark is
/// sure to be right, and only that one is used.
const fn special(eight: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    // A quote with its second bit flipped is a space, and only control characters are lower.
    let up_to_space = (eight ^ (ONES * 2)).wrapping_sub(ONES * (b' ' as u64 + 1));
    let backslash = (eight ^ (ONES * b'\\' as u64)).wrapping_sub(ONES);
    (up_to_space | backslash) & !eight & HIGH
}

/// Returns the place after the escape whose backslash is before `at`.
#[inline(always)]
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

#[inline(always)]
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

/// Returns the place after the digits at `at`, of which there must be one.
#[inline(always)]
fn digits_end(text: &[u8], at: usize) -> Option<usize> {
    let count = text.get(at..)?.iter().take_while(|byte| byte.is_ascii_digit()).count();
    (count > 0).then_some(at + count)
}

/// The container of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Container {
    Array,
    Object,
}

/// The open containers, one bit for each: the innermost 64 in `near`, the others in `far`.
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

/// The most members of an object whose places are noted. Results have a handful; tens of thousands of rows are
/// elements of one member.
pub(super) const MOST_LISTED: usize = 1024;

#[cfg(test)]
mod tests;
