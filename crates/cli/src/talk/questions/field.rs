//! One field of a form: its prompt, the meaning of a typed line, and why a line does not fit.

use ridethrough::Json;

use super::super::arguments::{self, yes_or_no};
use super::super::schema::{Schema, SchemaDocument};
use super::pick::{Choices, shown};
use super::quoted;
use crate::safe;

/// A field.
pub(super) struct Field {
    pub(super) name: String,
    title: Option<String>,
    description: Option<String>,
    /// What fits, in words.
    fits: String,
    kind: FieldKind,
    is_required: bool,
    /// The value of an empty line, if there is one.
    default: Option<Json>,
    /// The schema of an object with this field alone.
    schema: Json,
}

enum FieldKind {
    Boolean,
    Many(Choices),
    One(Choices),
    /// Typed like an argument of a tool.
    Text,
}

impl Field {
    /// Returns the field of this name, in the schema of its form.
    pub(super) fn new(name: &str, property: Schema<'_>, form: &Json) -> Self {
        let is_listed = |names: Vec<String>| names.iter().any(|it| it == name);
        let raw = form.member("properties").and_then(|it| it.member(name));
        let default = raw.as_ref().and_then(|it| it.member("default"));
        Self {
            name: name.to_owned(),
            title: property.title(),
            description: property.description(),
            fits: property.words(),
            kind: FieldKind::of(property),
            is_required: form.member("required").and_then(|it| it.read()).is_some_and(is_listed),
            default: default.filter(|it| it.as_str() != "null"),
            schema: alone(name, &raw.unwrap_or_else(Json::empty_object), form),
        }
    }

    /// Returns the value of an empty line: the one that was given before, or else the default.
    fn proposed<'a>(&'a self, given: Option<&'a Json>) -> Option<&'a Json> {
        given.or(self.default.as_ref())
    }

    /// Returns the text before a line is read; its last line is the prompt.
    pub(super) fn question(&self, place: &str, given: Option<&Json>) -> String {
        let title = self.title.as_ref().map(|it| safe::line(it));
        let title = title.unwrap_or_else(|| safe::line(&self.name));
        let need = if self.is_required { ", required" } else { ", may be left empty" };
        let mut words = format!("\n{title} ({place}): {}{need}\n", self.kind_words());
        if let Some(description) = &self.description {
            words += &quoted(description);
        }
        if let FieldKind::Many(choices) | FieldKind::One(choices) = &self.kind {
            words += &choices.listed();
        }
        let proposed =
            self.proposed(given).map(|it| format!(" [{}]", safe::line(&self.written(it))));
        words + &format!("{}{}: ", safe::line(&self.name), proposed.unwrap_or_default())
    }

    fn kind_words(&self) -> String {
        match &self.kind {
            FieldKind::Boolean => "yes or no".to_owned(),
            FieldKind::Many(_) => "any number of these, with commas between".to_owned(),
            FieldKind::One(_) => "one of these".to_owned(),
            FieldKind::Text => safe::our_line(&self.fits),
        }
    }

    /// Returns a value as it could be typed here.
    pub(super) fn written(&self, value: &Json) -> String {
        match (&self.kind, value.as_str()) {
            (FieldKind::Boolean, "true") => "yes".to_owned(),
            (FieldKind::Boolean, "false") => "no".to_owned(),
            (FieldKind::Many(_), _) => match value.elements() {
                Some(elements) if !elements.is_empty() => {
                    elements.iter().map(shown).collect::<Vec<_>>().join(", ")
                }
                _ => value.as_str().to_owned(),
            },
            _ => shown(value),
        }
    }

    /// Returns the value of a line, or `None` where nothing is required; or why the line does not fit.
    pub(super) fn read(&self, line: &str, given: Option<&Json>) -> Result<Option<Json>, String> {
        let value = match (line.trim().is_empty(), self.proposed(given)) {
            (false, _) => self.value(line)?,
            (true, Some(proposed)) => proposed.clone(),
            (true, None) if self.is_required => return Err(self.missing()),
            (true, None) => return Ok(None),
        };
        self.check(&value)?;
        Ok(Some(value))
    }

