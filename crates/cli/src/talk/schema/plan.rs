//! Prepares an untrusted schema for the library that checks by it: nothing in it refers outside, and the work
//! that it can cause is known before any of it is done.

use std::collections::HashMap;

use jsonschema::Draft;
use ridethrough::Json;
use serde_json::{Map, Value};

/// A schema that arguments can be checked by.
pub(super) struct CheckedSchema {
    pub(super) schema: Value,
    pub(super) draft: Draft,
}

impl CheckedSchema {
    /// Prepares a schema, or returns why nothing can be checked by it.
    pub(super) fn new(json: &Json) -> Result<Self, String> {
        if json.as_str().len() > LARGEST {
            return Err("is too large".to_owned());
        }
        let whole: Value = json.read().ok_or("is too deep")?;
        let draft = draft(&whole);
        let mut schema = whole.clone();
        let mut count = Count::default();
        close(&mut schema, &whole, &mut count);
        if count.nodes > MOST_NODES
            || count.references > MOST_REFERENCES
            || count.patterns > MOST_PATTERNS
        {
            return Err("has too many parts".to_owned());
        }
        if Unfolding::of(&schema) > MOST_WORK {
            Err("is too intricate".to_owned())
        } else {
            Ok(Self { schema, draft })
        }
    }

    /// Removes a pattern that the library cannot read, such as one that looks ahead. Returns whether there
    /// was one.
    pub(super) fn without_pattern(&mut self, pointer: &str) -> bool {
        let Some((parent, key)) = pointer.rsplit_once('/') else { return false };
        let key = key.replace("~1", "/").replace("~0", "~");
        let is_pattern = key == "pattern" || parent.ends_with("/patternProperties");
        let parent = self.schema.pointer_mut(parent).and_then(Value::as_object_mut);
        is_pattern && parent.is_some_and(|it| it.remove(&key).is_some())
    }
}

/// Returns the draft that the schema is written in; the newest, as in MCP, if it does not say.
fn draft(schema: &Value) -> Draft {
    let named = schema.get("$schema").and_then(Value::as_str).unwrap_or_default();
    match named {
        it if it.contains("draft-04") => Draft::Draft4,
        it if it.contains("draft-06") => Draft::Draft6,
        it if it.contains("draft-07") => Draft::Draft7,
        it if it.contains("2019-09") => Draft::Draft201909,
        _ => Draft::Draft202012,
    }
}

/// The counts of what a schema contains.
#[derive(Default)]
struct Count {
    nodes: usize,
    references: usize,
    patterns: usize,
}

/// Removes what refers elsewhere: identifiers of its own, and references that do not point into it.
fn close(node: &mut Value, whole: &Value, count: &mut Count) {
    count.nodes += 1;
    if count.nodes > MOST_NODES {
        return;
    }
    match node {
        Value::Array(elements) => elements.iter_mut().for_each(|it| close(it, whole, count)),
        Value::Object(members) => {
            for key in NAMES {
                if members.get(key).is_some_and(|it| !it.is_object()) {
                    members.remove(key);
                }
            }
            let reference = members.get("$ref").and_then(Value::as_str);
            if let Some(reference) = reference {
                count.references += 1;
                if target(reference, whole).is_none() {
                    members.remove("$ref");
                }
            }
            count.patterns += usize::from(members.contains_key("pattern"));
            count.patterns +=
                members.get("patternProperties").and_then(Value::as_object).map_or(0, Map::len);
            let inside = members.iter_mut().filter(|(key, _)| !VALUES.contains(&key.as_str()));
            inside.for_each(|(_, it)| close(it, whole, count));
        }
        _ => {}
    }
}

/// Returns the target of a reference within the schema.
fn target<'a>(reference: &str, whole: &'a Value) -> Option<&'a Value> {
    let pointer = reference.strip_prefix('#').filter(|it| it.len() <= LONGEST)?;
    whole.pointer(pointer)
}

/// The work that one value can cause, with each reference written out: alternatives that refer to
/// alternatives double with every step.
struct Unfolding<'a> {
    whole: &'a Value,
    /// The work behind each reference; `None` while it is being computed.
    known: HashMap<&'a str, Option<u64>>,
}

impl<'a> Unfolding<'a> {
    /// Returns the most work that any part of the schema causes.
    fn of(whole: &'a Value) -> u64 {
        let mut unfolding = Self { whole, known: HashMap::new() };
        let (mut most, mut open) = (0, vec![whole]);
        while let Some(node) = open.pop() {
            most = most.max(unfolding.work(node));
            if most > MOST_WORK {
                return most;
            }
            match node {
                Value::Array(elements) => open.extend(elements),
                Value::Object(members) => open.extend(members.values()),
                _ => {}
            }
        }
        most
    }

    /// Returns the work that this part causes for a value, without the values inside of it.
    fn work(&mut self, node: &'a Value) -> u64 {
        let Value::Object(members) = node else { return 1 };
        let mut work: u64 = 1;
        if let Some(reference) = members.get("$ref").and_then(Value::as_str) {
            work = work.saturating_add(self.work_behind(reference));
        }
        for key in ["not", "if", "then", "else"] {
            work = work.saturating_add(members.get(key).map_or(0, |it| self.work(it)));
        }
        let lists =
            ["allOf", "anyOf", "oneOf"].into_iter().filter_map(|key| members.get(key)?.as_array());
        let depending = members.get("dependentSchemas").and_then(Value::as_object);
        let all: Vec<_> =
            lists.flatten().chain(depending.into_iter().flat_map(Map::values)).collect();
        all.into_iter().fold(work, |work, it| work.saturating_add(self.work(it)))
    }

    fn work_behind(&mut self, reference: &'a str) -> u64 {
        match self.known.get(reference) {
            Some(Some(work)) => return *work,
            // The reference leads back to itself, which the library notices too.
            Some(None) => return 1,
            None => {}
        }
        self.known.insert(reference, None);
        let work = target(reference, self.whole).map_or(1, |it| self.work(it));
        self.known.insert(reference, Some(work));
        work
    }
}

/// The keys that give a part of a schema a name for references elsewhere.
const NAMES: [&str; 9] = [
    "$anchor",
    "$dynamicAnchor",
    "$dynamicRef",
    "$id",
    "$recursiveAnchor",
    "$recursiveRef",
    "$schema",
    "$vocabulary",
    "id",
];
/// The keys that hold values and not schemas.
const VALUES: [&str; 5] = ["const", "default", "enum", "example", "examples"];
const LARGEST: usize = 1 << 20;
const LONGEST: usize = 1000;
const MOST_NODES: usize = 100_000;
/// The most references: the library's time grows with the square of their number.
const MOST_REFERENCES: usize = 1000;
const MOST_PATTERNS: usize = 500;
const MOST_WORK: u64 = 5000;
