//! A piece of JSON, kept as the bytes it was.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use bytes::Bytes;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// Valid JSON text, never re-encoded.
#[derive(Clone, PartialEq, Eq)]
pub struct Json(Bytes);

/// The text is not JSON.
#[derive(Debug, thiserror::Error)]
#[error("not valid JSON")]
pub struct NotJson(#[source] serde_json::Error);

impl Json {
    /// Checks that `text` is one JSON value and keeps it.
    pub fn new(text: impl Into<Bytes>) -> Result<Self, NotJson> {
        let text = text.into();
        let value: &RawValue = serde_json::from_slice(&text).map_err(NotJson)?;
        Ok(Self::part_of(&text, value))
    }

    /// Writes a value as JSON.
    pub fn of(value: &(impl Serialize + ?Sized)) -> Result<Self, serde_json::Error> {
        serde_json::to_vec(value).map(|text| Self(text.into()))
    }

    /// The part of `source` that `value` was read from, without a copy.
    pub(super) fn part_of(source: &Bytes, value: &RawValue) -> Self {
        Self(source.slice_ref(value.get().as_bytes()))
    }

    /// Text that this crate wrote itself.
    pub(super) const fn trusted(text: Bytes) -> Self {
        Self(text)
    }

    /// `{}`.
    pub const fn empty_object() -> Self {
        Self(Bytes::from_static(b"{}"))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("JSON was checked when it was taken in")
    }

    /// The text as shared bytes.
    pub const fn as_bytes(&self) -> &Bytes {
        &self.0
    }

    /// Reads what the caller needs of it.
    pub fn read<'a, T: Deserialize<'a>>(&'a self) -> Option<T> {
        serde_json::from_slice(&self.0).ok()
    }
}

impl fmt::Debug for Json {
    /// Prints the size only: payloads do not belong in logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Json({} bytes)", self.0.len())
    }
}

/// Where the value of `key` stands in the text of an object; the last one wins.
pub(crate) fn member(object: &str, key: &str) -> Option<Range<usize>> {
    let members: Members<'_> = serde_json::from_str(object).ok()?;
    let (_, value) = members.0.into_iter().rev().find(|(name, _)| name == key)?;
    let start = value.get().as_ptr() as usize - object.as_ptr() as usize;
    Some(start..start + value.get().len())
}

/// The members of an object in their order, values unread.
struct Members<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'a> Deserialize<'a> for Members<'a> {
    fn deserialize<D: Deserializer<'a>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;

        impl<'a> Visitor<'a> for Reader {
            type Value = Members<'a>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'a>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(Reader)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_is_found_where_it_stands_and_the_last_one_wins() {
        let text = r#"{ "a" : 1, "b": {"a": 2}, "a" : [3] }"#;

        let found = member(text, "a").unwrap();

        assert_eq!(&text[found], "[3]");
        assert_eq!(member(text, "c"), None);
        assert_eq!(member("[1]", "a"), None);
    }

    #[test]
    fn debug_prints_the_size_and_never_the_payload() {
        let json = Json::new(r#"{"password":"hunter2"}"#).unwrap();

        assert_eq!(format!("{json:?}"), "Json(22 bytes)");
    }
}
