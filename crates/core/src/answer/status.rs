//! What a status means by itself. No other file of this crate knows a status by its number.

use http::StatusCode;

use crate::head::{AnswerHead, Content, Demand};

/// Returns the head of an open event stream.
pub(crate) const fn stream_head() -> AnswerHead {
    AnswerHead::new(StatusCode::OK, Content::EventStream)
}

/// Whether `what` holds for the status of this number.
pub(crate) fn holds(status: u16, what: impl Fn(StatusCode) -> bool) -> bool {
    StatusCode::from_u16(status).is_ok_and(what)
}

/// Whether a status proves that a request of `size` bytes was not carried out: it is decided before a body
/// counts (407, 411, 414, 415, 417, 421, 426, 431), or it is a limit that stands before the server (425, 429).
///
/// What stands between client and server answers with every other status after it passed the request on, too:
/// filters that read answers (403), limits on the size of answers (413 to a small request), pages configured
/// over errors (307, 308, 405, 503). A 401 and a 403 are proof by their challenge only, a 503 by its body.
pub fn is_not_carried_out(status: StatusCode, size: usize) -> bool {
    match status.as_u16() {
        407 | 411 | 414 | 415 | 417 | 421 | 425 | 426 | 429 | 431 => true,
        413 => size > LARGE_REQUEST,
        _ => false,
    }
}

/// Row 2: whether an answer asks for time before the request is sent again.
pub(crate) fn asks_to_come_back(head: &AnswerHead) -> bool {
    is_limit(head.status) || is_announced_outage(head)
}

/// Whether a server says when it will be available again: 503 with `Retry-After`.
pub(crate) fn is_announced_outage(head: &AnswerHead) -> bool {
    is_unavailable(head.status) && head.retry_after.is_some()
}

/// Whether a status limits the rate of requests (425, 429).
pub(crate) fn is_limit(status: StatusCode) -> bool {
    matches!(status.as_u16(), 425 | 429)
}

/// Whether a server says that it cannot serve any request at the moment (503).
pub(crate) fn is_unavailable(status: StatusCode) -> bool {
    status == StatusCode::SERVICE_UNAVAILABLE
}

/// Row 3: whether a status reports trouble on the way, or overload, which may pass: 408 and 502 to 504, and
/// those of content networks (520 to 530) and overloaded servers (529).
pub(crate) fn is_outage(status: StatusCode) -> bool {
    matches!(status.as_u16(), 408 | 502..=504 | 520..=530)
}

/// Whether a gateway says that the server behind it did not answer well, or is not there (502 to 504).
pub(crate) fn is_of_a_gateway(status: StatusCode) -> bool {
    matches!(status.as_u16(), 502..=504)
}

/// Whether a status reports trouble that does not pass by itself: the server does not know the method or the
/// version of HTTP (501, 505), or the network wants a login (511).
pub(crate) fn is_lasting_trouble(status: StatusCode) -> bool {
    matches!(status.as_u16(), 501 | 505 | 511)
}

/// Whether a status says that the target is gone, which may be the session.
pub(crate) fn is_gone(status: StatusCode) -> bool {
    matches!(status, StatusCode::NOT_FOUND | StatusCode::GONE)
}

/// Whether there is nothing at this path (404).
pub(crate) fn is_not_found(status: StatusCode) -> bool {
    status == StatusCode::NOT_FOUND
}

/// Whether a status says that there is no stream to GET: 405, or 404.
pub(crate) fn is_no_stream_here(status: StatusCode) -> bool {
    matches!(status, StatusCode::METHOD_NOT_ALLOWED | StatusCode::NOT_FOUND)
}

/// Whether phrases of a lost session count under this status: 503 and every 4xx. A server that ends a session
/// in the middle of a call answers with another 5xx, after the tool ran.
pub(crate) fn may_speak_of_loss(status: StatusCode) -> bool {
    status.is_client_error() || is_unavailable(status)
}

/// Whether a status asks for credentials (401).
pub(crate) fn is_unauthorized(status: StatusCode) -> bool {
    status == StatusCode::UNAUTHORIZED
}

