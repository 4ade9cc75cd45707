//! Decodes base64 (RFC 4648), as servers write it: with padding or without, in lines or in one.

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// Returns the bytes; `None` if the text is not base64.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    // Both alphabets are accepted: the standard one, and that of URLs.
    let letters = text.bytes().filter(|it| !it.is_ascii_whitespace()).map(|it| match it {
        b'-' => b'+',
        b'_' => b'/',
        it => it,
    });
    LENIENT.decode(letters.collect::<Vec<_>>()).ok()
}

const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

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
