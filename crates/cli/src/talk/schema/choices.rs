//! The values to choose from, with the titles that a form shows for them.

use ridethrough::Json;

use super::tree::Tree;
use super::{LONGEST_TEXT, Schema, masked_and_cut};

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
            forms.elements().iter().take(MOST).map(titled).collect()
        };
        listed.or_else(titled).filter(|choices: &Vec<_>| !choices.is_empty())
    }

    fn listed(self, values: &[Tree]) -> Vec<AllowedValue> {
        let titles = self.node.member("enumNames").map_or(&[][..], Tree::elements);
        let titles = titles.iter().map(Tree::text).chain(std::iter::repeat(None));
        let choices = values.iter().zip(titles).take(MOST);
        choices.filter_map(|(value, title)| choice(value, title)).collect()
    }
}

fn titled(form: &Tree) -> Option<AllowedValue> {
    choice(form.member("const")?, form.member("title").and_then(Tree::text))
}

fn choice(value: &Tree, title: Option<&str>) -> Option<AllowedValue> {
    let value = Json::new(value.json()).ok()?;
    Some(AllowedValue { value, title: title.map(|it| masked_and_cut(it, LONGEST_TEXT)) })
}

/// The most choices that are offered; the check of the whole form refuses values beyond them.
const MOST: usize = 500;