/// Whether a status says that these credentials do not allow the request (403).
pub(crate) fn is_forbidden(status: StatusCode) -> bool {
    status == StatusCode::FORBIDDEN
}

/// Row 22: whether an answer challenges the credentials, whatever its body says.
pub(crate) fn is_challenged(head: &AnswerHead) -> bool {
    is_unauthorized(head.status)
        && head.challenge.as_ref().is_some_and(|it| it.demand == Demand::Credentials)
}

/// Row 24: whether a redirect says that the request was not processed and may be sent on unchanged.
pub(crate) fn keeps_the_request(status: StatusCode) -> bool {
    matches!(status, StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT)
}

/// Row 8: whether a refused resume may succeed later.
pub(crate) fn is_passing_for_a_stream(status: StatusCode) -> bool {
    is_limit(status) || is_outage(status) || matches!(status.as_u16(), 409 | 500)
}

/// Whether a refusal of the standing stream says nothing about its event id.
pub(crate) fn is_passing_for_the_listener(status: StatusCode) -> bool {
    !status.is_client_error() || matches!(status.as_u16(), 408 | 409 | 425 | 429)
}

/// Whether a server uses this status for a request whose form it does not understand.
pub(crate) fn refuses_the_form(status: StatusCode) -> bool {
    matches!(status.as_u16(), 400 | 404 | 405 | 406 | 415)
}

/// Whether a status refuses a handshake for good, so that waiting cannot help.
pub(crate) fn is_refused_for_good(status: StatusCode) -> bool {
    let is_client_error = status.is_client_error() && !is_not_found(status);
    (is_client_error && !is_guard(status)) || status == StatusCode::NOT_IMPLEMENTED
}

/// Whether a status says that no MCP server is at this path: by 404, that nothing is there; by 501, that it
/// does not accept a POST.
pub(crate) fn is_no_server_here(status: StatusCode) -> bool {
    is_not_found(status) || status == StatusCode::NOT_IMPLEMENTED
}

/// Whether a status comes from a guard or a limit before the server.
pub(crate) fn is_guard(status: StatusCode) -> bool {
    matches!(status.as_u16(), 401 | 403 | 407 | 408 | 425 | 429)
}

/// Whether the answer to a question for the era asks for a repetition, with credentials or later. Such an
/// answer never leads to `initialize`.
pub(crate) fn wants_to_be_asked_again(status: StatusCode) -> bool {
    is_limit(status) || matches!(status.as_u16(), 401 | 407 | 408)
}

/// The size up to which no server refuses a request for its size: a 413 then speaks of the answer.
const LARGE_REQUEST: usize = 64 << 10;

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_503_asks_for_time_only_if_it_says_when_to_come_back() {
        let mut head = AnswerHead::new(StatusCode::SERVICE_UNAVAILABLE, Content::Nothing);

        assert!(!asks_to_come_back(&head));
        head.retry_after = Some(Duration::ZERO);
        assert!(asks_to_come_back(&head));
    }

    #[test]
    fn no_server_error_means_not_carried_out() {
        for code in 500..600 {
            assert!(!is_not_carried_out(StatusCode::from_u16(code).unwrap(), LARGE), "{code}");
        }
    }

    #[test]
    fn what_is_said_after_a_run_too_is_not_taken_for_proof() {
        for code in [
            307, 308, 400, 401, 402, 403, 404, 405, 406, 408, 409, 410, 412, 416, 418, 422, 423,
            424, 428, 451, 499,
        ] {
            assert!(!is_not_carried_out(StatusCode::from_u16(code).unwrap(), LARGE), "{code}");
        }
    }

    #[test]
    fn a_413_is_proof_only_of_a_request_that_is_large() {
        assert!(is_not_carried_out(StatusCode::PAYLOAD_TOO_LARGE, LARGE));
        assert!(!is_not_carried_out(StatusCode::PAYLOAD_TOO_LARGE, LARGE_REQUEST));
    }

    const LARGE: usize = LARGE_REQUEST + 1;
}
