//! The public keys of an issuer, and the signatures that they verify.

use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256,
    RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512, RSA_PSS_2048_8192_SHA256,
    RSA_PSS_2048_8192_SHA384, RSA_PSS_2048_8192_SHA512, RsaParameters, RsaPublicKeyComponents,
    UnparsedPublicKey,
};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde::Deserialize;
use serde_json::Value;

/// An algorithm of signatures with a public key (RFC 7518, section 3.1; RFC 8037).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// Ed25519.
    EdDsa,
    /// ECDSA with P-256 and SHA-256.
    Es256,
    /// ECDSA with P-384 and SHA-384.
    Es384,
    /// RSA-PSS with SHA-256.
    Ps256,
    /// RSA-PSS with SHA-384.
    Ps384,
    /// RSA-PSS with SHA-512.
    Ps512,
    /// RSA (PKCS #1) with SHA-256.
    Rs256,
    /// RSA (PKCS #1) with SHA-384.
    Rs384,
    /// RSA (PKCS #1) with SHA-512.
    Rs512,
}

impl Algorithm {
    /// Reads the name of an algorithm; `None` if it is not one of these.
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "EdDSA" => Self::EdDsa,
            "ES256" => Self::Es256,
            "ES384" => Self::Es384,
            "PS256" => Self::Ps256,
            "PS384" => Self::Ps384,
            "PS512" => Self::Ps512,
            "RS256" => Self::Rs256,
            "RS384" => Self::Rs384,
            "RS512" => Self::Rs512,
            _ => return None,
        })
    }

    /// Returns how RSA is used, if it is.
    const fn rsa(self) -> Option<&'static RsaParameters> {
        Some(match self {
            Self::Ps256 => &RSA_PSS_2048_8192_SHA256,
            Self::Ps384 => &RSA_PSS_2048_8192_SHA384,
            Self::Ps512 => &RSA_PSS_2048_8192_SHA512,
            Self::Rs256 => &RSA_PKCS1_2048_8192_SHA256,
            Self::Rs384 => &RSA_PKCS1_2048_8192_SHA384,
            Self::Rs512 => &RSA_PKCS1_2048_8192_SHA512,
            Self::EdDsa | Self::Es256 | Self::Es384 => return None,
        })
    }
}

/// A public key, and what its issuer says it is for.
#[derive(Clone, Debug)]
pub(super) struct PublicKey {
    id: Option<String>,
    /// The only algorithm that it is for, if that is said.
    algorithm: Option<Algorithm>,
    material: Material,
}

#[derive(Clone, Debug)]
enum Material {
    Ed25519(Vec<u8>),
    /// A point that is not compressed.
    P256(Vec<u8>),
    P384(Vec<u8>),
    Rsa {
        modulus: Vec<u8>,
        exponent: Vec<u8>,
    },
}

impl PublicKey {
    /// Whether the key may have signed a token of this algorithm and key id.
    pub(super) fn fits(&self, algorithm: Algorithm, key_id: Option<&str>) -> bool {
        let is_named = key_id.is_none_or(|it| self.id.as_deref() == Some(it));
        let is_meant = self.algorithm.is_none_or(|it| it == algorithm);
        let is_able = match &self.material {
            Material::Ed25519(_) => algorithm == Algorithm::EdDsa,
            Material::P256(_) => algorithm == Algorithm::Es256,
            Material::P384(_) => algorithm == Algorithm::Es384,
            Material::Rsa { .. } => algorithm.rsa().is_some(),
        };
        is_named && is_meant && is_able
    }

    /// Whether this is the key's signature of the text.
    pub(super) fn has_signed(&self, algorithm: Algorithm, text: &[u8], signature: &[u8]) -> bool {
        let verified = match (&self.material, algorithm.rsa()) {
            (Material::Rsa { modulus: n, exponent: e }, Some(parameters)) => {
                RsaPublicKeyComponents { n, e }.verify(parameters, text, signature)
            }
            (Material::P256(point), None) if algorithm == Algorithm::Es256 => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(text, signature)
            }
            (Material::P384(point), None) if algorithm == Algorithm::Es384 => {
                UnparsedPublicKey::new(&ECDSA_P384_SHA384_FIXED, point).verify(text, signature)
            }
            (Material::Ed25519(key), None) if algorithm == Algorithm::EdDsa => {
                UnparsedPublicKey::new(&ED25519, key).verify(text, signature)
            }
            _ => return false,
        };
        verified.is_ok()
    }
}

/// Reads a JSON Web Key Set. Keys of other kinds and for other uses are left out; `None` if it is no set.
pub(super) fn read(text: &[u8]) -> Option<Vec<PublicKey>> {
    let set: KeySet = serde_json::from_slice(text).ok()?;
    let keys = set.keys.into_iter().take(MOST_KEYS);
    Some(keys.filter_map(|key| serde_json::from_value::<JsonKey>(key).ok()?.read()).collect())
}

#[derive(Deserialize)]
struct KeySet {
    keys: Vec<Value>,
}

/// A JSON Web Key (RFC 7517).
#[derive(Deserialize)]
struct JsonKey {
    kty: String,
    #[serde(rename = "use")]
    purpose: Option<String>,
    alg: Option<String>,
    kid: Option<String>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

impl JsonKey {
    fn read(self) -> Option<PublicKey> {
        if self.purpose.as_ref().is_some_and(|it| it != "sig") {
            return None;
        }
        let algorithm = match &self.alg {
            Some(name) => Some(Algorithm::parse(name)?),
            None => None,
        };
        let material = match (self.kty.as_str(), self.crv.as_deref()) {
            ("EC", Some("P-256")) => Material::P256(point(&self.x?, &self.y?, 32)?),
            ("EC", Some("P-384")) => Material::P384(point(&self.x?, &self.y?, 48)?),
            ("OKP", Some("Ed25519")) => Material::Ed25519(bytes(&self.x?)?),
            ("RSA", _) => {
                let number = |text: &str| {
                    let bytes = bytes(text)?;
                    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
                    Some(bytes[zeros..].to_vec())
                };
                Material::Rsa { modulus: number(&self.n?)?, exponent: number(&self.e?)? }
            }
            _ => return None,
        };
        Some(PublicKey { id: self.kid, algorithm, material })
    }
}

fn point(x: &str, y: &str, size: usize) -> Option<Vec<u8>> {
    let (x, y) = (bytes(x)?, bytes(y)?);
    let is_whole = x.len() == size && y.len() == size;
    is_whole.then(|| [&[4], &*x, &*y].concat())
}

fn bytes(text: &str) -> Option<Vec<u8>> {
    BASE64_URL_SAFE_NO_PAD.decode(text.trim_end_matches('=')).ok()
}

/// An issuer has a few.
const MOST_KEYS: usize = 100;
