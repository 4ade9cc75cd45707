//! The comparison of ids and of progress tokens that mean one thing in different spellings.
//!
//! Payloads pass byte for byte, but a backend may repeat an id in its own spelling: `"a/b"` comes back as
//! `"a\/b"` from one JSON library, and 7 as `7.0` or `"7"` from some servers.

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
    Spelled(Box<str>),
    Text(Box<str>),
}

impl Key {
    /// Reads a key. It does not keep in memory the message that it came in.
    pub(crate) fn of(json: &Json) -> Self {
        match json.string() {
            Some(text) => Self { number: number(&text), meaning: Meaning::Text(text.into()) },
            None => {
                let number = number(json.as_str());
                Self { number, meaning: Meaning::Spelled(json.as_str().into()) }
            }
        }
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

/// Returns the whole number that a text spells as JSON would, with or without a fraction of zeros.
fn number(text: &str) -> Option<i64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = whole.strip_prefix('-').unwrap_or(whole);
    let is_plain = whole == "0" || digits.starts_with(|digit| matches!(digit, '1'..='9'));
    let is_whole = fraction.bytes().all(|digit| digit == b'0');
    whole.parse().ok().filter(|_| is_plain && is_whole)
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
        for key in ["7.5", "\"+7\"", "\"07\"", "\"-+7\"", "\"\"", "\"x\""] {
            assert_eq!(found(key, &["7", "-7"]), None, "{key}");
        }
        assert_eq!(found("\"0\"", &["0"]), Some("0"));
        assert_eq!(found("\"-0\"", &["0"]), None);
    }

    fn key(text: &str) -> Key {
        Key::of(&Json::new(text.to_owned()).unwrap())
    }
}
