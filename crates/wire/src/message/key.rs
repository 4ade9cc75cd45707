//! The comparison of ids and of progress tokens that mean one thing in different spellings.
//!
//! Payloads pass byte for byte, but who repeats an id may do so in another spelling: `"a/b"` comes back as
//! `"a\/b"` from one JSON library, and 7 as `7.0` from another, or as `"7"` from some servers.

use std::collections::BTreeMap;

use super::Json;

/// The meaning of an id or a token. Two are equal if their spelling is equal, or if both spell one text.
///
/// ```
/// use ridethrough_wire::message::{Json, Key};
///
/// let key = |text: &'static str| Key::of(&Json::new(text).unwrap());
/// assert_eq!(key(r#""a/b""#), key(r#""a\/b""#));
/// assert_ne!(key("7"), key(r#""7""#));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    meaning: Meaning,
    /// The whole number that it is, or that its text spells.
    number: Option<i64>,
}

/// Values by the ids of a host's requests. A host that names a request again may spell its id otherwise.
#[derive(Clone, Debug)]
pub struct ByKey<V>(BTreeMap<Key, V>);

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Meaning {
    /// Anything but a text, in its own spelling.
    Spelled(Box<str>),
    Text(Box<str>),
}

impl Key {
    /// Reads a key. It does not keep in memory the message that it came in.
    pub fn of(json: &Json) -> Self {
        if let Some(text) = json.string() {
            return Self { number: number(&text), meaning: Meaning::Text(text.into()) };
        }
        Self { number: number(json.as_str()), meaning: Meaning::Spelled(json.as_str().into()) }
    }

    const fn is_text(&self) -> bool {
        matches!(self.meaning, Meaning::Text(_))
    }

    /// Finds the item that the one who was asked means by a key: an equal one or, if there is only one such, one
    /// with an equal number.
    pub fn meant<'a, T>(
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

impl<V> ByKey<V> {
    /// Sets the value of a key.
    pub fn insert(&mut self, key: Key, value: V) {
        self.0.insert(key, value);
    }

    /// Returns the value of exactly this key.
    pub fn get(&self, key: &Key) -> Option<&V> {
        self.0.get(key)
    }

    /// Removes the value of this key or, if there is only one such, of a number of equal value. A text is never a
    /// number to the host that wrote it.
    pub fn remove(&mut self, key: &Key) -> Option<V> {
        if let Some(value) = self.0.remove(key) {
            return Some(value);
        }
        let is_equal = |it: &&Key| {
            let are_numbers = !key.is_text() && !it.is_text() && key.number.is_some();
            are_numbers && it.number == key.number
        };
        let mut equal = self.0.keys().filter(is_equal);
        let only = equal.next().filter(|_| equal.next().is_none())?.clone();
        self.0.remove(&only)
    }

    /// Returns how many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<V> Default for ByKey<V> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<V> FromIterator<(Key, V)> for ByKey<V> {
    fn from_iter<I: IntoIterator<Item = (Key, V)>>(all: I) -> Self {
        Self(all.into_iter().collect())
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
    fn two_spellings_of_one_text_are_equal() {
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

    #[test]
    fn a_host_may_spell_its_number_otherwise_and_not_as_a_text() {
        let found = |wanted: &str, all: &[&str]| {
            let all = all.iter().enumerate();
            let mut all: ByKey<usize> = all.map(|(number, it)| (key(it), number)).collect();
            all.remove(&key(wanted))
        };

        assert_eq!(found("1.0", &["2", "1"]), Some(1));
        assert_eq!(found("1.0", &["\"1\"", "1"]), Some(1));
        assert_eq!(found(r#""a\/b""#, &[r#""a/b""#]), Some(0));
        assert_eq!(found("1.0", &["1.0", "1"]), Some(0));
        assert_eq!(found("1.00", &["1.0", "1"]), None);
        for wanted in ["\"1\"", "\"1.0\"", "1.5", "2", "null"] {
            assert_eq!(found(wanted, &["1"]), None, "{wanted}");
        }
        assert_eq!(found("1", &["\"1\""]), None);
    }

    fn key(text: &str) -> Key {
        Key::of(&Json::new(text.to_owned()).unwrap())
    }
}
