//! The texts of the model: answers that the server writes, and numbers in what the machine wrote.

use ridethrough_core::Outgoing;

/// A response with this result.
pub(crate) fn answer(wire_id: u64, result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{wire_id},"result":{result}}}"#)
}

/// Returns the number behind `key` in a text that the machine wrote.
pub(crate) fn number_after(text: &str, key: &str) -> Option<u64> {
    let rest = &text[text.find(key)? + key.len()..];
    let end = rest.find(|next: char| !next.is_ascii_digit()).unwrap_or(rest.len());
    rest[..end].parse().ok()
}

/// The number of the session that a request belongs to.
pub(crate) fn session_number(request: &Outgoing) -> Option<u64> {
    request.to.session.as_ref()?.as_str().strip_prefix('s')?.parse().ok()
}

/// Where a redirect of the door leads: a page that takes no POST.
pub(super) const ERROR_PAGE: &str = "/m.html";
