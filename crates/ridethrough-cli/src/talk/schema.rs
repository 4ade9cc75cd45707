//! As much of JSON Schema as it takes to type an argument and to say what is wrong with one.
//!
//! What is not known here is not checked: the server has the last word. A schema is a stranger's, so
//! depth is bounded and its words are made harmless by whoever prints them.

use ridethrough::Json;

/// A schema, or a part of one, with the whole that its references point into.
#[derive(Clone)]
pub(super) struct Schema {
    root: Json,
    node: Json,
}

impl Schema {
    pub(super) fn new(root: &Json) -> Self {
        Self { root: root.clone(), node: root.clone() }.followed()
    }

    /// The properties of an object, in their order.
    pub(super) fn properties(&self) -> Vec<(String, Self)> {
        let properties = self.node.member("properties").map(|it| it.members()).unwrap_or_default();
        properties.into_iter().map(|(name, node)| (name, self.at(node))).collect()
    }

    /// The names that an object cannot do without.
    pub(super) fn required(&self) -> Vec<String> {
        self.node.member("required").and_then(|it| it.read()).unwrap_or_default()
    }

    /// Whether an object may have other properties than those that are named.
    pub(super) fn is_open(&self) -> bool {
        self.node.member("additionalProperties").is_none_or(|it| it.as_str() != "false")
    }

    pub(super) fn description(&self) -> Option<String> {
        self.node.member("description")?.read()
    }

    /// The types that are allowed; none named means any.
    pub(super) fn types(&self) -> Vec<String> {
        self.types_at(0)
    }

    fn types_at(&self, depth: usize) -> Vec<String> {
        let named = self.node.member("type");
        let one = named.as_ref().and_then(|it| it.read::<String>()).map(|it| vec![it]);
        if let Some(types) = one.or_else(|| named?.read()) {
            return types;
        }
        let mut types: Vec<String> = Vec::new();
        for branch in self.branches(depth) {
            let more = branch.types_at(depth + 1);
            if more.is_empty() {
                return more;
            }
            let more = more.into_iter().filter(|it| !types.contains(it)).collect::<Vec<_>>();
            types.extend(more);
        }
        types
    }

    /// The only values that are allowed, if they are named.
    pub(super) fn values(&self) -> Option<Vec<Json>> {
        let named = self.node.member("enum").and_then(|it| it.elements());
        named.or_else(|| self.node.member("const").map(|it| vec![it]))
    }

    /// What fits, in words: `integer, 1 to 10` or `one of "a", "b"`.
    pub(super) fn words(&self) -> String {
        self.words_at(0)
    }

    fn words_at(&self, depth: usize) -> String {
        if let Some(values) = self.values() {
            let values: Vec<_> = values.iter().map(|it| it.as_str().to_owned()).collect();
            return format!("one of {}", values.join(", "));
        }
        let mut words = match self.types() {
            types if types.is_empty() => {
                let branches = self.branches(depth);
                let words: Vec<_> = branches.iter().map(|it| it.words_at(depth + 1)).collect();
                if words.is_empty() { "any value".to_owned() } else { words.join(" or ") }
            }
            types => types.join(" or "),
        };
        if let Some(items) = self.node.member("items").map(|it| self.at(it)) {
            let items = items.types();
            if !items.is_empty() {
                words = format!("{words} of {}", items.join(" or "));
            }
        }
        for (key, word) in BOUNDS {
            if let Some(bound) = self.node.member(key) {
                words = format!("{words}, {word} {}", bound.as_str());
            }
        }
        words
    }

    /// Everything that is wrong with a value, each with its place.
    pub(super) fn faults(&self, value: &Json) -> Vec<String> {
        let mut faults = Vec::new();
        self.look(value, "", 0, &mut faults);
        faults
    }

    fn look(&self, value: &Json, place: &str, depth: usize, faults: &mut Vec<String>) {
        if depth > DEEPEST {
            return;
        }
        if !self.fits(value, 0) {
            faults.push(self.told(place, &format!("must be {}", self.words())));
            return;
        }
        if value.as_str().starts_with('{') {
            self.look_inside(value, place, depth, faults);
        }
        if let (Some(items), Some(elements)) = (self.node.member("items"), value.elements()) {
            let items = self.at(items);
            for (number, element) in elements.iter().enumerate() {
                items.look(element, &format!("{place}[{number}]"), depth + 1, faults);
            }
        }
    }

