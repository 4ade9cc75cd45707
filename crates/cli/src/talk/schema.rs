//! As much of JSON Schema as it takes to give an argument its type and to say in words what fits. Whether
//! a value fits is `check`'s matter.
//!
//! A schema is a stranger's: its size, the depth that is looked into and the steps that are taken are
//! bounded, and its words are made harmless by whoever prints them.

mod check;
mod choices;
mod faults;
mod plan;
mod tree;
mod unknown;

use std::cell::Cell;

use ridethrough::Json;

use crate::secrets;
pub(super) use check::{ArgumentVerdict, check};
pub(super) use choices::AllowedValue;
use tree::Tree;
pub(super) use unknown::SENT;

/// A schema as a server sent it.
pub(super) struct SchemaDocument {
    root: Tree,
    /// How many more steps are taken in it.
    steps: Cell<usize>,
    /// Why nothing is known of it, if nothing is.
    is_too_large: bool,
}

/// A schema, or a part of one, with the whole that its references point into.
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

    /// Whether it is so large that nobody looked.
    pub(super) const fn is_too_large(&self) -> bool {
        self.is_too_large
    }

    pub(super) fn schema(&self) -> Schema<'_> {
        Schema { document: self, node: &self.root }.followed()
    }

    /// The part that a JSON pointer points at.
    fn part(&self, pointer: &str) -> Option<Schema<'_>> {
        let node = self.root.pointer(pointer)?;
        Some(Schema { document: self, node }.followed())
    }

    /// Whether one more step may be taken.
    fn step(&self) -> bool {
        let left = self.steps.get();
        self.steps.set(left.saturating_sub(1));
        left > 0
    }
}

impl<'a> Schema<'a> {
    /// The properties of an object, in their order.
    pub(super) fn properties(self) -> impl Iterator<Item = (&'a str, Self)> {
        let properties = self.node.member("properties").map_or(&[][..], Tree::members);
        properties.iter().map(move |(name, node)| (name.as_str(), self.at(node)))
    }

    /// The property of this name, also if it stands in one of the forms that an object may have.
    pub(super) fn property(self, name: &str) -> Option<Self> {
        self.property_at(name, 0)
    }

    fn property_at(self, name: &str, depth: usize) -> Option<Self> {
        let own = self.node.member("properties").and_then(|it| it.member(name));
        own.map(|node| self.at(node)).or_else(|| {
            let forms = self.branches(depth).into_iter().chain(self.parts());
            forms.into_iter().find_map(|it| {
                if depth < DEEPEST_BRANCH { it.property_at(name, depth + 1) } else { None }
            })
        })
    }

    /// The names that an object cannot do without.
    pub(super) fn required(self) -> Vec<&'a str> {
        let names = self.node.member("required").map_or(&[][..], Tree::elements);
        names.iter().filter_map(Tree::text).collect()
    }

    /// The names that are required and of which nothing else is said.
    pub(super) fn undescribed(self) -> Vec<&'a str> {
        let names = self.required().into_iter();
        names.filter(|name| self.property(name).is_none()).take(MOST_VALUES).collect()
    }

    /// What the server says of it, without our secrets.
    pub(super) fn description(self) -> Option<String> {
        let said = self.node.member("description").and_then(Tree::text)?;
        Some(masked_and_cut(said, LONGEST_TEXT))
    }

    /// What is taken if nothing is given, as JSON without our secrets.
    pub(super) fn default(self) -> Option<String> {
        self.node.member("default").map(|it| shown(&it.json()))
    }

    /// What the elements of a list must be.
    pub(super) fn items(self) -> Option<Self> {
        let own = self.node.member("items").map(|node| self.at(node));
        own.or_else(|| {
            self.branches(0).into_iter().find_map(|it| Some(it.at(it.node.member("items")?)))
        })
    }

    /// The types that are allowed; none named means any.
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

    /// The only values that are allowed, as JSON, if they are named.
    pub(super) fn values(self) -> Option<Vec<String>> {
        let named = self.node.member("enum").map(Tree::elements);
        named
            .map(|it| it.iter().map(Tree::json).collect())
            .or_else(|| self.node.member("const").map(|it| vec![it.json()]))
    }

    /// What fits, in words: `integer, at least 1`, `one of "a", "b"` or `array of string or null`. What the server
    /// said is without our secrets there.
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

    /// The first of the schemas that hold together of which there is something to say.
    fn parts_words(self, depth: usize) -> String {
        let parts = if depth > DEEPEST_BRANCH { Vec::new() } else { self.parts() };
        let words = parts.into_iter().map(|it| it.words_at(depth + 1));
        words.into_iter().find(|it| it != ANY).unwrap_or_else(|| ANY.to_owned())
    }

    /// One type, with what is inside of it.
    fn type_words(self, name: &str, depth: usize) -> String {
        let inside = match name {
            "array" => self.node.member("items"),
            "object" => self.node.member("additionalProperties"),
            _ => None,
        };
        // Of a plain `true` or `{}` there is nothing to say.
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

    /// The alternatives, of which one must fit. So many, or so deep, that it would take long to look at
    /// all of them, count as none.
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

    /// The schemas that hold together with this one.
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

    /// Goes where a reference points, within the same schema.
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

/// Alternatives in words, each of them once; those that name values are one list.
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

/// Values, as many as a person would read.
fn one_of(mut values: Vec<String>) -> String {
    let more = values.len().saturating_sub(MOST_VALUES);
    values.truncate(MOST_VALUES);
    let more = if more > 0 { format!(" or {more} more") } else { String::new() };
    let values: Vec<_> = values.iter().map(|it| shown(it)).collect();
    format!("one of {}{more}", values.join(", "))
}

/// A value of the server's, as far as it is shown.
fn shown(value: &str) -> String {
    masked_and_cut(value, LONGEST_VALUE)
}

/// As much of a server's text as is shown, without our secrets. A secret that is cut would not be known again, so the
/// text is cut behind the longest one first: it may be there a thousand times, and all of it is too much to look at.
fn masked_and_cut(text: &str, longest: usize) -> String {
    let masked = secrets::masked(cut(text, longest + LONGEST_SECRET));
    cut(&masked, longest).to_owned()
}

/// As much of a stranger's text as is shown: through references it can be there a thousand times.
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
        // A type of a later day: the server knows.
        _ => true,
    }
}

/// Whether a number has no part behind the point; `1.0` has none.
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
/// What fits where nothing is said.
const ANY: &str = "any value";
/// The types of JSON Schema.
const TYPES: [&str; 7] = ["array", "boolean", "integer", "null", "number", "object", "string"];
/// No honest schema is deeper, and a reference that points at itself has an end.
const DEEPEST: usize = 16;
const DEEPEST_BRANCH: usize = 2;
const MOST_BRANCHES: usize = 16;
const MOST_VALUES: usize = 100;
const LONGEST_TEXT: usize = 2000;
const LONGEST_VALUE: usize = 200;
const LONGEST_POINTER: usize = 1000;
/// More than servers take as the value of a header.
const LONGEST_SECRET: usize = 16 << 10;
/// How much is looked at in one schema: far more than an honest one needs, and soon done.
const MOST_STEPS: usize = 200_000;

#[cfg(test)]
mod tests;
