//! JSON Web Tokens: read for a hint, made for a proof, never verified and never signed here.
//!
//! The server that an access token is for verifies it. We only read when the token says that it ends, and
//! take that as a hint. The caller has the key and makes the signature.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use crate::json;
use crate::secret::Secret;
use crate::timestamp::Timestamp;

/// Returns when a token says that it expires, if it is a JWT; nothing of it is verified.
pub fn expiry_hint(token: &Secret) -> Option<Timestamp> {
    let mut parts = token.expose().split('.');
    let (Some(_), Some(payload), Some(_), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return None;
    };
    let claims = json::object(&decode(payload)?)?;
    let expiry = claims.get("exp")?;
    let seconds = expiry.as_u64().or_else(|| whole_seconds(expiry.as_f64()?))?;
    Some(Timestamp::from_unix_secs(seconds))
}

/// The content of an assertion by which a client authenticates instead of a secret: `private_key_jwt` (RFC
/// 7523, 2.2).
#[derive(Clone, Copy, Debug)]
pub struct ClientAssertion<'a> {
    /// The client.
    pub client_id: &'a str,
    /// The issuer of the authorization server, which is the audience.
    pub audience: &'a str,
    /// The algorithm that the caller signs with, such as `ES256`.
    pub algorithm: &'a str,
    /// The id of the key, if the server knows several.
    pub key_id: Option<&'a str>,
    /// The time.
    pub now: Timestamp,
    /// Random bytes, which make the id: every assertion is used once.
    pub random: [u8; 16],
}

impl ClientAssertion<'_> {
    /// Makes the assertion; `sign` returns the signature of the bytes that it is given.
    pub fn sign<E>(&self, sign: impl FnOnce(&[u8]) -> Result<Vec<u8>, E>) -> Result<Secret, E> {
        let mut header = json!({"alg": self.algorithm, "typ": "JWT"});
        if let Some(key_id) = self.key_id {
            header["kid"] = key_id.into();
        }
        let now = self.now.unix_secs();
        let claims = json!({
            "iss": self.client_id,
            "sub": self.client_id,
            "aud": self.audience,
            "iat": now,
            "exp": now.saturating_add(ASSERTION_SECONDS),
            "jti": encode(&self.random),
        });
        signed(&header, &claims, sign)
    }
}

/// Returns a token of this header and these claims, signed by the caller.
pub(crate) fn signed<E>(
    header: &Value,
    claims: &Value,
    sign: impl FnOnce(&[u8]) -> Result<Vec<u8>, E>,
) -> Result<Secret, E> {
    let input = format!(
        "{}.{}",
        encode(header.to_string().as_bytes()),
        encode(claims.to_string().as_bytes())
    );
    let signature = sign(input.as_bytes())?;
    Ok(Secret::new(format!("{input}.{}", encode(&signature))))
}

/// Encodes bytes as base64url without padding (RFC 7515, 2).
pub(crate) fn encode(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Decodes base64url. Some servers pad, which the format does not allow.
fn decode(text: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text.trim_end_matches('=')).ok()
}

fn whole_seconds(seconds: f64) -> Option<u64> {
    let is_sane = seconds.is_finite() && (0.0..1e15).contains(&seconds);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is finite, positive and small"
    )]
    is_sane.then_some(seconds as u64)
}

/// The lifetime of an assertion: long enough for clocks that differ, short enough for one use.
const ASSERTION_SECONDS: u64 = 60;

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use proptest::prelude::*;

    use super::*;

    fn token(claims: &str) -> Secret {
        Secret::new(format!("{}.{}.sig", encode(b"{}"), encode(claims.as_bytes())))
    }

    #[test]
    fn the_expiry_of_a_jwt_is_read_and_of_nothing_else() {
        let at = |secs| Some(Timestamp::from_unix_secs(secs));

        assert_eq!(expiry_hint(&token(r#"{"exp":100}"#)), at(100));
        assert_eq!(expiry_hint(&token(r#"{"exp":100.9}"#)), at(100));
        for claims in [r#"{"exp":-1}"#, r#"{"exp":"100"}"#, r#"{"exp":1e300}"#, "{}", "[]", ""] {
            assert_eq!(expiry_hint(&token(claims)), None, "{claims}");
        }
        for text in ["opaque", "a.b", "a.b.c", "a.b.c.d", "...."] {
            assert_eq!(expiry_hint(&Secret::new(text)), None, "{text}");
        }
    }

    #[test]
    fn an_assertion_is_the_clients_own_word_for_the_issuer() {
        let assertion = ClientAssertion {
            client_id: "me",
            audience: "https://as.example",
            algorithm: "ES256",
            key_id: Some("k1"),
            now: Timestamp::from_unix_secs(1000),
            random: [7; 16],
        };
        let mut input = Vec::new();

        let made = assertion.sign(|bytes| {
            input.extend_from_slice(bytes);
            Ok::<_, Infallible>(b"signature".to_vec())
        });

        let made = made.unwrap();
        let parts: Vec<&str> = made.expose().split('.').collect();
        assert_eq!(format!("{}.{}", parts[0], parts[1]).as_bytes(), input);
        assert_eq!(decode(parts[2]).unwrap(), b"signature");
        let header: Value = serde_json::from_slice(&decode(parts[0]).unwrap()).unwrap();
        let claims: Value = serde_json::from_slice(&decode(parts[1]).unwrap()).unwrap();
        assert_eq!(header, json!({"alg": "ES256", "typ": "JWT", "kid": "k1"}));
        assert_eq!(
            claims,
            json!({"iss": "me", "sub": "me", "aud": "https://as.example", "iat": 1000,
                   "exp": 1060, "jti": encode(&[7; 16])})
        );
    }

    #[test]
    fn a_key_that_fails_makes_no_assertion() {
        let assertion = ClientAssertion {
            client_id: "me",
            audience: "you",
            algorithm: "ES256",
            key_id: None,
            now: Timestamp::default(),
            random: [0; 16],
        };

        assert_eq!(assertion.sign(|_| Err("locked")).unwrap_err(), "locked");
    }

    proptest! {
        #[test]
        fn no_token_is_too_odd_to_be_looked_at(token in "\\PC{0,60}", payload: Vec<u8>) {
            expiry_hint(&Secret::new(token));
            expiry_hint(&Secret::new(format!("a.{}.c", encode(&payload))));
        }
    }
}