    fn look_inside(&self, value: &Json, place: &str, depth: usize, faults: &mut Vec<String>) {
        let inside =
            |name: &str| if place.is_empty() { name.to_owned() } else { format!("{place}.{name}") };
        let properties = self.properties();
        for name in self.required() {
            if value.member(&name).is_none() {
                let property = properties.iter().find(|(it, _)| *it == name).map(|(_, it)| it);
                let words = property.map_or_else(|| "any value".to_owned(), Self::words);
                let fault = format!("is missing: {words}");
                faults.push(property.unwrap_or(self).told(&inside(&name), &fault));
            }
        }
        for (name, member) in value.members() {
            match properties.iter().find(|(it, _)| *it == name) {
                Some((_, property)) => property.look(&member, &inside(&name), depth + 1, faults),
                None if !self.is_open() && self.branches(0).is_empty() => {
                    let known: Vec<_> = properties.iter().map(|(it, _)| it.as_str()).collect();
                    faults.push(format!(
                        "`{}` is not known; known are {}",
                        inside(&name),
                        known.join(", ")
                    ));
                }
                None => {}
            }
        }
    }

    fn told(&self, place: &str, fault: &str) -> String {
        let place = if place.is_empty() { "the whole" } else { place };
        let description = self.description().map(|it| format!(" ({it})")).unwrap_or_default();
        format!("`{place}` {fault}{description}")
    }

    /// Whether a value is right on the outside: type, bounds, and the values that are named.
    fn fits(&self, value: &Json, depth: usize) -> bool {
        let types = self.types_at(depth);
        let is_typed = types.is_empty() || types.iter().any(|it| is_of(value, it));
        let is_named = self.values().is_none_or(|all| all.iter().any(|it| is_same(it, value)));
        let branches = self.branches(depth);
        let has_branch = branches.is_empty() || branches.iter().any(|it| it.fits(value, depth + 1));
        is_typed && is_named && self.is_within(value) && has_branch
    }

    /// Whether numbers and lengths keep to their bounds.
    fn is_within(&self, value: &Json) -> bool {
        let bound = |key: &str| self.node.member(key).and_then(|it| it.read::<f64>());
        if let Some(number) = value.read::<f64>() {
            return bound("minimum").is_none_or(|it| number >= it)
                && bound("maximum").is_none_or(|it| number <= it);
        }
        let size = match value.read::<String>() {
            Some(text) => Some((text.chars().count(), "minLength", "maxLength")),
            None => value.elements().map(|it| (it.len(), "minItems", "maxItems")),
        };
        size.is_none_or(|(size, least, most)| {
            bound(least).is_none_or(|it| size as f64 >= it)
                && bound(most).is_none_or(|it| size as f64 <= it)
        })
    }

    /// The alternatives, of which one must fit. So many, or so deep, that it would take long to look at
    /// all of them, count as none.
    fn branches(&self, depth: usize) -> Vec<Self> {
        let lists =
            ["anyOf", "oneOf"].into_iter().filter_map(|key| self.node.member(key)?.elements());
        let branches: Vec<_> = lists.flatten().collect();
        match depth > DEEPEST_BRANCH || branches.len() > MOST_BRANCHES {
            true => Vec::new(),
            false => branches.into_iter().map(|node| self.at(node)).collect(),
        }
    }

    fn at(&self, node: Json) -> Self {
        Self { root: self.root.clone(), node }.followed()
    }

    /// Goes where a reference points, within the same schema.
    fn followed(mut self) -> Self {
        for _ in 0..DEEPEST {
            let Some(reference) = self.node.member("$ref").and_then(|it| it.read::<String>())
            else {
                break;
            };
            let Some(path) = reference.strip_prefix("#/") else { break };
            let mut steps = path.split('/').map(|it| it.replace("~1", "/").replace("~0", "~"));
            let found = steps.try_fold(self.root.clone(), |node, step| node.member(&step));
            match found {
                Some(node) => self.node = node,
                None => break,
            }
        }
        self
    }
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

fn is_same(one: &Json, other: &Json) -> bool {
    let read = |it: &Json| it.read::<serde_json::Value>();
    one == other || read(one).is_some_and(|it| Some(it) == read(other))
}

const BOUNDS: [(&str, &str); 6] = [
    ("minimum", "at least"),
    ("maximum", "at most"),
    ("minLength", "characters at least"),
    ("maxLength", "characters at most"),
    ("minItems", "items at least"),
    ("maxItems", "items at most"),
];
/// No honest schema is deeper, and a reference that points at itself has an end.
const DEEPEST: usize = 16;
const DEEPEST_BRANCH: usize = 2;
const MOST_BRANCHES: usize = 16;

#[cfg(test)]
mod tests;
