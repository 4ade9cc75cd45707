//! The choices of a field of a form, with their titles, and whether a value fits it, as far as the protocol lets a form ask
//! (`PrimitiveSchemaDefinition`, 2025-11-25): type, choices, bounds and formats.
//!
//! Whatever else a server writes into its form, it checks itself.

use ridethrough::Json;
use serde_json::Value;

use super::tree::Tree;
use super::{LONGEST_TEXT, Schema, is_of, masked_and_cut};

/// An allowed value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::talk) struct AllowedValue {
    pub(in crate::talk) value: Json,
    pub(in crate::talk) title: Option<String>,
}

impl Schema<'_> {
    /// Returns the title for people.
    pub(in crate::talk) fn title(self) -> Option<String> {
        let title = self.node.member("title").and_then(Tree::text)?;
        Some(masked_and_cut(title, LONGEST_TEXT))
    }

    /// Returns the only values that fit, if the schema names them: by `enum`, with the titles of `enumNames`,
    /// or by alternatives that are a `const` each.
    pub(in crate::talk) fn choices(self) -> Option<Vec<AllowedValue>> {
        let listed = self.node.member("enum").map(|values| self.listed(values.elements()));
        let titled = || {
            let forms = ["oneOf", "anyOf"].iter().find_map(|key| self.node.member(key))?;
            forms.elements().iter().take(MOST_CHOICES).map(titled).collect()
        };
        listed.or_else(titled).filter(|choices: &Vec<_>| !choices.is_empty())
    }

    fn listed(self, values: &[Tree]) -> Vec<AllowedValue> {
        let titles = self.node.member("enumNames").map_or(&[][..], Tree::elements);
        let titles = titles.iter().map(Tree::text).chain(std::iter::repeat(None));
        let choices = values.iter().zip(titles).take(MOST_CHOICES);
        choices.filter_map(|(value, title)| choice(value, title)).collect()
    }

    /// Whether the value fits, as far as is known here.
    pub(in crate::talk) fn admits(self, value: &Json) -> bool {
        let types = self.types();
        let is_of_type = types.is_empty() || types.iter().any(|kind| is_of(value, kind));
        let Some(read) = value.read::<Value>() else { return is_of_type };
        is_of_type && self.is_choice(&read) && self.is_within_bounds(&read)
    }

    /// Whether the value is one of those that the schema names, if it names any.
    fn is_choice(self, value: &Value) -> bool {
        let titled = || Some(self.choices()?.into_iter().map(|it| it.value.read()).collect());
        let named = || {
            let values = self.values()?.into_iter();
            Some(values.map(|it| serde_json::from_str(&it).ok()).collect::<Vec<_>>())
        };
        let allowed: Option<Vec<Option<Value>>> = titled().or_else(named);
        allowed.is_none_or(|allowed| allowed.iter().flatten().any(|it| it == value))
    }

    fn is_within_bounds(self, value: &Value) -> bool {
        match value {
            Value::Array(elements) => {
                self.has_size(elements.len(), ["minItems", "maxItems"])
                    && self.items().is_none_or(|items| {
                        elements.iter().all(|it| items.admits(&Json::from(it.clone())))
                    })
            }
            Value::Number(number) => number.as_f64().is_none_or(|it| {
                self.bound("minimum").is_none_or(|least| it >= least)
                    && self.bound("maximum").is_none_or(|most| it <= most)
            }),
            Value::String(text) => {
                let format = self.node.member("format").and_then(Tree::text);
                self.has_size(text.chars().count(), ["minLength", "maxLength"])
                    && format.is_none_or(|format| has_format(text, format))
            }
            Value::Bool(_) | Value::Null | Value::Object(_) => true,
        }
    }

    #[allow(clippy::cast_precision_loss, reason = "no text or list is that long")]
    fn has_size(self, size: usize, [least, most]: [&str; 2]) -> bool {
        let size = size as f64;
        self.bound(least).is_none_or(|it| size >= it)
            && self.bound(most).is_none_or(|it| size <= it)
    }

    fn bound(self, key: &str) -> Option<f64> {
        self.node.member(key)?.json().parse().ok()
    }
}

/// Whether a text can be meant as one of this format: enough to tell a slip, and the server looks closer.
fn has_format(text: &str, format: &str) -> bool {
    match format {
        "date" => is_date(text),
        "date-time" => text.split_once(['T', 't']).is_some_and(|(date, time)| {
            is_date(date) && time.starts_with(|it: char| it.is_ascii_digit()) && time.contains(':')
        }),
        "email" => {
            let parts = text.rsplit_once('@').filter(|_| !text.contains(char::is_whitespace));
            parts.is_some_and(|(name, host)| !name.is_empty() && !host.is_empty())
        }
        "uri" => text.split_once(':').is_some_and(|(scheme, rest)| {
            let is_of_scheme = |it: char| it.is_ascii_alphanumeric() || "+-.".contains(it);
            !scheme.is_empty() && scheme.chars().all(is_of_scheme) && !rest.is_empty()
        }),
        // A format of a later revision is left to the server.
        _ => true,
    }
}

/// Whether the text is a day: `2026-02-28`.
fn is_date(text: &str) -> bool {
    let parts: Option<Vec<u32>> = text.split('-').map(|it| it.parse().ok()).collect();
    let is_day = |parts: Vec<u32>| match parts.as_slice() {
        [_, month, day] => (1..=12).contains(month) && (1..=31).contains(day),
        _ => false,
    };
    text.len() == "2026-02-28".len() && parts.is_some_and(is_day)
}

fn titled(form: &Tree) -> Option<AllowedValue> {
    choice(form.member("const")?, form.member("title").and_then(Tree::text))
}

fn choice(value: &Tree, title: Option<&str>) -> Option<AllowedValue> {
    let value = Json::new(value.json()).ok()?;
    Some(AllowedValue { value, title: title.map(|it| masked_and_cut(it, LONGEST_TEXT)) })
}

/// The most choices that are offered; the check of the whole form refuses values beyond them.
const MOST_CHOICES: usize = 500;
