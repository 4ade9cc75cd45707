//! Checks of a client's settings. All faults are reported together, each with field, value and bound.

use std::time::Duration;

use http::HeaderMap;
use ridethrough_transport::{CertificateDer, FEWEST_CONNECTIONS, checked_header, roots_in};
use ridethrough_wire::message::Json;
use serde::Serialize;

use crate::cache::Cache;
use crate::driver::Limits;
use crate::error::BuildError;

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
    pems.iter().filter_map(|pem| faults.found(roots_in(pem))).flatten().collect()
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
