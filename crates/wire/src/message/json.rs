//! A JSON value, kept as the bytes it was.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use memchr::memchr;
use serde::de::Deserializer;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::scan::{self, Member};

/// Valid JSON text, never re-encoded.
#[derive(Clone)]
pub struct Json {
    text: Bytes,
    /// The places of the members of a large object, if they were found when it was checked, so that a member
    /// is found without reading the text again.
    index: Option<Arc<Vec<Member>>>,
}

/// The error for a text that is not JSON.
#[derive(Debug, thiserror::Error)]
#[error("not valid JSON")]
pub struct NotJson(#[source] serde_json::Error);

impl Json {
    /// Checks that `text` is one JSON value and keeps it.
    pub fn new(text: impl Into<Bytes>) -> Result<Self, NotJson> {
        let text = text.into();
        if let Some(place) = scan::only_value(&text).filter(|_| std::str::from_utf8(&text).is_ok())
        {
            return Ok(Self::bare(text.slice(place)));
        }
        // This parser says what is wrong, and where.
        let value: &RawValue = serde_json::from_slice(&text).map_err(NotJson)?;
        Ok(Self::bare(text.slice_ref(value.get().as_bytes())))
    }

    /// Keeps `owner` for as long as the text, or a part of it, is kept.
    #[must_use]
    pub fn with_owner(self, owner: impl Send + Sync + 'static) -> Self {
        struct Owned<T>(Bytes, T);

        impl<T> AsRef<[u8]> for Owned<T> {
            fn as_ref(&self) -> &[u8] {
                &self.0
            }
        }

        Self { text: Bytes::from_owner(Owned(self.text, owner)), index: self.index }
    }

    /// Serializes a value as JSON.
    pub fn of(value: &(impl Serialize + ?Sized)) -> Result<Self, serde_json::Error> {
        serde_json::to_vec(value).map(|text| Self::bare(text.into()))
    }

    /// Returns a value in the checked text `source`. A small part is copied, so that a kept part of a message
    /// does not hold the whole message in memory.
    pub(super) fn kept_from(source: &Bytes, value: &[u8]) -> Self {
        if value.len() < source.len() / 2 {
            Self::bare(Bytes::copy_from_slice(value))
        } else {
            Self::bare(source.slice_ref(value))
        }
    }

    /// Returns an object in `source`, with the places of its members if that list is whole.
    pub(super) fn kept_object(source: &Bytes, value: &[u8], members: Vec<Member>) -> Self {
        let is_whole = value.starts_with(b"{") && members.len() <= scan::MOST_LISTED;
        let index = (value.len() >= LARGE && is_whole).then(|| Arc::new(members));
        Self { index, ..Self::kept_from(source, value) }
    }

    /// Returns a value whose end the scan found; `None` if it is not UTF-8.
    pub(super) fn scanned(text: Bytes) -> Option<Self> {
        std::str::from_utf8(&text).is_ok().then(|| Self::bare(text))
    }

    const fn bare(text: Bytes) -> Self {
        Self { text, index: None }
    }

    /// Wraps text that this crate wrote itself.
    pub(super) const fn trusted(text: Bytes) -> Self {
        Self::bare(text)
    }

    /// Creates an object with these members.
    pub fn object<'a>(members: impl IntoIterator<Item = (&'a str, &'a Self)>) -> Self {
        let mut text = Vec::with_capacity(256);
        text.push(b'{');
        for (key, value) in members {
            put_member(&mut text, key, value);
        }
        text.push(b'}');
        Self::trusted(text.into())
    }

    /// Creates an empty object, `{}`.
    pub const fn empty_object() -> Self {
        Self::bare(Bytes::from_static(b"{}"))
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.text).expect("JSON was checked when it was taken in")
    }

    /// Returns the text as shared bytes.
    pub const fn as_bytes(&self) -> &Bytes {
        &self.text
    }

    /// Returns the value of this key, if this is an object that has it; without a copy. The last of equal
    /// keys wins.
    pub fn member(&self, key: &str) -> Option<Self> {
        let [value] = self.pick([key]);
        value
    }

    /// Returns the values of these keys, in one pass over the text.
    pub fn pick<const N: usize>(&self, keys: [&str; N]) -> [Option<Self>; N] {
        let places = match &self.index {
            Some(index) => {
                let mut places = [const { None }; N];
                index.iter().for_each(|member| note(&mut places, keys, &self.text, member));
                places
            }
            None => places_of(&self.text, keys),
        };
        places.map(|place| place.map(|place| Self::bare(self.text.slice(place))))
    }

    /// Returns the contents of a string; without a copy unless it has escapes.
    pub fn string(&self) -> Option<Cow<'_, str>> {
        string(&self.text)
    }

    /// Returns the members in their order, if this is an object; values without a copy.
    pub fn members(&self) -> Vec<(String, Self)> {
        let part = |member: &Member| {
            let key = String::from_utf8_lossy(&name_of(&self.text, member)).into_owned();
            (key, Self::bare(self.text.slice(member.value.clone())))
        };
        if let Some(index) = &self.index {
            return index.iter().map(part).collect();
        }
        let mut members = Vec::new();
        match scan::members(&self.text, |member| members.push(part(&member))) {
            Some(()) => members,
            None => Vec::new(),
        }
    }

    /// Returns the object with these members added at the end. A value that is no object is returned
    /// unchanged.
    pub fn with_members(&self, more: impl IntoIterator<Item = (String, Self)>) -> Self {
        let Some(open) = self.text.strip_suffix(b"}") else { return self.clone() };
        let mut text = open.to_vec();
        for (key, value) in more {
            put_member(&mut text, &key, &value);
        }
        text.push(b'}');
        Self::trusted(text.into())
    }

    /// Returns the object without these keys, and its other members as they are. A value that is no object is
    /// returned unchanged. It takes no more memory than its text, however many members there are.
    #[must_use]
    pub fn without(&self, keys: &[&str]) -> Self {
        let mut text = Vec::with_capacity(self.text.len());
        text.push(b'{');
        let keep = |member: Member| {
            let name = name_of(&self.text, &member);
            if keys.iter().any(|key| *key.as_bytes() == *name) {
                return;
            }
            if text.len() > 1 {
                text.push(b',');
            }
            text.push(b'"');
            text.extend_from_slice(&self.text[member.key]);
            text.extend_from_slice(b"\":");
            text.extend_from_slice(&self.text[member.value]);
        };
        if scan::members(&self.text, keep).is_none() {
            return self.clone();
        }
        text.push(b'}');
        Self::trusted(text.into())
    }

    /// Returns the elements, if this is an array; without a copy.
    pub fn elements(&self) -> Option<Vec<Self>> {
        let mut elements = Vec::new();
        scan::elements(&self.text, |place| elements.push(Self::bare(self.text.slice(place))))?;
        Some(elements)
    }

    /// Deserializes the value; `None` if it does not fit the type.
    pub fn read<'a, T: Deserialize<'a>>(&'a self) -> Option<T> {
        serde_json::from_slice(&self.text).ok()
    }
}

