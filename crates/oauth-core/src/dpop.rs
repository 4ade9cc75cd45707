//! Proofs of possession (RFC 9449) for tokens that are of no use without the key.
//!
//! One proof is made for each request, with an id of its own. The caller has the key and signs.

mod wanted;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::address::HttpUrl;
use crate::jwt;
use crate::secret::Secret;
use crate::timestamp::Timestamp;

pub use wanted::{DpopFacts, DpopRule};

/// The public half of a key, as a proof contains it. Each value is base64url, as in a JWK.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PublicKey {
    /// A point on an elliptic curve, such as `P-256`.
    Ec {
        /// The curve.
        crv: String,
        /// The first coordinate.
        x: String,
        /// The second coordinate.
        y: String,
    },
    /// An Edwards curve key, such as `Ed25519`.
    Okp {
        /// The curve.
        crv: String,
        /// The key.
        x: String,
    },
    /// An RSA key.
    Rsa {
        /// The exponent.
        e: String,
        /// The modulus.
        n: String,
    },
}

impl PublicKey {
    /// Returns the key as a JWK, with its required members only.
    fn to_jwk(&self) -> Value {
        match self {
            Self::Ec { crv, x, y } => json!({"crv": crv, "kty": "EC", "x": x, "y": y}),
            Self::Okp { crv, x } => json!({"crv": crv, "kty": "OKP", "x": x}),
            Self::Rsa { e, n } => json!({"e": e, "kty": "RSA", "n": n}),
        }
    }

    /// Returns the thumbprint of the key, by which an authorization server knows it (RFC 7638).
    pub fn thumbprint(&self) -> String {
        // RFC 7638 wants members in the order of their names and without spaces, which is how objects are
        // written here.
        jwt::encode(&Sha256::digest(self.to_jwk().to_string().as_bytes()))
    }
}

/// The content of a proof for one request.
#[derive(Clone, Copy, Debug)]
pub struct DpopProof<'a> {
    /// The key.
    pub key: &'a PublicKey,
    /// The algorithm that the caller signs with, such as `ES256`.
    pub algorithm: &'a str,
    /// The method of the request.
    pub method: &'a str,
    /// The URL of the request.
    pub url: &'a HttpUrl,
    /// The access token that the request is sent with; `None` at the token endpoint.
    pub access_token: Option<&'a Secret>,
    /// The last nonce of this server.
    pub nonce: Option<&'a str>,
    /// The time.
    pub now: Timestamp,
    /// Random bytes, which make the id of the proof.
    pub random: [u8; 16],
}

impl DpopProof<'_> {
    /// Makes the proof; `sign` returns the signature of the bytes that it is given.
    pub fn sign<E>(&self, sign: impl FnOnce(&[u8]) -> Result<Vec<u8>, E>) -> Result<Secret, E> {
        let header = json!({"alg": self.algorithm, "typ": "dpop+jwt", "jwk": self.key.to_jwk()});
        let mut claims = json!({
            "htm": self.method,
            "htu": self.url.without_query(),
            "iat": self.now.unix_secs(),
            "jti": jwt::encode(&self.random),
        });
        if let Some(token) = self.access_token {
            claims["ath"] = jwt::encode(&Sha256::digest(token.expose().as_bytes())).into();
        }
        if let Some(nonce) = self.nonce {
            claims["nonce"] = nonce.into();
        }
        jwt::signed(&header, &claims, sign)
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use base64::Engine;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;

    use super::*;

    /// The example of RFC 7638, 3.1.
    #[test]
    fn a_thumbprint_is_that_of_the_rfc() {
        let key = PublicKey::Rsa {
            e: "AQAB".into(),
            n: "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw".into(),
        };

        assert_eq!(key.thumbprint(), "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs");
    }

    /// The token and its hash are those of RFC 9449, 7.1.
    #[test]
    fn a_proof_names_the_request_the_token_and_the_nonce() {
        let key = PublicKey::Okp { crv: "Ed25519".into(), x: "abc".into() };
        let token = Secret::new("Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU");
        let proof = DpopProof {
            key: &key,
            algorithm: "EdDSA",
            method: "POST",
            url: &HttpUrl::parse("https://mcp.example/mcp?key=1#f").unwrap(),
            access_token: Some(&token),
            nonce: Some("n1"),
            now: Timestamp::from_unix_secs(1000),
            random: [3; 16],
        };

        let made = proof.sign(|_| Ok::<_, Infallible>(b"s".to_vec())).unwrap();

        let parts: Vec<&str> = made.expose().split('.').collect();
        let part = |at: usize| -> Value {
            serde_json::from_slice(&URL_SAFE_NO_PAD.decode(parts[at]).unwrap()).unwrap()
        };
        assert_eq!(
            part(0),
            json!({"alg": "EdDSA", "typ": "dpop+jwt",
                   "jwk": {"crv": "Ed25519", "kty": "OKP", "x": "abc"}})
        );
        assert_eq!(
            part(1),
            json!({"htm": "POST", "htu": "https://mcp.example/mcp", "iat": 1000, "nonce": "n1",
                   "jti": jwt::encode(&[3; 16]),
                   "ath": "fUHyO2r2Z3DZ53EsNrWBb0xWXoaNy59IiKCAqksmQEo"})
        );
    }
}
