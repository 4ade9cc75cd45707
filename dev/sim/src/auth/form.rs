//! Forms and queries, as browsers and clients send them.

use std::collections::BTreeMap;

use url::form_urlencoded;

/// A form or a query, by name.
pub(super) type Form = BTreeMap<String, String>;

pub(super) fn read_form(text: &str) -> Form {
    form_urlencoded::parse(text.as_bytes()).into_owned().collect()
}
