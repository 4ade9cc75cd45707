//! A signed token in its parts, and what it claims.

use std::sync::Arc;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde_json::{Map, Value};

use super::JwtRules;
use super::keys::Algorithm;
use crate::backend::Principal;
use crate::verify::Identified;

/// A token that has the form of one that is signed. Nothing of it is known to be true.
pub(super) struct SignedToken<'a> {
    header: Map<String, Value>,
    claims: Map<String, Value>,
    signed: &'a str,
    signature: Vec<u8>,
}

impl<'a> SignedToken<'a> {
    /// Reads the parts of a token; `None` if it is no JSON Web Token.
    pub(super) fn read(text: &'a str) -> Option<Self> {
        if text.len() > LONGEST {
            return None;
        }
        let (signed, signature) = text.rsplit_once('.')?;
        let (header, claims) = signed.split_once('.')?;
        let signature = BASE64_URL_SAFE_NO_PAD.decode(signature).ok()?;
        Some(Self { header: object(header)?, claims: object(claims)?, signed, signature })
    }

    /// Returns the algorithm, if it is one of these.
    pub(super) fn algorithm(&self, allowed: &[Algorithm]) -> Result<Algorithm, &'static str> {
        if self.header.contains_key("crit") {
            return Err("the token demands an extension that is not known here");
        }
        let named = self.header.get("alg").and_then(Value::as_str);
        let algorithm = named.and_then(Algorithm::parse).filter(|it| allowed.contains(it));
        algorithm.ok_or("the token is not signed with an algorithm that is taken here")
    }

    pub(super) fn key_id(&self) -> Option<&str> {
        self.header.get("kid")?.as_str()
    }

    /// Returns what the signature is of.
    pub(super) const fn signed_text(&self) -> &[u8] {
        self.signed.as_bytes()
    }

    pub(super) fn signature(&self) -> &[u8] {
        &self.signature
    }

    /// Checks issuer, audience and times, at `now` in seconds since 1970.
    pub(super) fn check_claims(&self, rules: &JwtRules, now: u64) -> Result<(), &'static str> {
        if self.text("iss") != Some(&rules.issuer) {
            return Err("the token is of another issuer");
        }
        let is_ours =
            |it: &Value| it.as_str().is_some_and(|it| rules.audience.iter().any(|own| own == it));
        let is_for_us = match self.claims.get("aud") {
            Some(Value::Array(all)) => all.iter().any(is_ours),
            Some(one) => is_ours(one),
            None => false,
        };
        if !is_for_us {
            return Err("the token is not for this server");
        }
        let Some(end) = self.time("exp")? else { return Err("the token has no end") };
        if end.saturating_add(SKEW) <= now {
            return Err("the token is out of date");
        }
        let begins = [self.time("nbf")?, self.time("iat")?];
        if begins.into_iter().flatten().any(|begin| begin > now.saturating_add(SKEW)) {
            return Err("the token is not good yet");
        }
        Ok(())
    }

    /// Returns the principal of the token, whose signature was checked.
    pub(super) fn identified(&self, groups_claim: &str) -> Result<Identified, &'static str> {
        let is_name = |it: &&str| {
            !it.is_empty() && it.len() <= LONGEST_NAME && !it.chars().any(char::is_control)
        };
        let name = self.text("sub").filter(is_name).ok_or("the token does not name its subject")?;
        let mut groups: Vec<Arc<str>> = match self.claims.get(groups_claim) {
            // Scopes are words in one text.
            Some(Value::String(words)) => words.split(' ').map(Arc::from).collect(),
            Some(Value::Array(all)) => {
                all.iter().filter_map(|it| it.as_str().map(Arc::from)).collect()
            }
            _ => Vec::new(),
        };
        groups.retain(|it| !it.is_empty());
        groups.sort();
        groups.dedup();
        groups.truncate(MOST_GROUPS);
        Ok(Identified { principal: Principal::new(name), groups: groups.into() })
    }

    fn text(&self, claim: &str) -> Option<&str> {
        self.claims.get(claim)?.as_str()
    }

    /// Returns a claim that is a time, in seconds; one that is none is an error.
    fn time(&self, claim: &str) -> Result<Option<u64>, &'static str> {
        let Some(value) = self.claims.get(claim) else { return Ok(None) };
        let seconds = value.as_u64().or_else(|| {
            let seconds = value.as_f64().filter(|it| (0.0..1e15).contains(it))?;
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "it is finite, positive and small"
            )]
            Some(seconds as u64)
        });
        seconds.map(Some).ok_or("a time of the token is none")
    }
}

fn object(part: &str) -> Option<Map<String, Value>> {
    let text = BASE64_URL_SAFE_NO_PAD.decode(part).ok()?;
    match serde_json::from_slice(&text).ok()? {
        Value::Object(members) => Some(members),
        _ => None,
    }
}

/// Longer than any that fits in a header of 64 KiB with room for the rest.
const LONGEST: usize = 32 * 1024;
const LONGEST_NAME: usize = 256;
const MOST_GROUPS: usize = 100;
/// How far the clocks of two machines may be apart, in seconds.
const SKEW: u64 = 60;
