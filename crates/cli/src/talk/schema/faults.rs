//! The faults of arguments, in our own words: the place, what fits there, and what was typed.

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind as Kind;
use serde_json::Value;

use super::{Schema, SchemaDocument, unknown};
use crate::secrets;
use crate::talk::arguments::Origins;

/// Turns the library's errors into words.
pub(super) struct FaultWords<'a> {
    document: &'a SchemaDocument,
    value: &'a Value,
    origins: &'a Origins,
}

impl<'a> FaultWords<'a> {
    pub(super) const fn new(
        document: &'a SchemaDocument,
        value: &'a Value,
        origins: &'a Origins,
    ) -> Self {
        Self { document, value, origins }
    }

    /// Returns every fault once; of very many, the first ones.
    pub(super) fn tell<'e>(
        &self,
        errors: impl Iterator<Item = ValidationError<'e>>,
    ) -> Vec<String> {
        let mut faults: Vec<String> = Vec::new();
        for fault in errors.flat_map(|error| self.one(&error, 0)) {
            if faults.len() == MOST {
                faults.push("there is more".to_owned());
                break;
            }
            if !faults.contains(&fault) {
                faults.push(fault);
            }
        }
        faults
    }

    fn one(&self, error: &ValidationError<'_>, depth: usize) -> Vec<String> {
        let pointer = error.instance_path().as_str();
        let place = place(pointer, self.value);
        // The path without the keyword at its end.
        let schema_path = error.schema_path().as_str();
        let schema =
            schema_path.rsplit_once('/').and_then(|(parent, _)| self.document.part(parent));
        match error.kind() {
            Kind::Required { property } => {
                let name = property.as_str().unwrap_or_default();
                vec![missing(&inside(&place, name), schema.and_then(|it| it.property(name)))]
            }
            Kind::AdditionalProperties { unexpected }
            | Kind::UnevaluatedProperties { unexpected } => {
                let known = schema.map(unknown::known).unwrap_or_default();
                let told = unexpected.iter().map(|name| {
                    let typed = self.origins.typed(&format!("{pointer}/{}", escaped(name)));
                    unknown::told(&inside(&place, name), name, &known, typed.as_deref())
                });
                told.collect()
            }
            Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
                self.forms(context, pointer, &place, schema, depth)
            }
            kind => {
                let is_of_type = matches!(kind, Kind::Type { .. });
                let how = self.spelling(pointer, &place, schema).filter(|_| is_of_type);
                vec![self.told(pointer, &place, &words(kind, schema), schema) + &then(how)]
            }
        }
    }

    /// Words the fault that none of several forms fits. Faults inside are reported for the forms that were
    /// meant: the others have another type, or another value in the member that tells the forms apart.
    fn forms(
        &self,
        forms: &[Vec<ValidationError<'static>>],
        pointer: &str,
        place: &str,
        schema: Option<Schema<'_>>,
        depth: usize,
    ) -> Vec<String> {
        let is_meant = |errors: &&Vec<ValidationError<'static>>| {
            !errors.iter().any(|it| is_other_form(it, pointer))
        };
        let meant: Vec<_> = forms.iter().filter(is_meant).collect();
        match meant.as_slice() {
            _ if depth >= DEEPEST => {}
            [] => {}
            [one] => return one.iter().flat_map(|it| self.one(it, depth + 1)).collect(),
            several if several.len() <= MOST_FORMS => {
                let told = several.iter().map(|errors| {
                    let faults: Vec<_> =
                        errors.iter().flat_map(|it| self.one(it, depth + 1)).collect();
                    faults.join(", ")
                });
                let told: Vec<_> = told.collect();
                let place = if place.is_empty() { "the whole" } else { place };
                return vec![format!("`{place}` fits none of its forms: {}", told.join("; or "))];
            }
            _ => {}
        }
        let words = schema.map_or_else(|| "something else".to_owned(), Schema::words);
        let how = self.spelling(pointer, place, schema);
        vec![self.told(pointer, place, &format!("must be {words}"), schema) + &then(how)]
    }

    fn told(&self, pointer: &str, place: &str, fault: &str, schema: Option<Schema<'_>>) -> String {
        let place = if place.is_empty() { "the whole" } else { place };
        let description = schema.and_then(Schema::description).map(|it| format!(" ({it})"));
        let typed = self.origins.typed(pointer).map(|it| format!("; typed: `{it}`"));
        let [description, typed] = [description, typed].map(Option::unwrap_or_default);
        format!("`{place}` {fault}{description}{typed}")
    }

    /// Returns how to type a value of the wanted type, if what was typed has another one.
    fn spelling(&self, pointer: &str, place: &str, schema: Option<Schema<'_>>) -> Option<String> {
        let (schema, value) = (schema?, self.value.pointer(pointer)?);
        let types = schema.types();
        let wants = |kind: &str| types.contains(&kind);
        let is_text = matches!(value, Value::String(_) | Value::Number(_) | Value::Bool(_));
        if place.is_empty() || !self.origins.are_words() || wants("string") {
            return None;
        }
        let place = secrets::masked(place);
        // An element of a list is not typed by itself.
        if let Some((list, _)) = place.rsplit_once('[').filter(|_| place.ends_with(']')) {
            return (is_text && wants("object")).then(|| objects(list, Some(schema)));
        }
        match value {
            Value::Object(_) if wants("array") && !wants("object") => Some(list(&place, schema)),
            _ if !is_text => None,
            _ if wants("object") => Some(object(&place, schema)),
            Value::String(_) if wants("array") => Some(list(&place, schema)),
            _ if wants("boolean") && !wants("integer") && !wants("number") => {
                Some(format!("type `{place}=true` or `{place}=false`"))
            }
            _ => None,
        }
    }
}

