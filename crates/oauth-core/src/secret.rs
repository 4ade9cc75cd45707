//! A text that is never printed: a token, a client secret, a verifier.
//!
//! It has no `Display` and no `Serialize`; `Debug` hides it, and it is wiped from memory when it is dropped.
//! Logs get its fingerprint. A field that is meant to be stored says so by `#[serde(with =
//! "secret::stored")]`.

use std::fmt;

use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};

use crate::constant_time;

/// A text that is never printed.
///
/// ```
/// use ridethrough_oauth_core::Secret;
///
/// let token = Secret::new("s3cret");
///
/// assert_eq!(format!("{token:?}"), "Secret(..)");
/// assert_eq!(token.expose(), "s3cret");
/// ```
#[derive(Clone)]
pub struct Secret(SecretString);

impl Secret {
    /// Wraps a text as a secret.
    pub fn new(text: impl Into<String>) -> Self {
        Self(SecretString::from(text.into()))
    }

    /// Returns the text itself, to be sent or stored and never to be shown.
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }

    /// Returns eight hexadecimal digits of the text's SHA-256: enough to see in a log whether two are equal.
    pub fn fingerprint(&self) -> String {
        let digest = Sha256::digest(self.expose().as_bytes());
        digest.iter().take(4).map(|byte| format!("{byte:02x}")).collect()
    }
}

/// Compares in constant time.
impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        constant_time::is_equal(self.expose().as_bytes(), other.expose().as_bytes())
    }
}

impl Eq for Secret {}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

/// Writes a secret in the clear, for fields that are meant to be stored.
pub mod stored {
    use serde::{Deserialize, Deserializer, Serializer};

    use super::Secret;

    /// Writes the text itself.
    pub fn serialize<S: Serializer>(secret: &Secret, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(secret.expose())
    }

    /// Reads a text and wraps it as a secret.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Secret, D::Error> {
        String::deserialize(from).map(Secret::new)
    }
}

/// Writes a secret in the clear if there is one, for fields that are meant to be stored.
pub mod stored_option {
    use serde::{Deserialize, Deserializer, Serializer};

    use super::Secret;

    /// Writes the text itself, or nothing.
    pub fn serialize<S: Serializer>(secret: &Option<Secret>, to: S) -> Result<S::Ok, S::Error> {
        match secret {
            Some(secret) => to.serialize_some(secret.expose()),
            None => to.serialize_none(),
        }
    }

    /// Reads a text, if there is one, and wraps it as a secret.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Secret>, D::Error> {
        Ok(Option::<String>::deserialize(from)?.map(Secret::new))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_never_prints_itself() {
        let secret = Secret::new("hunter2");

        assert!(!format!("{secret:?} {:?}", Some(&secret)).contains("hunter2"));
    }

    #[test]
    fn a_fingerprint_is_the_first_eight_digits_of_the_sha_256() {
        assert_eq!(Secret::new("abc").fingerprint(), "ba7816bf");
    }

    #[test]
    fn two_secrets_are_equal_if_their_texts_are() {
        assert_eq!(Secret::new("a"), Secret::new("a"));
        assert_ne!(Secret::new("a"), Secret::new("b"));
    }
}
