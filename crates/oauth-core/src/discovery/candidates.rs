//! The places where documents may be, in the order in which they are asked for.

use std::collections::VecDeque;

use super::{Discovery, Tried, Verdict};
use crate::address::{AddressError, HttpUrl};
use crate::challenge::Challenges;
use crate::words;

impl Discovery {
    /// Returns the challenge's own URL, then the well-known ones for the path and the origin.
    pub(super) fn resource_candidates(&mut self, challenges: &Challenges) -> VecDeque<HttpUrl> {
        let mut candidates = VecDeque::new();
        if let Some(text) = challenges.resource_metadata() {
            match self.usable(text) {
                Ok(url) => candidates.push_back(url),
                Err(error) => self
                    .tried
                    .push(Tried { url: words::shown(text), verdict: Verdict::Unusable(error) }),
            }
        }
        let name = "oauth-protected-resource";
        if self.server.has_path() {
            push(&mut candidates, self.server.well_known_before_path(name));
        }
        push(&mut candidates, self.server.at_path("/.well-known/oauth-protected-resource"));
        candidates
    }

    /// Returns the places of RFC 8414, then of OpenID Connect, which has two for an issuer with a path.
    pub(super) fn server_candidates(
        &self,
        issuer: &str,
    ) -> Result<VecDeque<HttpUrl>, AddressError> {
        let issuer = self.usable(issuer)?;
        if issuer.as_str().contains(['?', '#']) {
            return Err(AddressError::QueryOrFragment);
        }
        let mut candidates = VecDeque::new();
        push(&mut candidates, issuer.well_known_before_path("oauth-authorization-server"));
        push(&mut candidates, issuer.well_known_before_path("openid-configuration"));
        push(&mut candidates, issuer.well_known_after_path("openid-configuration"));
        if candidates.is_empty() { Err(AddressError::TooLong) } else { Ok(candidates) }
    }

    fn usable(&self, text: &str) -> Result<HttpUrl, AddressError> {
        let url = HttpUrl::parse(text)?;
        url.check_endpoint_of(&self.server, self.settings.near_hosts)?;
        Ok(url)
    }
}

/// Adds a candidate once: without a path two places are one.
fn push(candidates: &mut VecDeque<HttpUrl>, url: Option<HttpUrl>) {
    if let Some(url) = url.filter(|url| !candidates.contains(url)) {
        candidates.push_back(url);
    }
}
