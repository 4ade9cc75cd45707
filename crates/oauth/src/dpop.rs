//! Tokens that are bound to a key (RFC 9449): the key of a grant, and its proofs.
//!
//! A key is made for one grant, is stored with it and is used for nothing else. A server may want its own
//! nonce in each proof; the last one of each server is remembered.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use ridethrough::credentials::{ProofOfPossession, ProofVerdict};
use ridethrough_oauth_core::challenge::{Challenges, Demand};
use ridethrough_oauth_core::dpop::{DpopProof, PublicKey};
use ridethrough_oauth_core::{HttpUrl, Secret};

use crate::clock::{self, Clock};
use crate::error::LoginFailure;

/// The key that the tokens of one grant are bound to.
#[derive(Clone)]
pub(crate) struct DpopKey {
    pair: Arc<EcdsaKeyPair>,
    public: PublicKey,
}

impl DpopKey {
    /// Makes a new key.
    pub(crate) fn generate() -> Result<Self, LoginFailure> {
        let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING);
        Self::of(pair.map_err(|_| LoginFailure::Key)?)
    }

    /// Reads a key as it is stored.
    pub(crate) fn read(stored: &Secret) -> Result<Self, LoginFailure> {
        let der = STANDARD.decode(stored.expose()).map_err(|_| LoginFailure::Key)?;
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &der);
        Self::of(pair.map_err(|_| LoginFailure::Key)?)
    }

    /// Returns the key as it is stored.
    pub(crate) fn stored(&self) -> Result<Secret, LoginFailure> {
        let der = self.pair.to_pkcs8v1().map_err(|_| LoginFailure::Key)?;
        Ok(Secret::new(STANDARD.encode(der.as_ref())))
    }

    fn of(pair: EcdsaKeyPair) -> Result<Self, LoginFailure> {
        // An uncompressed point: a 4 and two coordinates of 32 bytes.
        let point = pair.public_key().as_ref();
        let coordinates = point.strip_prefix(&[4]).filter(|it| it.len() == 64);
        let (x, y) = coordinates.ok_or(LoginFailure::Key)?.split_at(32);
        let encode = |bytes| URL_SAFE_NO_PAD.encode(bytes);
        let public = PublicKey::Ec { crv: "P-256".to_owned(), x: encode(x), y: encode(y) };
        Ok(Self { pair: Arc::new(pair), public })
    }

    /// Returns the thumbprint by which an authorization server knows the key.
    pub(crate) fn thumbprint(&self) -> String {
        self.public.thumbprint()
    }

    /// Returns a proof for one request.
    pub(crate) fn proof(&self, request: &ProofRequest<'_>) -> Option<Secret> {
        let origin = request.url.origin();
        let nonce = request.nonces.of(&origin);
        let proof = DpopProof {
            key: &self.public,
            algorithm: "ES256",
            method: request.method,
            url: request.url,
            access_token: request.access_token,
            nonce: nonce.as_deref(),
            now: request.clock.now(),
            random: clock::random(),
        };
        let sign = |input: &[u8]| {
            let signature = self.pair.sign(&SystemRandom::new(), input)?;
            Ok::<_, aws_lc_rs::error::Unspecified>(signature.as_ref().to_vec())
        };
        // A key that was read or made can sign; without a proof the server refuses the request.
        proof.sign(sign).ok()
    }
}

/// The request that a proof is made for.
pub(crate) struct ProofRequest<'a> {
    pub(crate) method: &'a str,
    pub(crate) url: &'a HttpUrl,
    /// The access token that the request is sent with; `None` at the token endpoint.
    pub(crate) access_token: Option<&'a Secret>,
    pub(crate) nonces: &'a DpopNonces,
    pub(crate) clock: &'a Clock,
}

/// The last nonce of each server, by its origin.
#[derive(Debug, Default)]
pub(crate) struct DpopNonces(Mutex<BTreeMap<String, String>>);

impl DpopNonces {
    /// Remembers the nonce of an answer, if it has one.
    pub(crate) fn keep(&self, origin: String, nonce: Option<&str>) {
        if let Some(nonce) = nonce {
            let mut nonces = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            nonces.insert(origin, nonce.to_owned());
        }
    }

    fn of(&self, origin: &str) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(origin).cloned()
    }
}

/// An access token with the key that it is bound to, which proves each request to the MCP server.
pub(crate) struct BoundToken {
    pub(crate) key: DpopKey,
    pub(crate) access: Secret,
    pub(crate) server: HttpUrl,
    pub(crate) nonces: Arc<DpopNonces>,
    pub(crate) clock: Clock,
}

impl ProofOfPossession for BoundToken {
    fn prove(&self, method: &Method, url: &Uri) -> Option<HeaderValue> {
        let proof = self.key.proof(&ProofRequest {
            method: method.as_str(),
            url: &HttpUrl::parse(&url.to_string()).ok()?,
            access_token: Some(&self.access),
            nonces: &self.nonces,
            clock: &self.clock,
        })?;
        let mut value = HeaderValue::from_str(proof.expose()).ok()?;
        value.set_sensitive(true);
        Some(value)
    }

    fn judge(&self, status: StatusCode, headers: &HeaderMap) -> ProofVerdict {
        let nonce = headers.get(NONCE).and_then(|value| value.to_str().ok());
        self.nonces.keep(self.server.origin(), nonce);
        let wants_nonce = status == StatusCode::UNAUTHORIZED
            && matches!(Challenges::read(headers).demand(status), Some(Demand::DpopNonce(_)));
        if wants_nonce { ProofVerdict::WantsNonce } else { ProofVerdict::Settled }
    }
}

impl fmt::Debug for DpopKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DpopKey")
            .field("thumbprint", &self.public.thumbprint())
            .finish_non_exhaustive()
    }
}

const NONCE: &str = "dpop-nonce";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_stored_and_read_again_and_never_printed() {
        let key = DpopKey::generate().unwrap();
        let stored = key.stored().unwrap();

        let read = DpopKey::read(&stored).unwrap();

        assert_eq!(read.public, key.public);
        assert!(!format!("{read:?}").contains(stored.expose()));
        assert!(DpopKey::read(&Secret::new("no key")).is_err());
    }
}
