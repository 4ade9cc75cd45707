//! Encoding any text as the value of a header.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use http::HeaderValue;

/// Returns the text itself, or `=?base64?...?=` if a header could not carry it unchanged.
pub fn encode(text: &str) -> HeaderValue {
    if is_plain(text)
        && let Ok(value) = HeaderValue::from_str(text)
    {
        return value;
    }
    let wrapped = format!("{BEGIN}{}{END}", BASE64_STANDARD.encode(text));
    HeaderValue::try_from(wrapped).expect("letters, digits and signs are visible ASCII")
}

/// Returns the text that [`encode`] made this value of; `None` if it made none such.
pub fn decode(value: &HeaderValue) -> Option<String> {
    let text = value.to_str().ok()?;
    match text.strip_prefix(BEGIN).and_then(|rest| rest.strip_suffix(END)) {
        Some(wrapped) => String::from_utf8(BASE64_STANDARD.decode(wrapped).ok()?).ok(),
        None => Some(text.to_owned()),
    }
}

/// Whether a header carries the text unchanged and unambiguously.
fn is_plain(text: &str) -> bool {
    let is_visible = text.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    let is_trimmed = text.trim_matches(' ').len() == text.len();
    let is_wrapped = text.starts_with(BEGIN) && text.ends_with(END);
    is_visible && is_trimmed && !is_wrapped
}

const BEGIN: &str = "=?base64?";
const END: &str = "?=";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_header_can_carry_goes_as_it_is() {
        for text in ["", "us-west1", "file:///a%20b.txt", "a b", "=?base64?", "?=", "~!\"\\"] {
            assert_eq!(encode(text), text, "{text:?}");
        }
    }

    #[test]
    fn what_it_cannot_carry_is_wrapped() {
        for (text, wrapped) in [
            (" a", "=?base64?IGE=?="),
            ("a ", "=?base64?YSA=?="),
            ("a\tb", "=?base64?YQli?="),
            ("a\r\nb", "=?base64?YQ0KYg==?="),
            ("\u{7f}", "=?base64?fw==?="),
            ("日本", "=?base64?5pel5pys?="),
            ("=?base64?YQ==?=", "=?base64?PT9iYXNlNjQ/WVE9PT89?="),
        ] {
            assert_eq!(encode(text), wrapped, "{text:?}");
        }
    }

    #[test]
    fn what_was_encoded_is_read_back_and_what_was_not_is_refused() {
        for text in ["", "a b", " a", "日本", "=?base64?YQ==?=", "=?base64?"] {
            assert_eq!(decode(&encode(text)).as_deref(), Some(text), "{text:?}");
        }
        for broken in ["=?base64?*?=", "=?base64?/w==?="] {
            assert_eq!(decode(&HeaderValue::from_static(broken)), None, "{broken}");
        }
    }
}
