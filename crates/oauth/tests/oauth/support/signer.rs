//! The key of an authorization server whose access tokens are signed (RFC 9068).

use std::time::{SystemTime, UNIX_EPOCH};

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

/// Signs tokens for one person.
pub(crate) struct Signer {
    pair: EcdsaKeyPair,
    pub(crate) subject: &'static str,
}

impl Signer {
    pub(crate) fn new(subject: &'static str) -> Self {
        Self { pair: EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).unwrap(), subject }
    }

    /// The keys that it publishes.
    pub(super) fn keys(&self) -> Value {
        let (x, y) = self.pair.public_key().as_ref()[1..].split_at(32);
        let (x, y) = (URL_SAFE_NO_PAD.encode(x), URL_SAFE_NO_PAD.encode(y));
        json!({"keys": [{"kty": "EC", "crv": "P-256", "x": x, "y": y, "kid": "1", "use": "sig"}]})
    }

    /// A token for this audience.
    pub(crate) fn token(&self, issuer: &str, audience: &str, scope: &str) -> String {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let claims = json!({"iss": issuer, "aud": audience, "sub": self.subject, "scope": scope,
            "iat": now, "exp": now + 600});
        let header = json!({"alg": "ES256", "kid": "1", "typ": "at+jwt"});
        let part = |it: &Value| URL_SAFE_NO_PAD.encode(it.to_string());
        let text = format!("{}.{}", part(&header), part(&claims));
        let signature = self.pair.sign(&SystemRandom::new(), text.as_bytes()).unwrap();
        format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature))
    }
}
