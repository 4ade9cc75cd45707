//! The options of one call, as Python writes them.

use std::collections::BTreeMap;
use std::time::Duration;

use ridethrough::Call;
use serde::Deserialize;

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct CallOptions {
    /// The time of the call, in seconds.
    timeout: Option<f64>,
    pub(crate) idempotent: bool,
    fresh: bool,
    pub(crate) progress: bool,
    headers: BTreeMap<String, String>,
    meta: BTreeMap<String, serde_json::Value>,
}

impl CallOptions {
    pub(crate) fn apply(&self, mut call: Call) -> Call {
        if let Some(time) = self.timeout.and_then(seconds) {
            call = call.timeout(time);
        }
        if self.idempotent {
            call = call.idempotent();
        }
        if self.fresh {
            call = call.fresh();
        }
        for (name, value) in &self.headers {
            call = call.header(name, value);
        }
        for (name, value) in &self.meta {
            call = call.meta(name, value);
        }
        call
    }
}

/// Returns a time in seconds as a duration; a time longer than any clock counts as for ever.
pub(crate) fn seconds(time: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(time).ok().map(|time| time.min(YEAR))
}

const YEAR: Duration = Duration::from_secs(365 * 24 * 3600);
