//! Any text as the value of a header.

use http::HeaderValue;

/// The text itself, or `=?base64?...?=` where a header could not carry it unharmed.
pub fn encode(text: &str) -> HeaderValue {
    if is_plain(text)
        && let Ok(value) = HeaderValue::from_str(text)
    {
        return value;
    }
    let wrapped = format!("{BEGIN}{}{END}", base64(text.as_bytes()));
    HeaderValue::try_from(wrapped).expect("letters, digits and signs are visible ASCII")
}

/// Whether a header brings the text to the other side as it is, and as nothing else.
fn is_plain(text: &str) -> bool {
    let is_visible = text.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    let is_trimmed = text.trim_matches(' ').len() == text.len();
    let is_wrapped = text.starts_with(BEGIN) && text.ends_with(END);
    is_visible && is_trimmed && !is_wrapped
}

/// RFC 4648, section 4.
fn base64(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or_default());
        let group = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..4 {
            // Two bytes have three letters, one has two.
            let letter = LETTERS[(group >> (18 - 6 * at)) as usize & 63];
            text.push(if at <= chunk.len() { char::from(letter) } else { '=' });
        }
    }
    text
}

const BEGIN: &str = "=?base64?";
const END: &str = "?=";
const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

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
    fn base64_is_that_of_the_rfc() {
        // RFC 4648, section 10.
        for (text, encoded) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64(text.as_bytes()), encoded);
        }
        assert_eq!(base64(&[0xfb, 0xff, 0xfe]), "+//+");
    }
}
