//! Argument names that the schema does not know. Even where other names are allowed, they are most often
//! mistakes.

use serde_json::Value;

use super::faults::{escaped, inside};
use super::{Schema, tree::Tree};
use crate::near;
use crate::secrets;
use crate::talk::arguments::Origins;

/// The unknown names, each with its message.
#[derive(Default)]
pub(super) struct Unknown {
    /// Names that are similar to a known one.
    pub(super) misspelt: Vec<String>,
    /// Names that are similar to none.
    pub(super) others: Vec<String>,
}

/// Returns the unknown names in the arguments, except those that are reported as faults already.
pub(super) fn names(
    schema: Schema<'_>,
    value: &Value,
    origins: &Origins,
    faults: &[String],
) -> Unknown {
    let mut seen = SeenKeys { unknown: Unknown::default(), origins };
    seen.look(schema, value, ("", ""), 0);
    let is_new = |it: &String| !faults.iter().any(|fault| it.starts_with(fault.as_str()));
    let told = |names: Vec<String>| names.into_iter().filter(is_new).take(MOST);
    Unknown {
        misspelt: told(seen.unknown.misspelt).collect(),
        others: told(seen.unknown.others).map(|it| format!("{it}{SENT}")).collect(),
    }
}

struct SeenKeys<'a> {
    unknown: Unknown,
    origins: &'a Origins,
}

impl SeenKeys<'_> {
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
                    if near::nearest(name, known.iter().copied()).is_empty() {
                        self.unknown.others.push(told)
                    } else {
                        self.unknown.misspelt.push(told)
                    }
                }
                None => {}
            }
        }
    }
}

/// Returns the names that a schema knows, in all of its forms.
pub(super) fn known(schema: Schema<'_>) -> Vec<&str> {
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

/// Returns the message about an unknown name.
pub(super) fn told(place: &str, name: &str, known: &[&str], typed: Option<&str>) -> String {
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

/// The end of the message about an unknown name where others are allowed.
pub(in crate::talk) const SENT: &str = "; it is sent all the same";
const MOST: usize = 20;
const MOST_KNOWN: usize = 500;
const MOST_SHOWN: usize = 20;
const DEEPEST: usize = 8;
const DEEPEST_FORM: usize = 2;
