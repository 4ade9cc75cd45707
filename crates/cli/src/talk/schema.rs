//! As much of JSON Schema as is needed to give an argument its type and to say in words what fits. Whether
//! arguments fit, their server decides; before, only their names are looked at, and the fields of a form.
//!
//! A schema comes from the server and is not trusted: its size, the depth that is looked into and the number
//! of steps are bounded, and the code that prints its words makes them harmless.

mod field;
mod names;
mod tree;

use std::cell::Cell;

use ridethrough::Json;

use crate::secrets;
pub(super) use field::AllowedValue;
pub(super) use names::{NameVerdict, SENT, check_names};
use tree::Tree;

/// A schema as a server sent it.
pub(super) struct SchemaDocument {
    root: Tree,
    /// How many more steps may be taken in it.
    steps: Cell<usize>,
    /// Whether the schema is too large to be looked at.
    is_too_large: bool,
}

/// A schema, or a part of one, with the document that its references point into.
#[derive(Clone, Copy)]
pub(super) struct Schema<'a> {
    document: &'a SchemaDocument,
    node: &'a Tree,
}

impl SchemaDocument {
    pub(super) fn new(json: &Json) -> Self {
        let root = Tree::read(json);
        let is_too_large = root.is_none();
        let root = root.unwrap_or_else(Tree::empty);
        Self { root, steps: Cell::new(MOST_STEPS), is_too_large }
    }

    /// Whether the schema is too large to be looked at.
    pub(super) const fn is_too_large(&self) -> bool {
        self.is_too_large
    }

    pub(super) fn schema(&self) -> Schema<'_> {
        Schema { document: self, node: &self.root }.followed()
    }

    /// Whether one more step may be taken.
    fn step(&self) -> bool {
        let left = self.steps.get();
        self.steps.set(left.saturating_sub(1));
        left > 0
    }
}

impl<'a> Schema<'a> {
    /// Returns the properties of an object, in their order.
    pub(super) fn properties(self) -> impl Iterator<Item = (&'a str, Self)> {
        let properties = self.node.member("properties").map_or(&[][..], Tree::members);
        properties.iter().map(move |(name, node)| (name.as_str(), self.at(node)))
    }

    /// Returns the property of this name, also from one of the alternative forms of an object.
    pub(super) fn property(self, name: &str) -> Option<Self> {
        self.property_at(name, 0)
    }

    /// Returns the property that an object has in each of its forms.
    fn own_property(self, name: &str) -> Option<Self> {
        let own = self.node.member("properties").and_then(|it| it.member(name));
        own.map(|node| self.at(node))
    }

    fn property_at(self, name: &str, depth: usize) -> Option<Self> {
        self.own_property(name).or_else(|| {
            let forms = self.branches(depth).into_iter().chain(self.parts());
            forms.into_iter().find_map(|it| {
                if depth < DEEPEST_BRANCH { it.property_at(name, depth + 1) } else { None }
            })
        })
    }

