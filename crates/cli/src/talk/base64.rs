//! Bytes out of base64 (RFC 4648), as servers write it: with padding or without, in lines or in one.

/// The bytes; `None` if it is something else.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut held, mut bits) = (0_u32, 0);
    let mut has_ended = false;
    for it in text.bytes().filter(|it| !it.is_ascii_whitespace()) {
        if it == b'=' {
            has_ended = true;
            continue;
        }
        let value = value(it).filter(|_| !has_ended)?;
        held = (held << 6 | u32::from(value)) & 0xfff;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push((held >> bits) as u8);
        }
    }
    // A single character at the end holds no whole byte.
    (bits < 6).then_some(bytes)
}

/// Both alphabets: that of mail, and that of URLs.
const fn value(it: u8) -> Option<u8> {
    Some(match it {
        b'A'..=b'Z' => it - b'A',
        b'a'..=b'z' => it - b'a' + 26,
        b'0'..=b'9' => it - b'0' + 52,
        b'+' | b'-' => 62,
        b'/' | b'_' => 63,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vectors_of_the_standard_are_read_with_and_without_padding() {
        for (text, bytes) in [
            ("", ""),
            ("Zg==", "f"),
            ("Zm8=", "fo"),
            ("Zm9v", "foo"),
            ("Zm9vYg", "foob"),
            ("Zm9v\nYmE=", "fooba"),
            ("Zm9vYmFy", "foobar"),
        ] {
            assert_eq!(decode(text).as_deref(), Some(bytes.as_bytes()), "{text}");
        }
        assert_eq!(decode("+/-_/w==").unwrap(), [0xfb, 0xff, 0xbf, 0xff]);
    }

    #[test]
    fn what_is_no_base64_is_none() {
        for text in ["Z", "Zm9vY", "Zm9*", "Zg==Zg==", "é"] {
            assert_eq!(decode(text), None, "{text}");
        }
    }
}
