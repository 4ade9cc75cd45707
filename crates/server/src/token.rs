//! The secret that clients must show. It is never printed by accident, and is compared in constant time.

use std::fmt;

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::rand;

/// A bearer token.
#[derive(Clone)]
pub struct Token(String);

/// The error of a text that cannot be sent as a bearer token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotAToken;

impl Token {
    /// Creates a token from a text that a person chose.
    pub fn new(text: &str) -> Result<Self, NotAToken> {
        let is_token = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
        if is_token { Ok(Self(text.to_owned())) } else { Err(NotAToken) }
    }

    /// Creates a token of 256 random bits from the operating system.
    ///
    /// # Errors
    ///
    /// Fails if the operating system has no randomness.
    pub fn random() -> std::io::Result<Self> {
        let bytes = random::<32>()?;
        Ok(Self(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    /// Returns the secret itself, for the one place where a person is told.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Whether the client has shown this token, in a time that does not depend on the secret.
    pub fn is(&self, shown: &str) -> bool {
        verify_slices_are_equal(self.0.as_bytes(), shown.as_bytes()).is_ok()
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

impl fmt::Display for NotAToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a token is made of visible ASCII characters without spaces")
    }
}

impl std::error::Error for NotAToken {}

/// Returns an id of 128 random bits that cannot be guessed.
pub(crate) fn random_id() -> std::io::Result<String> {
    let bytes = random::<16>()?;
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 0xf]);
    Ok(digits.map(|digit| char::from(ID_DIGITS[usize::from(digit)])).collect())
}

fn random<const BYTES: usize>() -> std::io::Result<[u8; BYTES]> {
    let mut bytes = [0; BYTES];
    rand::fill(&mut bytes).map_err(|_| std::io::Error::other("the system gives no randomness"))?;
    Ok(bytes)
}

/// Sixteen letters that take six bits each in HPACK (RFC 7541, appendix B), so that all ids are equally long on
/// the wire of HTTP/2 as well: neither an observer nor the place of a byte depends on chance.
const ID_DIGITS: [u8; 16] = *b"3456789bdfghlmnp";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_recognised_and_never_printed() {
        let token = Token::new("s3cret").unwrap();

        assert!(token.is("s3cret"));
        assert!(!token.is("s3creT") && !token.is("s3cre") && !token.is(""));
        assert_eq!(format!("{token:?}"), "Token(..)");
    }

    #[test]
    fn fresh_tokens_differ_and_are_long() {
        let (one, other) = (Token::random().unwrap(), Token::random().unwrap());

        assert_eq!(one.reveal().len(), 64);
        assert_ne!(one.reveal(), other.reveal());
    }

    #[test]
    fn ids_differ_and_use_all_of_their_letters() {
        let ids: Vec<_> = (0..100).map(|_| random_id().unwrap()).collect();

        let letters: std::collections::BTreeSet<_> = ids.iter().flat_map(|id| id.bytes()).collect();
        assert!(letters.iter().eq(&ID_DIGITS), "{letters:?}");
        assert!(
            ids.iter().all(|id| id.len() == 32 && ids.iter().filter(|it| *it == id).count() == 1)
        );
    }

    #[test]
    fn what_no_header_can_carry_is_no_token() {
        for text in ["", "two words", "line\nend", "\u{e9}"] {
            assert_eq!(Token::new(text).unwrap_err(), NotAToken, "{text}");
        }
    }
}
