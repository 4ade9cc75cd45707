//! When a token ends, from `expires_in` as servers write it.

use std::time::Duration;

use serde_json::Value;

use crate::json::Object;
use crate::timestamp::Timestamp;

/// Returns the absolute end; `None` if the answer does not say.
///
/// Numbers come as texts and fractions. 0 and less means a token that has ended, not one that lasts.
pub(super) fn read(object: &Object, received_at: Timestamp) -> Option<Timestamp> {
    let seconds = match object.get("expires_in")? {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    let seconds = seconds.filter(|seconds: &f64| !seconds.is_nan())?;
    Some(received_at + Duration::from_secs_f64(seconds.clamp(0.0, LONGEST_SECONDS)))
}

/// The longest life that is believed: a hundred years.
const LONGEST_SECONDS: f64 = 100.0 * 365.0 * 86_400.0;
