//! Refusals that only a server of the other era gives.

use http::StatusCode;
use ridethrough_wire::era::Era;
use ridethrough_wire::message::Answer;
use ridethrough_wire::message::code::{
    HEADER_MISMATCH, INVALID_PARAMS, METHOD_NOT_FOUND, UNSUPPORTED_VERSION, is_modern,
};

use super::discovery::{self, Verdict};
use super::status;

/// Whether only a server of the other era would refuse a request of this era so. `answer` is what the body
/// said; `None` if it was no JSON-RPC.
pub(crate) fn is_from_the_other_era(era: Era, status: StatusCode, answer: Option<&Answer>) -> bool {
    let code = answer.map(|answer| answer.error().map(|error| error.code));
    match (era, code) {
        // A result is no refusal.
        (_, Some(None)) => false,
        (Era::Legacy, Some(Some(code))) => match code {
            UNSUPPORTED_VERSION => {
                matches!(discovery::verdict(status, answer), Verdict::Modern(_))
            }
            // The server misses headers that only stateless requests have.
            HEADER_MISMATCH => status::refuses_the_form(status),
            _ => false,
        },
        (Era::Legacy, None) => false,
        (Era::Modern, Some(Some(UNSUPPORTED_VERSION))) => {
            discovery::verdict(status, answer) == Verdict::Legacy
        }
        // The server wants a session, or does not know the revision; a modern server has codes for other
        // faults.
        (Era::Modern, code) => {
            let is_told = code.flatten().is_some_and(is_told_in_modern_words);
            status::refuses_the_form(status) && !is_told
        }
    }
}

/// Whether a code is one by which a server of Streamable HTTP, or of the stateless revision, says what is
/// wrong with a request that it understood.
pub(crate) fn is_told_in_modern_words(code: i64) -> bool {
    matches!(code, METHOD_NOT_FOUND | INVALID_PARAMS) || is_modern(code)
}
