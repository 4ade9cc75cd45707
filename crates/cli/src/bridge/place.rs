//! Checks the address of the server.

use ridethrough::transport::Endpoint;
use ridethrough_config::address;

use crate::misuse::Misuse;

/// Refuses to send secrets over plain `http` to another machine, where others can listen.
pub(super) fn check(url: &str, allow_http: bool) -> Result<(), Misuse> {
    // A text that is not a URL is refused by the client's builder, with a better message.
    let Ok(endpoint) = Endpoint::parse(url) else { return Ok(()) };
    if allow_http || address::is_safe_from_listeners(&endpoint) {
        return Ok(());
    }
    Err(Misuse {
        what: format!("`{endpoint}` is not encrypted, and not on this machine"),
        tried: "the URL was read; nothing was sent".to_owned(),
        hint: "write `https://`, or add `--allow-http` if nobody can listen in between".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_spoken_to_in_the_clear() {
        for (url, is_allowed) in [
            ("https://example.com/mcp", true),
            ("http://127.0.0.1/mcp", true),
            ("http://example.com/mcp", false),
        ] {
            assert_eq!(check(url, false).is_ok(), is_allowed, "{url}");
            assert!(check(url, true).is_ok(), "{url}");
        }
    }

    #[test]
    fn a_refusal_does_not_show_the_query() {
        let refusal = check("http://example.com/mcp?key=s3cret", false).unwrap_err().to_string();

        assert!(!refusal.contains("s3cret"), "{refusal}");
    }
}