    fn value(&self, line: &str) -> Result<Json, String> {
        match &self.kind {
            FieldKind::Boolean => yes_or_no(line)
                .map(|it| Json::from(serde_json::Value::Bool(it)))
                .ok_or_else(|| "type `yes` or `no`".to_owned()),
            FieldKind::Many(choices) => many(choices, line),
            FieldKind::One(choices) => choices.pick(line),
            FieldKind::Text => {
                let document = SchemaDocument::new(&self.schema);
                // The only way to type an empty text: an empty line means no value.
                let line = if line.trim() == "\"\"" { "" } else { line };
                Ok(arguments::value_of(line, document.schema().property(&self.name)))
            }
        }
    }

    /// Checks a value against the schema of the field.
    pub(super) fn check(&self, value: &Json) -> Result<(), String> {
        let document = SchemaDocument::new(&self.schema);
        match document.schema().property(&self.name) {
            Some(property) if !property.admits(value) => {
                Err(safe::our_line(&format!("`{}` must be {}", self.name, self.fits)))
            }
            _ => Ok(()),
        }
    }

    fn missing(&self) -> String {
        let text = if self.fits.starts_with("string") { "; `\"\"` is the empty text" } else { "" };
        format!("`{}` is required{text}", safe::line(&self.name))
    }

    /// Whether the name of the field shows that it asks for something that no form may ask for.
    pub(super) fn is_secret(&self) -> bool {
        let words = [Some(&self.name), self.title.as_ref()];
        let words = words.into_iter().flatten().map(|it| it.to_lowercase());
        let mut words = words.flat_map(|it| SECRETS.map(|secret| it.contains(secret)));
        words.any(|it| it)
    }
}

impl FieldKind {
    fn of(property: Schema<'_>) -> Self {
        let types = property.types();
        if let Some(choices) = property.choices() {
            return Self::One(Choices(choices));
        }
        if let (true, Some(choices)) =
            (types.contains(&"array"), property.items().and_then(Schema::choices))
        {
            return Self::Many(Choices(choices));
        }
        if types == ["boolean"] { Self::Boolean } else { Self::Text }
    }
}

/// Parses several choices with commas between, or a list as JSON.
fn many(choices: &Choices, line: &str) -> Result<Json, String> {
    if line.trim_start().starts_with('[') {
        let list = Json::new(line.trim().to_owned()).ok().filter(|it| it.elements().is_some());
        return list.ok_or_else(|| "what begins with `[` must be a list as JSON".to_owned());
    }
    // A choice may contain a comma.
    if let Ok(one) = choices.pick(line) {
        return Ok(list([one]));
    }
    let picked: Result<Vec<_>, _> = line.split(',').map(|part| choices.pick(part)).collect();
    let mut chosen: Vec<Json> = Vec::new();
    for it in picked? {
        if !chosen.contains(&it) {
            chosen.push(it);
        }
    }
    Ok(list(chosen))
}

fn list(elements: impl IntoIterator<Item = Json>) -> Json {
    let elements: Vec<_> = elements.into_iter().map(|it| it.as_str().to_owned()).collect();
    Json::new(format!("[{}]", elements.join(","))).expect("a list of JSON is JSON")
}

/// Returns the schema of an object that has this property and no other.
fn alone(name: &str, property: &Json, form: &Json) -> Json {
    let properties = Json::empty_object().with_members([(name.to_owned(), property.clone())]);
    let shared = form.members().into_iter().filter(|(key, _)| SHARED.contains(&key.as_str()));
    let shared: Vec<_> = shared.collect();
    Json::empty_object().with_members(shared).with_members([("properties".to_owned(), properties)])
}

/// The keys of a form to which properties may refer.
const SHARED: [&str; 2] = ["$defs", "definitions"];
/// Words for secrets. Servers must not ask for these in a form (2025-11-25, client/elicitation, security
/// considerations).
const SECRETS: [&str; 6] = ["api key", "api_key", "apikey", "passw", "secret", "token"];
