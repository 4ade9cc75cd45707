//! The names of arguments against a schema: required ones that are missing, and ones that it does not know.
//!
//! A name that is not known is most often a mistake, even where others are allowed. What the values are is
//! left to the server.

use ridethrough::Json;
use serde_json::Value;

use super::{Schema, SchemaDocument, tree::Tree};
use crate::near;
use crate::secrets;
use crate::talk::origins::Origins;

/// The result of checking the names of arguments, each with its place.
#[derive(Default)]
pub(in crate::talk) struct NameVerdict {
    /// Names that are missing, and names that the schema forbids.
    pub(in crate::talk) faults: Vec<String>,
    /// Unknown names that are similar to a known one: the schema allows them, and they are most often
    /// misspelt.
    pub(in crate::talk) misspelt: Vec<String>,
    /// Unknown names that are similar to none, and may be sent nevertheless.
    pub(in crate::talk) warnings: Vec<String>,
}

/// Checks the names of arguments against the schema of their tool. Of very many faults, the first are
/// returned.
pub(in crate::talk) fn check_names(
    document: &SchemaDocument,
    arguments: &Json,
    origins: &Origins,
) -> NameVerdict {
    // A schema that was not looked at says nothing about names.
    let value = arguments.read::<Value>().filter(|_| !document.is_too_large());
    let Some(value) = value else { return NameVerdict::default() };
    let mut seen = SeenKeys { verdict: NameVerdict::default(), origins };
    seen.miss(document.schema(), &value, "", 0);
    seen.look(document.schema(), &value, ("", ""), 0);
    let mut verdict = seen.verdict;
    for told in [&mut verdict.faults, &mut verdict.misspelt, &mut verdict.warnings] {
        told.truncate(MOST);
    }
    verdict
}

struct SeenKeys<'a> {
    verdict: NameVerdict,
    origins: &'a Origins,
}

impl SeenKeys<'_> {
    /// Notes what is required and missing. Alternatives are not looked into: which of them is meant, the
    /// server decides.
    fn miss(&mut self, schema: Schema<'_>, value: &Value, place: &str, depth: usize) {
        let Value::Object(members) = value else { return };
        if depth > DEEPEST {
            return;
        }
        for name in schema.required().into_iter().filter(|it| !members.contains_key(*it)).take(MOST)
        {
            self.verdict.faults.push(missing(&inside(place, name), schema.property(name)));
        }
        for (name, member) in members {
            if let Some(property) = schema.own_property(name) {
                self.miss(property, member, &inside(place, name), depth + 1);
            }
        }
    }

    fn look(
        &mut self,
        schema: Schema<'_>,
        value: &Value,
        (pointer, place): (&str, &str),
        depth: usize,
    ) {
        if depth > DEEPEST {
            return;
        }
        if let (Some(items), Value::Array(elements)) = (schema.items(), value) {
            for (number, element) in elements.iter().enumerate().take(MOST) {
                let at = (format!("{pointer}/{number}"), format!("{place}[{number}]"));
                self.look(items, element, (&at.0, &at.1), depth + 1);
            }
        }
        let Value::Object(members) = value else { return };
        let known = known(schema);
        // A nested object without a description may hold anything; the arguments as a whole may not.
        let is_told = !takes_any(schema, 0) && (depth == 0 || !known.is_empty());
        for (name, member) in members {
            let at = (format!("{pointer}/{}", escaped(name)), inside(place, name));
            match schema.property(name) {
                Some(property) => self.look(property, member, (&at.0, &at.1), depth + 1),
                None if is_told && !known.contains(&name.as_str()) => {
                    let typed = self.origins.typed(&at.0);
                    let told = told(&at.1, name, &known, typed.as_deref());
                    if forbids_others(schema) {
                        self.verdict.faults.push(told);
                    } else if near::nearest(name, known.iter().copied()).is_empty() {
                        self.verdict.warnings.push(format!("{told}{SENT}"));
                    } else {
                        self.verdict.misspelt.push(told);
                    }
                }
                None => {}
            }
        }
    }
}

/// Returns the names that a schema knows, in all of its forms.
fn known(schema: Schema<'_>) -> Vec<&str> {
    let mut names = Vec::new();
    gather(schema, 0, &mut names);
    names
}

fn gather<'a>(schema: Schema<'a>, depth: usize, names: &mut Vec<&'a str>) {
    // A required name is known, even if the schema says nothing else about it.
    let own = schema.properties().map(|(name, _)| name).take(MOST_KNOWN);
    for name in own.chain(schema.required().into_iter().take(MOST_KNOWN)) {
        if !names.contains(&name) && names.len() < MOST_KNOWN {
            names.push(name);
        }
    }
    if depth < DEEPEST_FORM {
        forms(schema).into_iter().for_each(|it| gather(it, depth + 1, names));
    }
}

/// Returns the schemas that may hold for one object.
fn forms(schema: Schema<'_>) -> Vec<Schema<'_>> {
    let others =
        ["then", "else"].into_iter().filter_map(|key| Some(schema.at(schema.node.member(key)?)));
    schema.branches(0).into_iter().chain(schema.parts()).chain(others).collect()
}

/// Whether the schema describes other members: then any name is meant to be allowed.
fn takes_any(schema: Schema<'_>, depth: usize) -> bool {
    let is_map = |key| schema.node.member(key).is_some_and(|it: &Tree| !it.members().is_empty());
    let has_own = ["additionalProperties", "patternProperties", "unevaluatedProperties"]
        .into_iter()
        .any(is_map);
    has_own
        || (depth < DEEPEST_FORM && forms(schema).into_iter().any(|it| takes_any(it, depth + 1)))
}

/// Whether the schema says that no other members are allowed.
fn forbids_others(schema: Schema<'_>) -> bool {
    schema.node.member("additionalProperties").is_some_and(|it| it.json() == "false")
}

/// Returns the message about a name that is missing.
fn missing(place: &str, schema: Option<Schema<'_>>) -> String {
    let words = schema.map_or_else(|| "any value".to_owned(), Schema::words);
    let description = schema.and_then(Schema::description).map(|it| format!(" ({it})"));
    let place = secrets::masked(place);
    format!("`{place}` is missing: {words}{}", description.unwrap_or_default())
}

/// Returns the message about an unknown name.
fn told(place: &str, name: &str, known: &[&str], typed: Option<&str>) -> String {
    let meant = near::question(name, known.iter().copied()).map(|it| format!(" ({it})"));
    let meant = meant.map(|it| secrets::masked(&it));
    let shown: Vec<_> = known.iter().take(MOST_SHOWN).map(|it| secrets::masked(it)).collect();
    let more = if known.len() > MOST_SHOWN { " and more" } else { "" };
    let rest = match (meant, shown.is_empty()) {
        (Some(meant), _) => meant,
        (None, true) => "; none is".to_owned(),
        (None, false) => format!("; known are {}{more}", shown.join(", ")),
    };
    let typed = typed.map(|it| format!("; typed: `{it}`")).unwrap_or_default();
    format!("`{place}` is not known{rest}{typed}")
}

/// Returns a place as it is typed: `a.b`.
fn inside(place: &str, name: &str) -> String {
    if place.is_empty() { name.to_owned() } else { format!("{place}.{name}") }
}

/// Returns a name as a step of a JSON pointer.
fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// The end of the message about an unknown name where others are allowed.
pub(in crate::talk) const SENT: &str = "; it is sent all the same";
const MOST: usize = 20;
const MOST_KNOWN: usize = 500;
const MOST_SHOWN: usize = 20;
const DEEPEST: usize = 8;
const DEEPEST_FORM: usize = 2;
