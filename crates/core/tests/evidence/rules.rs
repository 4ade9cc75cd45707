//! The rules for an odd answer, independent of the code under test.
//!
//! Where the rules leave a case open, both readings are accepted, as long as nothing is repeated on a guess.

use crate::case::{Body, Carrier, Case, Header, Words};
use crate::server::Speaks;

/// Whether the status itself means that the request was not carried out. A server that ran the tool and then
/// says so lies, and a client that believes it is not at fault. What something between client and server says
/// after the run, too, is no such status.
pub(crate) const fn is_lie(case: &Case) -> bool {
    match case.status.code {
        401 => matches!(case.status.header, Header::Challenge),
        403 => matches!(case.status.header, Header::Scope),
        407 | 411 | 414 | 415 | 417 | 421 | 425 | 426 | 429 | 431 => true,
        _ => false,
    }
}

/// Whether a stateless server refuses the form of the request in words for that: in an error that names our
/// id, or under a status that means by itself that nothing ran.
pub(crate) const fn refuses_the_form(speaks: Speaks, case: &Case) -> bool {
    let names_the_form = case.body.is_our_error() || case.body.is_nameless_error() && is_lie(case);
    matches!(speaks, Speaks::Stateless)
        && names_the_form
        && matches!(case.words, Words::HeaderMismatch | Words::UnsupportedButOurs)
}

/// Whether an error that names our id refuses the revision or the headers of another era.
pub(crate) const fn refuses_the_era(case: &Case) -> bool {
    case.body.is_our_error()
        && matches!(
            case.words,
            Words::HeaderMismatch | Words::UnsupportedButOurs | Words::UnsupportedLegacy
        )
}

/// Returns how often the tool may run while its server lives: once, unless the server lied.
pub(crate) const fn most_runs(speaks: Speaks, case: &Case) -> u32 {
    let mended = refuses_the_form(speaks, case) as u32;
    let by_status = match (case.status.code, case.status.header) {
        // An answer that names our id takes precedence over these.
        _ if redirects(case) && case.names_our_id() && is_readable(case) => 0,
        // A redirect is followed, whoever made it.
        _ if redirects(case) => 5,
        (401, Header::Challenge) => 1,
        (403, Header::Scope) => 2,
        (425 | 429, _) => MOST_DEFERRALS,
        _ => 0,
    };
    1 + by_status + mended
}

/// Whether the answer is a redirect that keeps the request as it is.
pub(crate) const fn redirects(case: &Case) -> bool {
    matches!(case.status.code, 307 | 308)
}

/// Whether an answer in the body can be read by a client that respects the media type.
const fn is_readable(case: &Case) -> bool {
    let status = case.status.code;
    let is_success = status >= 200 && status < 300;
    match (case.carrier, case.body) {
        (Carrier::EventStream, _) => is_success,
        (_, Body::ErrorOursAsText) => !is_success,
        _ => true,
    }
}

/// Whether the caller must get the answer in the body that names our id.
pub(crate) const fn must_be_delivered(case: &Case) -> bool {
    if !is_readable(case) {
        return false;
    }
    // An error is delivered even where the status is read first: if the call ends there, the error is its
    // answer.
    case.body.is_our_error() || case.body.is_our_result() && !is_read_before_the_answer(case)
}

/// Whether this status comes from a guard or a limit before the server.
pub(crate) const fn is_read_before_the_answer(case: &Case) -> bool {
    matches!(
        (case.status.code, case.status.header),
        (401, _) | (403, Header::Scope) | (425 | 429, _) | (503, Header::RetryAfter)
    )
}

/// Whether this can be the answer to a call. Over HTTP+SSE a success means that the call was accepted; a body
/// that does not name it leaves it waiting for its answer.
pub(crate) const fn can_answer(speaks: Speaks, case: &Case) -> bool {
    let is_success = case.status.code >= 200 && case.status.code < 300;
    let is_named = case.names_our_id() && !matches!(case.body, Body::ErrorOursAsText);
    !matches!(speaks, Speaks::HttpSse) || !is_success || is_named
}

/// Whether the error must contain the words of the body.
pub(crate) const fn must_keep_words(case: &Case) -> bool {
    match case.body {
        Body::Cut | Body::Empty | Body::Html => false,
        Body::ResultOurs | Body::ResultOursAsString => false,
        // The body refuses, whatever the status says.
        Body::ErrorNoId | Body::ErrorNull => true,
        _ => case.status.code >= 300,
    }
}

/// Whether the error must contain what a challenge asked for. If a body breaks off, HTTP/2 may lose the head
/// too.
pub(crate) const fn must_keep_challenge(case: &Case) -> bool {
    !matches!(case.body, Body::Cut)
        && match case.status.header {
            Header::Challenge => crate::CHALLENGES_HAVE_WORDS,
            Header::None | Header::RetryAfter => false,
            Header::Scope => true,
        }
}

/// What an answer says about the session that its request was sent in, if every other request in that session
/// is answered likewise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loss {
    /// Nothing: the call ran once, and must not be repeated.
    None,
    /// The rules leave it open.
    Open,
    /// It is lost: it is renewed, and the call is sent once more.
    Suspicious,
}

/// Returns what an answer says about a session that is really gone.
pub(crate) const fn loss(speaks: Speaks, case: &Case) -> Loss {
    let speaks_of_loss = match speaks {
        Speaks::Stateless => return Loss::None,
        Speaks::HttpSse | Speaks::Replicas | Speaks::WithIds => {
            case.words.speaks_of_a_lost_session()
        }
        // A server that issued no session id cannot report the loss of one.
        Speaks::WithoutIds => matches!(case.words, Words::NotInitialized),
    };
    match case.body {
        Body::ResultOurs | Body::ResultOursAsString => return Loss::None,
        // These are a cut-off error, an error for another request, a page for people, and a result without an
        // id.
        Body::Cut | Body::ErrorOther | Body::Html | Body::ResultNoId => return Loss::Open,
        _ => {}
    }
    let has_words = speaks_of_loss && !matches!(case.body, Body::Empty);
    let has_ids = !matches!(speaks, Speaks::WithoutIds);
    match case.status.code {
        _ if is_read_before_the_answer(case) => Loss::Open,
        _ if matches!(case.carrier, Carrier::EventStream) && case.status.code >= 300 => Loss::Open,
        // Only a server of the other era uses these words.
        _ if speaks_of_another_era(case.words) => Loss::Open,
        200..=299 => match case.body {
            Body::ErrorOurs | Body::ErrorOursAsString if has_words => Loss::Suspicious,
            Body::ErrorNoId | Body::ErrorNull | Body::ErrorOursAsText if has_words => Loss::Open,
            _ => Loss::None,
        },
        404 if has_ids && has_words => Loss::Suspicious,
        // An answer that names our id and does not mention the session is the call's answer.
        404 if has_ids && case.names_our_id() => Loss::Open,
        404 if has_ids => Loss::Suspicious,
        410 if has_ids && !has_words => Loss::Open,
        400..=499 | 503 if has_words => Loss::Suspicious,
        _ => Loss::None,
    }
}

const fn speaks_of_another_era(words: Words) -> bool {
    matches!(
        words,
        Words::HeaderMismatch
            | Words::MissingCapability
            | Words::UnsupportedButOurs
            | Words::UnsupportedLegacy
    )
}

/// The most deferrals: a deferred call is sent again when the server asked for it, within its patience of
/// half a minute.
const MOST_DEFERRALS: u32 = 40;
