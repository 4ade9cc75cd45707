//! The checks of a server on a DPoP proof (RFC 9449, 4.3).

use std::collections::BTreeSet;

use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;

use super::http::{Answer, Request};

/// The demands of a world's servers on proofs.
#[derive(Debug, Default)]
pub(crate) struct Proofs {
    /// Whether the authorization servers bind tokens to keys, and the MCP server accepts no others.
    pub(crate) are_wanted: bool,
    /// Whether the authorization servers list algorithms.
    pub(crate) are_advertised: bool,
    /// The nonce that a site wants, if it wants one.
    pub(crate) nonces: std::collections::BTreeMap<&'static str, String>,
    /// The numbers of all proofs so far.
    seen: BTreeSet<String>,
}

impl Proofs {
    /// Returns the key of a request's proof, or the answer if the proof is invalid.
    pub(super) fn check(
        &mut self,
        site: &'static str,
        origin: &str,
        request: &Request,
        token: Option<&str>,
    ) -> Result<String, Answer> {
        let url = format!("{origin}{}", request.path);
        let proof = request.headers.get("dpop").ok_or_else(|| refused("no proof"))?;
        let (key, claims) = verify(proof).map_err(refused)?;
        let hash = token.map(|token| encode(digest(&SHA256, token.as_bytes()).as_ref()));
        let is_right = claims["htm"] == request.method.as_str()
            && claims["htu"] == url
            && claims["ath"].as_str() == hash.as_deref();
        if !is_right {
            return Err(refused(&format!("a proof of another request: {claims}")));
        }
        if !self.seen.insert(claims["jti"].to_string()) {
            return Err(refused("a proof that was seen before"));
        }
        match self.nonces.get(site) {
            Some(nonce) if claims["nonce"] != nonce.as_str() => Err(wants_nonce(site, nonce)),
            _ => Ok(key),
        }
    }
}

fn wants_nonce(site: &str, nonce: &str) -> Answer {
    let body = serde_json::json!({"error": "use_dpop_nonce"});
    let status = if site == "mcp" { 401 } else { 400 };
    Answer::json(status, body)
        .with("www-authenticate", "DPoP error=\"use_dpop_nonce\"")
        .with("dpop-nonce", nonce)
}

fn refused(why: &str) -> Answer {
    Answer::json(400, serde_json::json!({"error": "invalid_dpop_proof", "error_description": why}))
}

fn verify(proof: &str) -> Result<(String, Value), &'static str> {
    let (signed, signature) = proof.rsplit_once('.').ok_or("no JWT")?;
    let (header, claims) = signed.split_once('.').ok_or("no JWT")?;
    let read = |part: &str| -> Value { serde_json::from_slice(&decode(part)).unwrap() };
    let header = read(header);
    if header["typ"] != "dpop+jwt" || header["alg"] != "ES256" || header["jwk"]["d"] != Value::Null
    {
        return Err("a header of another kind");
    }
    let mut point = vec![4];
    for coordinate in ["x", "y"] {
        point.extend(decode(header["jwk"][coordinate].as_str().unwrap()));
    }
    let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point);
    key.verify(signed.as_bytes(), &decode(signature)).map_err(|_| "a wrong signature")?;
    Ok((header["jwk"].to_string(), read(claims)))
}

fn encode(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

fn decode(text: &str) -> Vec<u8> {
    URL_SAFE_NO_PAD.decode(text).unwrap()
}
