//! Headers of the stateless revision that repeat what the body says, so that proxies need not read it.

use std::borrow::Cow;

use serde_json::Value;

use super::Entry;

/// The text of a header, out of its base64 form if it has one.
pub(super) fn text<'a>(entry: &'a Entry, name: &str) -> Option<Cow<'a, str>> {
    let value = entry.header(name)?;
    let coded = value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?="));
    match coded {
        Some(coded) => String::from_utf8(unbase64(coded)?).ok().map(Cow::Owned),
        None => Some(Cow::Borrowed(value)),
    }
}

/// The first header that does not repeat what the arguments say, by the `x-mcp-header` of a schema.
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
            // `7` and `007` are the same number.
            let number = number.as_i64();
            number.is_some() && header.and_then(|header| header.parse().ok()) == number
        }
        Value::Bool(flag) => header == Some(if *flag { "true" } else { "false" }),
        // No header can repeat it: a client that knows the rules has no such tool.
        Value::Array(_) | Value::Object(_) => true,
    }
}

fn is_token(name: &str) -> bool {
    let is_tchar = |it: u8| it.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&it);
    !name.is_empty() && name.bytes().all(is_tchar)
}

fn unbase64(text: &str) -> Option<Vec<u8>> {
    let text = text.trim_end_matches('=');
    let mut bytes = Vec::with_capacity(text.len() * 3 / 4);
    let (mut bits, mut count) = (0_u32, 0);
    for letter in text.bytes() {
        let value = ALPHABET.iter().position(|it| *it == letter)?;
        bits = bits << 6 | value as u32;
        count += 6;
        if count >= 8 {
            count -= 8;
            // The lowest eight of the bits that are there; what is above was taken before.
            bytes.push((bits >> count) as u8);
        }
    }
    Some(bytes)
}

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_read_as_the_published_vectors_have_it() {
        let vectors =
            [("", ""), ("Zg==", "f"), ("Zm8=", "fo"), ("Zm9v", "foo"), ("Zm9vYmFy", "foobar")];
        for (coded, plain) in vectors {
            assert_eq!(unbase64(coded).unwrap(), plain.as_bytes());
        }
        assert_eq!(unbase64("Zm9v!"), None);
    }
}