    /// Returns the names of required properties.
    pub(super) fn required(self) -> Vec<&'a str> {
        let names = self.node.member("required").map_or(&[][..], Tree::elements);
        names.iter().filter_map(Tree::text).collect()
    }

    /// Returns the required names that the schema says nothing else about.
    pub(super) fn undescribed(self) -> Vec<&'a str> {
        let names = self.required().into_iter();
        names.filter(|name| self.property(name).is_none()).take(MOST_VALUES).collect()
    }

    /// Returns the server's description, without our secrets.
    pub(super) fn description(self) -> Option<String> {
        let said = self.node.member("description").and_then(Tree::text)?;
        Some(masked_and_cut(said, LONGEST_TEXT))
    }

    /// Returns the default value, as JSON without our secrets.
    pub(super) fn default(self) -> Option<String> {
        self.node.member("default").map(|it| shown(&it.json()))
    }

    /// Returns the schema of a list's elements.
    pub(super) fn items(self) -> Option<Self> {
        let own = self.node.member("items").map(|node| self.at(node));
        own.or_else(|| {
            self.branches(0).into_iter().find_map(|it| Some(it.at(it.node.member("items")?)))
        })
    }

    /// Returns the allowed types; an empty list means any.
    pub(super) fn types(self) -> Vec<&'a str> {
        self.types_at(0)
    }

    fn types_at(self, depth: usize) -> Vec<&'a str> {
        if let Some(named) = self.node.member("type") {
            let one = named.text().into_iter();
            return one.chain(named.elements().iter().filter_map(Tree::text)).collect();
        }
        let mut types: Vec<&str> = Vec::new();
        for branch in self.branches(depth) {
            let more = branch.types_at(depth + 1);
            if more.is_empty() {
                return more;
            }
            for it in more {
                if !types.contains(&it) {
                    types.push(it);
                }
            }
        }
        types
    }

    /// Returns the only allowed values, as JSON, if they are named.
    pub(super) fn values(self) -> Option<Vec<String>> {
        let named = self.node.member("enum").map(Tree::elements);
        named
            .map(|it| it.iter().map(Tree::json).collect())
            .or_else(|| self.node.member("const").map(|it| vec![it.json()]))
    }

    /// Returns what fits, in words: `integer, at least 1`, `one of "a", "b"` or `array of string or null`.
    /// The server's words in it are without our secrets.
    pub(super) fn words(self) -> String {
        cut(&self.words_at(0), LONGEST_TEXT).to_owned()
    }

    fn words_at(self, depth: usize) -> String {
        if let Some(values) = self.values() {
            return one_of(values);
        }
        let branches = self.branches(depth);
        let own = self.node.member("type").map(|_| self.types()).unwrap_or_default();
        let mut words = match own.as_slice() {
            _ if branches.iter().any(|it| it.values().is_some()) => alternatives(&branches, depth),
            [] if branches.is_empty() => self.parts_words(depth),
            [] => alternatives(&branches, depth),
            own => {
                let own: Vec<_> = own.iter().map(|it| self.type_words(it, depth)).collect();
                own.join(" or ")
            }
        };
        for (key, word) in BOUNDS {
            if let Some(bound) = self.node.member(key) {
                let bound = bound.text().map_or_else(|| bound.json(), |it| format!("`{it}`"));
                words = format!("{words}, {word} {}", shown(&bound));
            }
        }
        words
    }

    /// Returns the words for the first of the combined schemas that has any.
    fn parts_words(self, depth: usize) -> String {
        let parts = if depth > DEEPEST_BRANCH { Vec::new() } else { self.parts() };
        let words = parts.into_iter().map(|it| it.words_at(depth + 1));
        words.into_iter().find(|it| it != ANY).unwrap_or_else(|| ANY.to_owned())
    }

    /// Returns the words for one type, with the types inside of it.
    fn type_words(self, name: &str, depth: usize) -> String {
        let inside = match name {
            "array" => self.node.member("items"),
            "object" => self.node.member("additionalProperties"),
            _ => None,
        };
        // A plain `true` or `{}` says nothing.
        let inside = inside.filter(|it| depth <= DEEPEST_BRANCH && !it.members().is_empty());
        let name = if TYPES.contains(&name) { name.to_owned() } else { shown(name) };
        match inside.map(|node| self.at(node).words_at(depth + 1)) {
            Some(inside) if inside == ANY => name,
            Some(inside) if inside.contains(" or ") || inside.contains(", ") => {
                format!("{name} of ({inside})")
            }
            Some(inside) => format!("{name} of {inside}"),
            None => name,
        }
    }

    /// Returns the alternatives, of which one must fit. If they are too many, or too deep, to be looked at in
    /// a short time, there are none.
    pub(super) fn branches(self, depth: usize) -> Vec<Self> {
        let lists =
            ["anyOf", "oneOf"].map(|key| self.node.member(key).map_or(&[][..], Tree::elements));
        let branches: Vec<_> = lists.into_iter().flatten().collect();
        if depth > DEEPEST_BRANCH || branches.len() > MOST_BRANCHES || !self.document.step() {
            Vec::new()
        } else {
            branches.into_iter().map(|node| self.at(node)).collect()
        }
    }

    /// Returns the schemas that hold together with this one.
    fn parts(self) -> Vec<Self> {
        let parts = self.node.member("allOf").map_or(&[][..], Tree::elements);
        if parts.len() > MOST_BRANCHES || !self.document.step() {
            Vec::new()
        } else {
            parts.iter().map(|node| self.at(node)).collect()
        }
    }

    fn at(self, node: &'a Tree) -> Self {
        Self { node, ..self }.followed()
    }

    /// Follows a reference within this document.
    fn followed(mut self) -> Self {
        for _ in 0..DEEPEST {
            let reference = self.node.member("$ref").and_then(Tree::text);
            let pointer = reference.and_then(|it| it.strip_prefix('#'));
            let Some(pointer) = pointer.filter(|it| it.len() <= LONGEST_POINTER) else { break };
            if !self.document.step() {
                break;
            }
            match self.document.root.pointer(pointer) {
                Some(node) => self.node = node,
                None => break,
            }
        }
        self
    }
}

