//! What one URI says of another.

/// Whether an update of one resource concerns a subscription to another: a server may name a part of it.
///
/// ```
/// use ridethrough_wire::message::is_within;
///
/// assert!(is_within("x:/a/part", "x:/a"));
/// assert!(!is_within("x:/ab", "x:/a"));
/// ```
pub fn is_within(uri: &str, wanted: &str) -> bool {
    uri.strip_prefix(wanted).is_some_and(|rest| {
        rest.is_empty() || wanted.ends_with('/') || rest.starts_with(['/', '#', '?'])
    })
}
