//! JSON as a tree that keeps the order of members and finds each by name in constant time.

use std::collections::HashMap;
use std::fmt;

use ridethrough::Json;
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, Serializer};
use serde_json::Value;

/// A JSON value.
pub(super) enum Tree {
    Array(Vec<Self>),
    Object(Members),
    /// A value without elements or members.
    Plain(Value),
}

/// The members of an object, in their order. Of two with one name the last one counts.
#[derive(Default)]
pub(super) struct Members {
    all: Vec<(String, Tree)>,
    places: HashMap<String, usize>,
}

impl Tree {
    /// Reads JSON; `None` if it is larger or deeper than a sensible schema.
    pub(super) fn read(json: &Json) -> Option<Self> {
        (json.as_str().len() <= LARGEST).then(|| json.read())?
    }

    /// Returns an object without members, which allows anything.
    pub(super) fn empty() -> Self {
        Self::Object(Members::default())
    }

    pub(super) fn member(&self, key: &str) -> Option<&Self> {
        match self {
            Self::Object(members) => members.get(key),
            Self::Array(_) | Self::Plain(_) => None,
        }
    }

    /// Returns the members in their order; none for any other value.
    pub(super) fn members(&self) -> &[(String, Self)] {
        match self {
            Self::Object(members) => &members.all,
            Self::Array(_) | Self::Plain(_) => &[],
        }
    }

    /// Returns the elements; none for any other value.
    pub(super) fn elements(&self) -> &[Self] {
        match self {
            Self::Array(elements) => elements,
            Self::Object(_) | Self::Plain(_) => &[],
        }
    }

    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Plain(value) => value.as_str(),
            Self::Array(_) | Self::Object(_) => None,
        }
    }

    /// Returns the target of a JSON pointer.
    pub(super) fn pointer(&self, pointer: &str) -> Option<&Self> {
        if pointer.is_empty() {
            return Some(self);
        }
        let mut steps = pointer.strip_prefix('/')?.split('/');
        steps.try_fold(self, |node, step| match node {
            Self::Object(members) => members.get(&step.replace("~1", "/").replace("~0", "~")),
            Self::Array(elements) => elements.get(step.parse::<usize>().ok()?),
            Self::Plain(_) => None,
        })
    }

    /// Returns the tree as JSON.
    pub(super) fn json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

impl Members {
    fn get(&self, key: &str) -> Option<&Tree> {
        self.places.get(key).map(|&place| &self.all[place].1)
    }

    fn put(&mut self, key: String, value: Tree) {
        match self.places.get(&key) {
            Some(&place) => self.all[place].1 = value,
            None => {
                self.places.insert(key.clone(), self.all.len());
                self.all.push((key, value));
            }
        }
    }
}

impl Serialize for Tree {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Array(elements) => serializer.collect_seq(elements),
            Self::Object(members) => {
                serializer.collect_map(members.all.iter().map(|(key, value)| (key, value)))
            }
            Self::Plain(value) => value.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TreeReader)
    }
}

struct TreeReader;

impl<'de> Visitor<'de> for TreeReader {
    type Value = Tree;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Tree, E> {
        Ok(Tree::Plain(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Tree, E> {
        Ok(Tree::Plain(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Tree, E> {
        Ok(Tree::Plain(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Tree, E> {
        Ok(Tree::Plain(value.into()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Tree, E> {
        Ok(Tree::Plain(value.into()))
    }

    fn visit_unit<E>(self) -> Result<Tree, E> {
        Ok(Tree::Plain(Value::Null))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Tree, A::Error> {
        let mut elements = Vec::new();
        while let Some(element) = sequence.next_element()? {
            elements.push(element);
        }
        Ok(Tree::Array(elements))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Tree, A::Error> {
        let mut members = Members::default();
        while let Some((key, value)) = map.next_entry()? {
            members.put(key, value);
        }
        Ok(Tree::Object(members))
    }
}

/// The most bytes: more than a sensible schema has.
const LARGEST: usize = 4 << 20;