/// Returns how an object is typed.
fn object(place: &str, schema: Schema<'_>) -> String {
    match member(schema) {
        Some(name) => format!(
            "an object is typed as `{place}.{name}=...` for each member, or as JSON: \
             `{place}:='{{\"{name}\": ...}}'`"
        ),
        None => format!("an object is typed as `{place}.NAME=...` or `{place}:='{{...}}'`"),
    }
}

/// Returns how a list is typed.
fn list(place: &str, schema: Schema<'_>) -> String {
    let items = schema.items();
    if items.is_some_and(|it| it.types() == ["object"]) {
        return objects(place, items);
    }
    format!("a list is typed as `{place}=... {place}=...`, or as JSON: `{place}:='[...]'`")
}

/// Returns how a list of objects is typed.
fn objects(place: &str, items: Option<Schema<'_>>) -> String {
    let name = items.and_then(member).unwrap_or_else(|| "NAME".to_owned());
    format!("a list of objects is typed as JSON: `{place}:='[{{\"{name}\": ...}}]'`")
}

/// Returns a member that an object should have, in the first of its forms that has any.
fn member(schema: Schema<'_>) -> Option<String> {
    let forms = schema.branches(0);
    let name = [schema].into_iter().chain(forms).find_map(|form| {
        let required = form.required().into_iter().next();
        required.or_else(|| form.properties().next().map(|(name, _)| name))
    });
    name.map(secrets::masked)
}

/// Whether this error shows that another form was meant.
fn is_other_form(error: &ValidationError<'_>, pointer: &str) -> bool {
    let at = error.instance_path().as_str();
    match error.kind() {
        Kind::Type { .. } | Kind::Enum { .. } | Kind::FalseSchema => at == pointer,
        Kind::Constant { .. } => {
            at == pointer || at.rsplit_once('/').is_some_and(|(parent, _)| parent == pointer)
        }
        _ => false,
    }
}

fn words(kind: &Kind, schema: Option<Schema<'_>>) -> String {
    match kind {
        Kind::Contains => "lacks an element that it must have".to_owned(),
        Kind::FalseSchema => "is not allowed".to_owned(),
        Kind::Format { format } => {
            format!("must be a text of the format `{}`", secrets::masked(format))
        }
        Kind::MaxProperties { limit } => format!("must have at most {limit} members"),
        Kind::MinProperties { limit } => format!("must have at least {limit} members"),
        Kind::Not { .. } => "is what the schema forbids".to_owned(),
        Kind::OneOfMultipleValid { .. } => "fits several forms that exclude each other".to_owned(),
        Kind::Pattern { pattern } => format!("must match `{}`", secrets::masked(pattern)),
        Kind::PropertyNames { .. } => "has a member whose name is not allowed".to_owned(),
        Kind::UniqueItems => "must not have an element twice".to_owned(),
        Kind::AdditionalItems { .. } | Kind::UnevaluatedItems { .. } => {
            "has too many elements".to_owned()
        }
        _ => schema.map_or_else(
            || format!("does not fit (`{}`)", kind.keyword()),
            |it| format!("must be {}", it.words()),
        ),
    }
}

/// Returns words to append to a fault.
fn then(words: Option<String>) -> String {
    words.map(|it| format!("; {it}")).unwrap_or_default()
}

fn missing(place: &str, schema: Option<Schema<'_>>) -> String {
    let words = schema.map_or_else(|| "any value".to_owned(), Schema::words);
    let description = schema.and_then(Schema::description).map(|it| format!(" ({it})"));
    let place = secrets::masked(place);
    format!("`{place}` is missing: {words}{}", description.unwrap_or_default())
}

/// Returns a place as it is typed: `a.b[1]`.
pub(super) fn place(pointer: &str, value: &Value) -> String {
    let mut place = String::new();
    let mut at = Some(value);
    for step in pointer.split('/').skip(1) {
        let name = step.replace("~1", "/").replace("~0", "~");
        if at.is_some_and(Value::is_array) {
            place += &format!("[{name}]");
            at = at.and_then(|it| it.get(name.parse::<usize>().ok()?));
        } else {
            place = inside(&place, &name);
            at = at.and_then(|it| it.get(&name));
        }
    }
    place
}

pub(super) fn inside(place: &str, name: &str) -> String {
    if place.is_empty() { name.to_owned() } else { format!("{place}.{name}") }
}

/// Returns a name as a step of a JSON pointer.
pub(super) fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

const MOST: usize = 20;
const MOST_FORMS: usize = 4;
const DEEPEST: usize = 4;
