//! Seals and opens `requestState` without a client and without a backend, for checks outside of this crate.

use ridethrough_wire::message::Json;

use super::seal::{self, Handle, Sealer};
use crate::backend::{Caller, Principal};

/// A key that seals and opens `requestState`, as a server has one. It is for checks outside of this crate, and
/// not part of the API.
#[derive(Debug)]
pub struct StateRehearsal(Sealer);

/// What a `requestState` says, as far as checks outside of this crate must know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateContents {
    /// The number of the held call.
    pub hold: u64,
    /// The end of its validity, in milliseconds.
    pub expires: u64,
    /// Whether it is of this caller.
    pub is_callers: bool,
    /// Whether it is of this method with these params.
    pub is_subjects: bool,
}

/// The caller and the call that a `requestState` is compared with.
#[derive(Clone, Copy, Debug)]
pub struct StateSubject<'a> {
    /// The name of the principal.
    pub principal: &'a str,
    /// The endpoint, as it stands behind `/mcp/`.
    pub endpoint: &'a str,
    /// The method.
    pub method: &'a str,
    /// The params.
    pub params: Option<&'a Json>,
}

impl StateRehearsal {
    /// Makes a key.
    #[expect(clippy::new_without_default, reason = "no two are equal")]
    pub fn new() -> Self {
        Self(Sealer::new())
    }

    /// Seals the handle of a held call.
    pub fn seal(&self, hold: u64, expires: u64, subject: StateSubject<'_>) -> String {
        let (principal, subject) = subject.digests();
        self.0.seal(&Handle { hold, expires, principal, subject })
    }

    /// Opens a text that may be a handle; `None` if it was not sealed with this key.
    pub fn open(&self, state: &str, subject: StateSubject<'_>) -> Option<StateContents> {
        let Handle { hold, expires, principal, subject: of } = self.0.open(state)?;
        let (callers, subjects) = subject.digests();
        Some(StateContents {
            hold,
            expires,
            is_callers: principal == callers,
            is_subjects: of == subjects,
        })
    }
}

impl StateSubject<'_> {
    fn digests(&self) -> (seal::Digest, seal::Digest) {
        let caller = Caller::new(Principal::new(self.principal), self.endpoint);
        (seal::principal(&caller), seal::subject(self.method, self.params))
    }
}
