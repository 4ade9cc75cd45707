//! Reads members of a JSON object leniently: a member of the wrong type counts as absent.

use serde_json::{Map, Value};

use crate::http_answer::HttpAnswer;

pub(crate) type Object = Map<String, Value>;

/// Returns the object that a body holds; `None` if it is too long, not JSON, or another kind of JSON.
pub(crate) fn object(body: &[u8]) -> Option<Object> {
    if body.len() > HttpAnswer::LONGEST_BODY {
        return None;
    }
    // Some servers begin with a byte order mark, which JSON does not have.
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    serde_json::from_slice(body).ok()
}

/// Returns a member that is a text and not empty.
pub(crate) fn text<'a>(object: &'a Object, name: &str) -> Option<&'a str> {
    object.get(name).and_then(Value::as_str).filter(|text| !text.is_empty())
}

/// Returns a member that is a list; elements that are not text are left out.
pub(crate) fn texts(object: &Object, name: &str) -> Option<Vec<String>> {
    let list = object.get(name)?.as_array()?;
    Some(list.iter().filter_map(Value::as_str).map(str::to_owned).collect())
}

/// Whether a member is present and true.
pub(crate) fn is_true(object: &Object, name: &str) -> bool {
    object.get(name).and_then(Value::as_bool).unwrap_or_default()
}
