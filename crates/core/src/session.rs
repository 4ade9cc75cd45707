//! The id of a session, and whether a request carried one.

use std::fmt;
use std::sync::Arc;

/// A session id, as the server issued it.
///
/// It lets its holder send requests in the session, so it never prints itself.
#[derive(Clone, PartialEq, Eq)]
pub struct SessionId(Arc<str>);

impl SessionId {
    /// Creates an id from a header's value, if it is valid: visible ASCII only (Session Management, 1).
    pub fn new(id: &str) -> Option<Self> {
        let is_visible = !id.is_empty() && id.bytes().all(|byte| (0x21..=0x7e).contains(&byte));
        is_visible.then(|| Self(id.into()))
    }

    /// Returns the id, for the header that carries it.
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
    /// No session yet: the request asks for one.
    Handshake,
    /// No session, because the server issued no id. It may still forget the client, but a 404 is then only a
    /// 404.
    NoSession,
    /// The session with the id that the server issued.
    Session,
    /// No session, because the era has none, whatever an answer says.
    Stateless,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_id_is_visible_ascii_and_never_prints_itself() {
        assert!(SessionId::new("with space").is_none());
        assert!(SessionId::new("").is_none());

        let id = SessionId::new("s-ecret").unwrap();

        assert_eq!(format!("{id:?}"), "SessionId(..)");
    }
}
