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

    /// The same, but copied where most of `source` is something else: who keeps a part of a message
    /// for long must not hold all that came with it.
    pub(super) fn kept_from(source: &Bytes, value: &RawValue) -> Self {
        match value.get().len() < source.len() / 2 {
            true => Self(Bytes::copy_from_slice(value.get().as_bytes())),
            false => Self::part_of(source, value),
        }
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

    /// The value of this key, if it is an object that has it; without a copy. The last one wins.
    pub fn member(&self, key: &str) -> Option<Self> {
        member(self.as_str(), key).map(|place| Self(self.0.slice(place)))
    }

    /// The members in their order, if it is an object; values without a copy.
    pub fn members(&self) -> Vec<(String, Self)> {
        let members: Option<Members<'_>> = serde_json::from_slice(&self.0).ok();
        let members = members.into_iter().flat_map(|members| members.0);
        members.map(|(key, value)| (key.into_owned(), Self::part_of(&self.0, value))).collect()
    }

    /// The same object with these members behind its own. What is no object stays what it is.
    pub fn with_members(&self, more: impl IntoIterator<Item = (String, Self)>) -> Self {
        let Some(open) = self.as_str().strip_suffix('}') else { return self.clone() };
        let mut text = open.to_owned();
        // By the text: an object whose keys cannot be read is not an empty one.
        let mut is_first = open.trim_end() == "{";
        for (key, value) in more {
            if !is_first {
                text.push(',');
            }
            is_first = false;
            text.push_str(&serde_json::to_string(&key).expect("a string is JSON"));
            text.push(':');
            text.push_str(value.as_str());
        }
        text.push('}');
        Self::trusted(text.into())
    }

    /// The elements, if it is an array; without a copy.
    pub fn elements(&self) -> Option<Vec<Self>> {
        let elements: Vec<&RawValue> = serde_json::from_slice(&self.0).ok()?;
        Some(elements.into_iter().map(|element| Self::part_of(&self.0, element)).collect())
    }

    /// Reads what the caller needs of it.
    pub fn read<'a, T: Deserialize<'a>>(&'a self) -> Option<T> {
        serde_json::from_slice(&self.0).ok()
    }
}

impl From<serde_json::Value> for Json {
    fn from(value: serde_json::Value) -> Self {
        Self(value.to_string().into())
    }
}

impl Serialize for Json {
    /// Byte for byte, in the words of `serde_json`; no other format can carry it.
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: &RawValue = serde_json::from_slice(&self.0).map_err(serde::ser::Error::custom)?;
        raw.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Json {
    /// Byte for byte, in the words of `serde_json`; no other format can carry it.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw: Box<RawValue> = Deserialize::deserialize(deserializer)?;
        Ok(Self(Box::<str>::from(raw).into_boxed_bytes().into_vec().into()))
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
    fn members_and_elements_are_parts_of_the_text() {
        let json = Json::new(r#"{"n":1.10,"list":[ {"a":1e2} , "\u00e9" ]}"#).unwrap();

        let list = json.member("list").unwrap().elements().unwrap();

        let texts: Vec<_> = list.iter().map(Json::as_str).collect();
        assert_eq!(texts, [r#"{"a":1e2}"#, r#""\u00e9""#]);
        assert!(json.as_bytes().as_ptr_range().contains(&list[0].as_bytes().as_ptr()));
        assert_eq!(json.member("n").unwrap().elements(), None);
    }

    #[test]
    fn members_are_put_behind_those_of_an_object_and_of_nothing_else() {
        let more = || [("a\"".to_owned(), Json::new("1.10").unwrap())];

        for (text, expected) in [
            ("{}", r#"{"a\"":1.10}"#),
            (r#"{"b": {} }"#, r#"{"b": {} ,"a\"":1.10}"#),
            // A key that is no Unicode: JSON, but nothing that a string can hold.
            (r#"{"\ud800":0}"#, r#"{"\ud800":0,"a\"":1.10}"#),
            ("[]", "[]"),
            (r#""}""#, r#""}""#),
        ] {
            let with = Json::new(text).unwrap().with_members(more());

            assert_eq!(with.as_str(), expected);
        }
    }

    #[test]
    fn json_inside_a_type_keeps_its_bytes_both_ways() {
        #[derive(Serialize, Deserialize)]
        struct Envelope {
            payload: Json,
        }
        let text = r#"{"payload":{"z":1.10, "a":123456789012345678901234567890}}"#;

        let read: Envelope = serde_json::from_str(text).unwrap();

        assert_eq!(read.payload.as_str(), r#"{"z":1.10, "a":123456789012345678901234567890}"#);
        assert_eq!(serde_json::to_string(&read).unwrap(), text);
    }

    #[test]
    fn debug_prints_the_size_and_never_the_payload() {
        let json = Json::new(r#"{"password":"hunter2"}"#).unwrap();

        assert_eq!(format!("{json:?}"), "Json(22 bytes)");
    }
}
