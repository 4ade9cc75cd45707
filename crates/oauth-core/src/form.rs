//! Writes and reads `application/x-www-form-urlencoded`.

use url::form_urlencoded;

/// Writes pairs as a form.
pub(crate) fn write<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish()
}

/// Writes one text as a value of a form.
pub(crate) fn write_value(text: &str) -> String {
    form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

/// Reads the pairs of a form or a query.
pub(crate) fn read(form: &str) -> Vec<(String, String)> {
    form_urlencoded::parse(form.as_bytes())
        .map(|(name, value)| (name.into_owned(), value.into_owned()))
        .collect()
}
