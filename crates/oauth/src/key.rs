//! The credentials of a client without a person: a secret, or a key that signs.

use std::fmt;
use std::sync::Arc;

use aws_lc_rs::error::Unspecified;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeyPair as RsaKeyPair;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, RSA_PKCS1_SHA256};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ridethrough::transport::BoxFuture;
use ridethrough_oauth_core::jwt::ClientAssertion;
use ridethrough_oauth_core::{Secret, Timestamp};

use crate::clock;

/// The credentials by which a client authenticates.
#[derive(Clone, Debug)]
pub enum ClientKey {
    /// A private key, with which it signs an assertion for each request (`private_key_jwt`).
    PrivateKey(SigningKey),
    /// A secret.
    Secret(Secret),
}

/// A function that returns a fresh assertion for the client or its person, for each request.
pub(crate) type AssertionSource =
    Arc<dyn Fn() -> BoxFuture<'static, Result<Secret, String>> + Send + Sync>;

/// A private key that never leaves this process and is never printed.
#[derive(Clone)]
pub struct SigningKey {
    pair: Pair,
    key_id: Option<String>,
}

#[derive(Clone)]
enum Pair {
    Es256(Arc<EcdsaKeyPair>),
    Rs256(Arc<RsaKeyPair>),
}

impl SigningKey {
    /// Reads a key on the curve P-256, in PEM (PKCS#8 or SEC 1). It signs by ES256.
    pub fn es256(pem: &str) -> Result<Self, KeyError> {
        let der = der(pem)?;
        let pair = EcdsaKeyPair::from_private_key_der(&ECDSA_P256_SHA256_FIXED_SIGNING, &der);
        let pair = pair.map_err(|_| KeyError::NotThisKind)?;
        Ok(Self { pair: Pair::Es256(Arc::new(pair)), key_id: None })
    }

    /// Reads an RSA key of 2048 bits or more, in PEM (PKCS#8 or PKCS#1). It signs by RS256.
    pub fn rs256(pem: &str) -> Result<Self, KeyError> {
        let der = der(pem)?;
        let pair = RsaKeyPair::from_pkcs8(&der).or_else(|_| RsaKeyPair::from_der(&der));
        let pair = pair.map_err(|_| KeyError::NotThisKind)?;
        Ok(Self { pair: Pair::Rs256(Arc::new(pair)), key_id: None })
    }

    /// Sets the id of the key in each signature, for servers that know several keys.
    #[must_use]
    pub fn with_key_id(mut self, key_id: impl Into<String>) -> Self {
        self.key_id = Some(key_id.into());
        self
    }

    /// Returns an assertion of the client for one request to this issuer.
    pub(crate) fn assertion(
        &self,
        client_id: &str,
        audience: &str,
        now: Timestamp,
    ) -> Result<Secret, Unspecified> {
        let algorithm = match self.pair {
            Pair::Es256(_) => "ES256",
            Pair::Rs256(_) => "RS256",
        };
        let key_id = self.key_id.as_deref();
        let random = clock::random();
        ClientAssertion { client_id, audience, algorithm, key_id, now, random }
            .sign(|input| self.sign(input))
    }

    fn sign(&self, input: &[u8]) -> Result<Vec<u8>, Unspecified> {
        let chance = SystemRandom::new();
        match &self.pair {
            Pair::Es256(pair) => Ok(pair.sign(&chance, input)?.as_ref().to_vec()),
            Pair::Rs256(pair) => {
                let mut signature = vec![0; pair.public_modulus_len()];
                pair.sign(&RSA_PKCS1_SHA256, &chance, input, &mut signature)?;
                Ok(signature)
            }
        }
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SigningKey").field("key_id", &self.key_id).finish_non_exhaustive()
    }
}

/// Why a text is not a key. The text is not shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// There is no PEM with a private key, or the key has a password.
    #[error("the key must be PEM with a private key in it, without a password")]
    NotPem,
    /// The key is of another kind.
    #[error("the key cannot be used for this algorithm")]
    NotThisKind,
}

/// Returns the first private key of a PEM file.
fn der(pem: &str) -> Result<Vec<u8>, KeyError> {
    let begin = pem.lines().position(|line| {
        let name = line.trim().strip_prefix("-----BEGIN ").and_then(|it| it.strip_suffix("-----"));
        name.is_some_and(|name| {
            ["PRIVATE KEY", "EC PRIVATE KEY", "RSA PRIVATE KEY"].contains(&name)
        })
    });
    let lines = pem.lines().skip(begin.ok_or(KeyError::NotPem)? + 1);
    let text: String = lines.map(str::trim).take_while(|line| !line.starts_with("-----")).collect();
    STANDARD.decode(text).ok().filter(|der| !der.is_empty()).ok_or(KeyError::NotPem)
}
