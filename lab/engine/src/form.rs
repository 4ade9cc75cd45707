//! `application/x-www-form-urlencoded`: the queries and bodies of OAuth.

use std::collections::BTreeMap;

/// Returns the parameters of a query or a body; of two with one name, the last counts.
pub(crate) fn parameters(text: &str) -> BTreeMap<String, String> {
    let pair = |pair: &str| {
        let (name, value) = pair.split_once('=')?;
        Some((decode(name), decode(value)))
    };
    text.split('&').filter_map(pair).collect()
}

/// Returns the path of a request target, and the parameters of its query.
pub(crate) fn target(target: &str) -> (&str, BTreeMap<String, String>) {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    (path, parameters(query))
}

/// Returns a query or a body with these parameters.
pub(crate) fn encoded<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let pairs = pairs.into_iter().map(|(name, value)| format!("{name}={}", encode(value)));
    pairs.collect::<Vec<_>>().join("&")
}

fn decode(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let digits = tail.first_chunk::<2>().and_then(|it| std::str::from_utf8(it).ok());
        let byte = digits.and_then(|it| u8::from_str_radix(it, 16).ok());
        rest = match (first, byte) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                &tail[2..]
            }
            _ => {
                bytes.push(if *first == b'+' { b' ' } else { *first });
                tail
            }
        };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn encode(text: &str) -> String {
    let encoded = |byte: u8| {
        let is_plain = byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        if is_plain { char::from(byte).to_string() } else { format!("%{byte:02X}") }
    };
    text.bytes().map(encoded).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encoded_is_read_back() {
        let value = "http://a/b?c=d&e f+g%é";

        let read = parameters(&encoded([("x", value), ("y", "")]));

        assert_eq!((read["x"].as_str(), read["y"].as_str()), (value, ""));
    }

    #[test]
    fn a_broken_escape_stays_as_it_is() {
        assert_eq!(parameters("a=%4&b=%zz&c=1+2%")["c"], "1 2%");
    }
}