/// Returns alternatives in words, each once; those that name values become one list.
fn alternatives(branches: &[Schema<'_>], depth: usize) -> String {
    let values: Option<Vec<_>> = branches.iter().map(|it| it.values()).collect();
    if let Some(values) = values {
        return one_of(values.concat());
    }
    let mut words: Vec<String> = Vec::new();
    for it in branches.iter().map(|it| it.words_at(depth + 1)) {
        if !words.contains(&it) {
            words.push(it);
        }
    }
    words.join(" or ")
}

/// Returns values in words, as many as a person would read.
fn one_of(mut values: Vec<String>) -> String {
    let more = values.len().saturating_sub(MOST_VALUES);
    values.truncate(MOST_VALUES);
    let more = if more > 0 { format!(" or {more} more") } else { String::new() };
    let values: Vec<_> = values.iter().map(|it| shown(it)).collect();
    format!("one of {}{more}", values.join(", "))
}

/// Returns a value of the server, cut to the length that is shown.
fn shown(value: &str) -> String {
    masked_and_cut(value, LONGEST_VALUE)
}

/// Returns the beginning of a server's text, without our secrets. A secret that is cut would not be
/// recognised, so the text is first cut behind the longest possible one: it may occur a thousand times, and
/// masking all of it takes too long.
fn masked_and_cut(text: &str, longest: usize) -> String {
    let masked = secrets::masked(cut(text, longest + LONGEST_SECRET));
    cut(&masked, longest).to_owned()
}

/// Returns the beginning of a server's text: through references it can occur a thousand times.
pub(super) fn cut(text: &str, longest: usize) -> &str {
    text.char_indices().nth(longest).map_or(text, |(end, _)| &text[..end])
}

/// Whether a value is of this type of JSON Schema.
pub(super) fn is_of(value: &Json, kind: &str) -> bool {
    let text = value.as_str();
    let is_number = text.starts_with(|it: char| it == '-' || it.is_ascii_digit());
    match kind {
        "array" => text.starts_with('['),
        "boolean" => matches!(text, "true" | "false"),
        "integer" => is_number && is_whole(text),
        "null" => text == "null",
        "number" => is_number,
        "object" => text.starts_with('{'),
        "string" => text.starts_with('"'),
        // A type of a later revision is left to the server.
        _ => true,
    }
}

/// Whether a number has no fractional part; `1.0` has none.
fn is_whole(number: &str) -> bool {
    let is_plain = number.trim_start_matches('-').bytes().all(|it| it.is_ascii_digit());
    is_plain || number.parse::<f64>().is_ok_and(|it| it.fract() == 0.0)
}

const BOUNDS: [(&str, &str); 11] = [
    ("minimum", "at least"),
    ("exclusiveMinimum", "more than"),
    ("maximum", "at most"),
    ("exclusiveMaximum", "less than"),
    ("multipleOf", "a multiple of"),
    ("minLength", "characters at least"),
    ("maxLength", "characters at most"),
    ("minItems", "items at least"),
    ("maxItems", "items at most"),
    ("format", "as"),
    ("pattern", "matching"),
];
/// The words for a schema that says nothing.
const ANY: &str = "any value";
/// The types of JSON Schema.
const TYPES: [&str; 7] = ["array", "boolean", "integer", "null", "number", "object", "string"];
/// The deepest that is looked into: more than a sensible schema has, and an end to references that point at
/// themselves.
const DEEPEST: usize = 16;
const DEEPEST_BRANCH: usize = 2;
const MOST_BRANCHES: usize = 16;
const MOST_VALUES: usize = 100;
const LONGEST_TEXT: usize = 2000;
const LONGEST_VALUE: usize = 200;
const LONGEST_POINTER: usize = 1000;
/// The length of the longest secret: more than servers accept as the value of a header.
const LONGEST_SECRET: usize = 16 << 10;
/// The most steps in one schema: far more than a sensible one needs, and quickly done.
const MOST_STEPS: usize = 200_000;

#[cfg(test)]
mod tests;
