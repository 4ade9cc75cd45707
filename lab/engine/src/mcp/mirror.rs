//! Headers of the stateless revision that repeat parts of the body, so that proxies need not read it.

use std::borrow::Cow;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value;

use super::Entry;

/// Returns the text of a header, decoded if it is in base64.
pub(super) fn text<'a>(entry: &'a Entry, name: &str) -> Option<Cow<'a, str>> {
    let value = entry.header(name)?;
    let coded = value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?="));
    match coded {
        Some(coded) => String::from_utf8(BASE64_STANDARD.decode(coded).ok()?).ok().map(Cow::Owned),
        None => Some(Cow::Borrowed(value)),
    }
}

/// Returns the first header that does not repeat an argument as the `x-mcp-header` of a schema demands.
pub(super) fn unlike(entry: &Entry, schema: &Value, arguments: &Value) -> Option<String> {
    let properties = schema["properties"].as_object()?;
    properties.iter().find_map(|(property, schema)| {
        let argument = &arguments[property];
        let named = schema["x-mcp-header"].as_str().filter(|name| is_token(name));
        let wrong = named.map(|name| format!("Mcp-Param-{name}"));
        let wrong = wrong.filter(|name| !is_like(text(entry, name).as_deref(), argument));
        wrong.or_else(|| unlike(entry, schema, argument))
    })
}

fn is_like(header: Option<&str>, argument: &Value) -> bool {
    match argument {
        Value::Null => header.is_none(),
        Value::String(text) => header == Some(text),
        Value::Number(number) => {
            // `7` and `007` are one number.
            let number = number.as_i64();
            number.is_some() && header.and_then(|header| header.parse().ok()) == number
        }
        Value::Bool(flag) => header == Some(if *flag { "true" } else { "false" }),
        // No header can repeat it: a client that follows the specification does not list such a tool.
        Value::Array(_) | Value::Object(_) => true,
    }
}

fn is_token(name: &str) -> bool {
    let is_tchar = |it: u8| it.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&it);
    !name.is_empty() && name.bytes().all(is_tchar)
}
