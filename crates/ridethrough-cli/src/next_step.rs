//! What a person does next about a server that could not be talked to at all.

use ridethrough::{CallError, Kind};

/// The next step, in one line; `None` where the error itself says what to do. `server` is how the server can be
/// typed: a URL without its query, a name, or a program behind `--`.
pub(crate) fn of(error: &CallError, server: &str) -> Option<String> {
    let is_no_endpoint = error.is_of_handshake()
        && match error.kind {
            Kind::Rejected { status } => !matches!(status, 300..=399 | 403 | 429 | 500..=599),
            Kind::Incompatible | Kind::PeerMisbehaved => true,
            _ => false,
        };
    let is_unsettled =
        error.is_of_handshake() || matches!(error.kind, Kind::Unreachable | Kind::Incompatible);
    let look_closer = format!("`ridethrough check {server}` looks closer");
    let is_url = server.contains("://");
    match (is_no_endpoint && is_url).then(|| with_mcp(server)).flatten() {
        Some(longer) => Some(format!("perhaps `/mcp` is missing: try `{longer}`; {look_closer}")),
        None => is_unsettled.then_some(look_closer),
    }
}

/// The URL at which most servers answer, if this is not one of them.
pub(crate) fn with_mcp(url: &str) -> Option<String> {
    let url = url.trim_end_matches('/');
    (!url.ends_with("/mcp")).then(|| format!("{url}/mcp"))
}

#[cfg(test)]
mod tests {
    use ridethrough::{CallName, Delivery, Reason};

    use super::*;

    #[test]
    fn a_wrong_path_leads_to_the_usual_one_and_to_a_closer_look() {
        let error = refused(Kind::Rejected { status: 404 });

        assert_eq!(
            of(&error, "http://a/").unwrap(),
            "perhaps `/mcp` is missing: try `http://a/mcp`; `ridethrough check http://a/` looks closer"
        );
        assert_eq!(
            of(&error, "http://a/mcp").unwrap(),
            "`ridethrough check http://a/mcp` looks closer"
        );
    }

    #[test]
    fn a_program_has_no_path_that_could_be_wrong() {
        let error = refused(Kind::Rejected { status: 404 });

        assert_eq!(
            of(&error, "-- npx ...").unwrap(),
            "`ridethrough check -- npx ...` looks closer"
        );
    }

    #[test]
    fn a_server_that_fails_or_forbids_is_at_the_right_path() {
        for status in [403, 500, 503] {
            let step = of(&refused(Kind::Rejected { status }), "http://a/").unwrap();

            assert_eq!(step, "`ridethrough check http://a/` looks closer");
        }
    }

    #[test]
    fn a_call_that_was_sent_says_itself_what_to_do() {
        let mut error = refused(Kind::Rejected { status: 404 });
        error.attempts = 1;

        assert_eq!(of(&error, "http://a/"), None);
    }

    fn refused(kind: Kind) -> CallError {
        let call = CallName { method: "tools/list".into(), tool: None };
        let mut error = CallError::new(kind, Delivery::NotSent, call, Reason::Nothing);
        error.handshakes = 2;
        error
    }
}
