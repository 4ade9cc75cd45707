//! The comparison of ids and of progress tokens that mean one thing in different spellings.
//!
//! Payloads pass byte for byte, but a backend may repeat an id in its own spelling: `"a/b"` comes back as
//! `"a\/b"` from one JSON library, and 7 as `7.0` or `"7"` from some servers.

use bytes::Bytes;
use ridethrough_core::message::Json;

/// The meaning of an id or a token. Two are equal if their spelling is equal, or if both spell one text.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    meaning: Meaning,
    /// The whole number that it is, or that its text spells.
    number: Option<i64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Meaning {
    /// Anything but a text, in its own spelling.
    Spelled(Bytes),
    Text(String),
}

impl Key {
    /// Reads a key. It does not keep in memory the message that it came in.
    pub(crate) fn of(json: &Json) -> Self {
        let number = number(json);
        let meaning = match text(json) {
            Some(text) => Meaning::Text(text),
            None => Meaning::Spelled(Bytes::copy_from_slice(json.as_bytes())),
        };
        Self { meaning, number }
    }

    /// Finds the item that a key means: an equal one or, if there is only one such, one with an equal number.
    pub(crate) fn meant<'a, T>(
        &self,
        all: &'a [T],
        key_of: impl Fn(&T) -> Option<&Self>,
    ) -> Option<&'a T> {
        let exactly = all.iter().find(|it| key_of(it) == Some(self));
        let nearly = || {
            let wanted = self.number?;
            let is_near = |it: &&T| key_of(it).and_then(|key| key.number) == Some(wanted);
            let mut near = all.iter().filter(is_near);
            let first = near.next()?;
            near.next().is_none().then_some(first)
        };
        exactly.or_else(nearly)
    }
}

fn text(json: &Json) -> Option<String> {
    json.as_str().starts_with('"').then(|| json.read())?
}

fn number(json: &Json) -> Option<i64> {
    let text = text(json).unwrap_or_else(|| json.as_str().to_owned());
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let number: i64 = whole.parse().ok()?;
    let is_plain = number.to_string() == whole && fraction.bytes().all(|digit| digit == b'0');
    is_plain.then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_spellings_of_one_text_are_the_same() {
        for (one, other) in [("7", "7"), (r#""req/1""#, r#""req\/1""#), (r#""é""#, r#""\u00e9""#)]
        {
            assert_eq!(key(one), key(other), "{one} {other}");
        }
        for (one, other) in [("7", "\"7\""), ("7", "7.0"), (r#""a""#, r#""b""#)] {
            assert_ne!(key(one), key(other), "{one} {other}");
        }
    }

    #[test]
    fn a_number_in_another_spelling_is_meant_only_if_it_can_be_no_other() {
        let found = |wanted: &str, all: &[&'static str]| {
            let all: Vec<_> = all.iter().map(|it| (*it, key(it))).collect();
            key(wanted).meant(&all, |it| Some(&it.1)).map(|it| it.0)
        };

        assert_eq!(found("\"7\"", &["6", "7"]), Some("7"));
        assert_eq!(found("-7.0", &["7", "-7"]), Some("-7"));
        assert_eq!(found("\"7\"", &["7", "\"7\""]), Some("\"7\""));
        assert_eq!(found("7.0", &["7", "\"7\""]), None);
        for key in ["7.5", "\"+7\"", "\"07\"", "\"\"", "\"x\""] {
            assert_eq!(found(key, &["7"]), None, "{key}");
        }
    }

    fn key(text: &str) -> Key {
        Key::of(&Json::new(text.to_owned()).unwrap())
    }
}
