//! The dialects in which servers say "this session is gone".
//!
//! The protocol knows one way (404 to a request that carried a session id); the field knows many.
//! Detection is narrow on purpose: a tool's own error must never cost a session. Only protocol
//! answers are read here, never the inside of a result.

use std::fmt;
use std::sync::Arc;

use http::StatusCode;

use crate::head::{AnswerHead, Challenge};

/// A session id, as the server issued it.
///
/// Whoever has it can speak in the session, so it never prints itself.
#[derive(Clone, PartialEq, Eq)]
pub struct SessionId(Arc<str>);

impl SessionId {
    /// Takes an id from a header, if it is one: visible ASCII only (Session Management, 1).
    pub fn new(id: &str) -> Option<Self> {
        let is_visible = !id.is_empty() && id.bytes().all(|byte| (0x21..=0x7e).contains(&byte));
        is_visible.then(|| Self(id.into()))
    }

    /// The id, for the header that carries it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SessionId(..)")
    }
}

/// Whether a request named a session to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carried {
    /// The server issued an id and the request carried it.
    Session,
    /// The server issued none: it may still forget us, but a 404 is then only a 404.
    NoSession,
    /// The era has no sessions: there is nothing to lose, whatever the words say.
    Stateless,
}

/// What an answer says about the session it was asked in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// The session is gone.
    Certain,
    /// Nothing about the session.
    None,
    /// The words say so but the status does not: ask before believing.
    Suspected,
}

/// Reads the dialects. `words` is the message of the JSON-RPC error, or the body as text.
pub fn loss(head: &AnswerHead, carried: Carried, words: Option<&str>) -> Loss {
    if carried == Carried::Stateless {
        return Loss::None;
    }
    let speaks_of_loss = words.is_some_and(names_a_lost_session);
    let challenged = matches!(head.challenge, Some(Challenge::Credentials));
    match head.status {
        StatusCode::NOT_FOUND | StatusCode::GONE => match carried {
            Carried::Session => Loss::Certain,
            _ if speaks_of_loss => Loss::Certain,
            _ => Loss::None,
        },
        StatusCode::UNAUTHORIZED if challenged => Loss::None,
        StatusCode::BAD_REQUEST
        | StatusCode::UNAUTHORIZED
        | StatusCode::CONFLICT
        | StatusCode::SERVICE_UNAVAILABLE
            if speaks_of_loss =>
        {
            Loss::Certain
        }
        status if status.is_success() && speaks_of_loss => Loss::Suspected,
        _ => Loss::None,
    }
}

/// Whether a text contains one of the phrases by which servers report a lost session.
pub fn names_a_lost_session(words: &str) -> bool {
    let words = words.to_ascii_lowercase();
    PHRASES.iter().any(|phrase| words.contains(phrase))
}

/// Collected from servers in the field; lower case. A new one needs a recorded body as its test.
const PHRASES: [&str; 15] = [
    "expired session",
    "invalid or expired session",
    "invalid or missing session id",
    "invalid session id",
    "no valid session",
    "server not initialized",
    "session expired",
    "session has expired",
    "session id is required",
    "session not found",
    "session terminated",
    "session-id header is required",
    "unknown mcp-session-id",
    "unknown on this instance",
    "unknown session",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::head::Content;

    #[test]
    fn a_404_or_410_means_lost_only_if_the_request_carried_a_session() {
        for status in [StatusCode::NOT_FOUND, StatusCode::GONE] {
            assert_eq!(read(status, Carried::Session, None), Loss::Certain);
            assert_eq!(read(status, Carried::NoSession, None), Loss::None);
            assert_eq!(read(status, Carried::NoSession, Some("Unknown session")), Loss::Certain);
        }
    }

    #[test]
    fn a_400_401_409_or_503_means_lost_only_with_a_phrase() {
        for code in [400, 401, 409, 503] {
            let status = StatusCode::from_u16(code).unwrap();

            assert_eq!(read(status, Carried::Session, Some("Session expired")), Loss::Certain);
            assert_eq!(read(status, Carried::NoSession, Some("Session expired")), Loss::Certain);
            assert_eq!(read(status, Carried::Session, Some("Bad things happened")), Loss::None);
            assert_eq!(read(status, Carried::Session, None), Loss::None);
        }
    }

    #[test]
    fn a_401_with_a_challenge_is_never_a_lost_session() {
        let mut head = AnswerHead::new(StatusCode::UNAUTHORIZED, Content::Json);
        head.challenge = Some(Challenge::Credentials);

        assert_eq!(loss(&head, Carried::Session, Some("session expired")), Loss::None);
    }

    #[test]
    fn a_phrase_under_status_200_is_only_a_suspicion() {
        assert_eq!(
            read(StatusCode::OK, Carried::Session, Some("Session expired")),
            Loss::Suspected
        );
    }

    #[test]
    fn every_recorded_body_is_recognised() {
        for words in include_str!("../tests/dialects/recorded.txt").lines() {
            assert!(names_a_lost_session(words), "{words}");
        }
    }

    #[test]
    fn no_unrelated_body_is_recognised() {
        for words in include_str!("../tests/dialects/unrelated.txt").lines() {
            assert!(!names_a_lost_session(words), "{words}");
        }
    }

    #[test]
    fn a_session_id_is_visible_ascii_and_never_prints_itself() {
        assert!(SessionId::new("with space").is_none());
        assert!(SessionId::new("").is_none());

        let id = SessionId::new("s-ecret").unwrap();

        assert_eq!(format!("{id:?}"), "SessionId(..)");
    }

    fn read(status: StatusCode, carried: Carried, words: Option<&str>) -> Loss {
        loss(&AnswerHead::new(status, Content::Json), carried, words)
    }
}
