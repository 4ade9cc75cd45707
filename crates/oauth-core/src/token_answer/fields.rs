//! The members of an answer, whether it is JSON or a form.

use serde_json::Value;

use crate::form;
use crate::http_answer::HttpAnswer;
use crate::json::{self, Object};

/// Returns the members; `None` if the answer is neither.
pub(super) fn read(answer: &HttpAnswer) -> Option<Object> {
    json::object(&answer.body).or_else(|| from_form(answer))
}

/// Reads a form, which GitHub and others answer with, not all of them saying so. A web page is not a form.
fn from_form(answer: &HttpAnswer) -> Option<Object> {
    if answer.body.len() > HttpAnswer::LONGEST_BODY {
        return None;
    }
    let text = std::str::from_utf8(&answer.body).ok()?.trim();
    let is_form = text.contains('=') && !text.contains(['<', '{', ' ', '\n']);
    is_form.then(|| {
        form::read(text).into_iter().map(|(name, value)| (name, Value::String(value))).collect()
    })
}
