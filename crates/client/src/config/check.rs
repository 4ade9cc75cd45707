//! Checks of a client's settings. All faults are reported together, each with field, value and bound.

use std::time::Duration;

use http::HeaderMap;
use ridethrough_wire::message::Json;
use rustls::RootCertStore;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde::Serialize;

use crate::cache::Cache;
use crate::dial::ClientCertificate;
use crate::driver::Limits;
use crate::error::BuildError;
use crate::http::checked_header;
use crate::pool::FEWEST_CONNECTIONS;

/// The faults found so far.
#[derive(Default)]
pub(super) struct Faults(Vec<String>);

impl Faults {
    pub(super) fn found<T>(&mut self, result: Result<T, String>) -> Option<T> {
        result.map_err(|fault| self.0.push(fault)).ok()
    }

    pub(super) fn add(&mut self, fault: String) {
        self.0.push(fault);
    }

    /// Returns what was built, if there is no fault.
    pub(super) fn verdict<T>(self, built: Option<T>) -> Result<T, BuildError> {
        match built {
            Some(built) if self.0.is_empty() => Ok(built),
            _ => Err(BuildError::new(self.0)),
        }
    }
}

/// Returns a URL fit to be shown: without its query, and without anything before an `@`.
pub(super) fn shown(url: &str) -> String {
    let (scheme, rest) = match url.split_once("://") {
        // Without a scheme, the text before `://` may be part of a password.
        Some((scheme, rest)) if scheme.chars().all(|it| it.is_ascii_alphanumeric()) => {
            (format!("{scheme}://"), rest)
        }
        _ => (String::new(), url),
    };
    let (authority, tail) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    // A password may hold these characters unescaped.
    if tail.contains('@') {
        return format!("{scheme}...");
    }
    let host = authority.rsplit('@').next().unwrap_or_default();
    let path = tail.split(['?', '#']).next().unwrap_or_default();
    format!("{scheme}{host}{path}")
}

pub(super) fn object(given: &impl Serialize) -> Result<Json, String> {
    match Json::of(given) {
        Ok(json) if json.as_str().starts_with('{') => Ok(json),
        Ok(json) if json.as_str() == "null" => Err("nothing, must be an object".to_owned()),
        Ok(_) => Err("JSON of another kind, must be an object".to_owned()),
        Err(error) => Err(format!("not JSON ({error}), must be an object")),
    }
}

pub(super) fn headers(given: &[(String, String)], faults: &mut Faults) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in given {
        if let Some((name, value)) = faults.found(checked_header(name, value)) {
            headers.append(name, value);
        }
    }
    headers
}

pub(super) fn roots(pems: &[Vec<u8>], faults: &mut Faults) -> Vec<CertificateDer<'static>> {
    let mut roots = Vec::new();
    let is_certificate =
        |it: &CertificateDer<'static>| RootCertStore::empty().add(it.clone()).is_ok();
    for pem in pems {
        let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
        match found {
            Ok(found) if !found.is_empty() && found.iter().all(is_certificate) => {
                roots.extend(found)
            }
            _ => {
                faults.0.push("`root_certificates` must be PEM with a certificate in it".to_owned())
            }
        }
    }
    roots
}

pub(super) fn client_certificate(chain: &[u8], key: &[u8]) -> Result<ClientCertificate, String> {
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(chain).collect();
    let chain = chain.ok().filter(|found| !found.is_empty());
    // The parser's error might quote the key.
    let key = PrivateKeyDer::from_pem_slice(key).ok();
    match (chain, key) {
        (Some(chain), Some(key)) => Ok(ClientCertificate { chain, key }),
        (None, _) => {
            Err("the chain of `client_certificate` must be PEM with a certificate in it".to_owned())
        }
        (_, None) => {
            Err("the key of `client_certificate` must be PEM with a private key in it".to_owned())
        }
    }
}

/// Returns the limit of connections; by default enough for every call in flight to have one.
pub(super) fn connection_limit(given: Option<usize>, in_flight: usize) -> Result<usize, String> {
    let bounds = FEWEST_CONNECTIONS..=MOST_CONNECTIONS;
    let Some(given) = given else {
        return Ok(in_flight.saturating_add(FEWEST_CONNECTIONS - 1).max(FEWEST_CONNECTIONS));
    };
    let (least, most) = (bounds.start(), bounds.end());
    let fault = format!("`connection_limit` is {given}, must be {least} to {most}");
    bounds.contains(&given).then_some(given).ok_or(fault)
}

pub(super) fn check_limits(limits: Limits, faults: &mut Faults) {
    let times = Duration::from_millis(1)..=Duration::from_secs(300);
    if !times.contains(&limits.connect) {
        faults.0.push(format!("`connect_timeout` is {:?}, must be 1ms to 300s", limits.connect));
    }
    let sizes = 1024..=1 << 30;
    if !sizes.contains(&limits.message) {
        faults.0.push(format!(
            "`message_limit` is {}, must be 1024 to {}",
            limits.message,
            1 << 30
        ));
    }
}

pub(super) fn check_cache(cache: Cache, faults: &mut Faults) {
    if cache.most_entries > MOST_KEPT {
        let given = cache.most_entries;
        faults.0.push(format!("`cache` is to keep {given} results, must be 0 to {MOST_KEPT}"));
    }
}

/// The most cache entries: more than a client of one server can use.
const MOST_KEPT: usize = 10_000;
/// The most connections: more than a machine has ports for.
const MOST_CONNECTIONS: usize = 65_536;