impl PartialEq for Json {
    /// Compares the text only.
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Json {}

impl From<serde_json::Value> for Json {
    fn from(value: serde_json::Value) -> Self {
        Self::bare(value.to_string().into())
    }
}

impl Serialize for Json {
    /// Writes the text byte for byte, by `serde_json`; no other format can carry it.
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let raw: &RawValue =
            serde_json::from_slice(&self.text).map_err(serde::ser::Error::custom)?;
        raw.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Json {
    /// Reads the text byte for byte, by `serde_json`; no other format can carry it.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw: Box<RawValue> = Deserialize::deserialize(deserializer)?;
        Ok(Self::bare(Box::<str>::from(raw).into_boxed_bytes().into_vec().into()))
    }
}

impl fmt::Debug for Json {
    /// Prints the size only: payloads do not belong in logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Json({} bytes)", self.text.len())
    }
}

/// Returns the place of the value of `key` in the text of an object; the last of equal keys wins.
pub fn member(object: &str, key: &str) -> Option<Range<usize>> {
    let [place] = places_of(object.as_bytes(), [key]);
    place
}

/// Returns the places of the values of several keys, in one pass over the text.
pub(super) fn places_of<const N: usize>(
    object: &[u8],
    keys: [&str; N],
) -> [Option<Range<usize>>; N] {
    let mut places = [const { None }; N];
    match scan::members(object, |member| note(&mut places, keys, object, &member)) {
        Some(()) => places,
        None => [const { None }; N],
    }
}

/// Notes the place of a member's value, if its name is one of the keys.
fn note<const N: usize>(
    places: &mut [Option<Range<usize>>; N],
    keys: [&str; N],
    object: &[u8],
    member: &Member,
) {
    let name = name_of(object, member);
    if let Some(which) = keys.iter().position(|key| *key.as_bytes() == *name) {
        places[which] = Some(member.value.clone());
    }
}

/// Appends a member to the text of an open object.
fn put_member(text: &mut Vec<u8>, key: &str, value: &Json) {
    text.reserve(key.len() + value.text.len() + 8);
    // The text decides: an object whose keys cannot be read is not an empty one.
    if text.trim_ascii_end() != b"{" {
        text.push(b',');
    }
    serde_json::to_writer(&mut *text, key).expect("a string is JSON");
    text.push(b':');
    text.extend_from_slice(&value.text);
}

/// Returns the contents of a JSON string; without a copy unless it has escapes.
pub(super) fn string(json: &[u8]) -> Option<Cow<'_, str>> {
    let inside = json.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    match memchr(b'\\', inside) {
        Some(_) => serde_json::from_slice(json).ok().map(Cow::Owned),
        None => std::str::from_utf8(inside).ok().map(Cow::Borrowed),
    }
}

/// Returns the name of a member, with escapes decoded.
pub(super) fn name_of<'a>(object: &'a [u8], member: &Member) -> Cow<'a, [u8]> {
    let raw = &object[member.key.clone()];
    if !raw.contains(&b'\\') {
        return Cow::Borrowed(raw);
    }
    let quoted = &object[member.key.start - 1..=member.key.end];
    // Half of a surrogate pair is no character, and names nothing.
    Cow::Owned(serde_json::from_slice::<String>(quoted).unwrap_or_default().into())
}

/// The size from which an object's members are indexed.
const LARGE: usize = 1024;

#[cfg(test)]
mod tests;
