//! The ways in which servers say that a session is gone.

use ridethrough_core::rng::Rng;

/// One server's words for a lost session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dialect {
    pub(super) status: u16,
    words: Words,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Words {
    None,
    Plain(&'static str),
    Rpc(&'static str),
}

impl Dialect {
    pub(super) fn draw(rng: &mut Rng) -> Self {
        let index = usize::try_from(rng.below(DIALECTS.len() as u64)).unwrap_or_default();
        DIALECTS[index]
    }

    /// Whether its status alone says that nothing was run (E3).
    pub(super) const fn is_refusal_by_itself(self) -> bool {
        self.status == 401
    }

    /// Returns the body of its answer to the request with this id.
    pub(super) fn body(self, id: &str) -> String {
        match self.words {
            Words::None => String::new(),
            Words::Plain(text) => text.to_owned(),
            Words::Rpc(message) => format!(
                r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32001,"message":"{message}"}}}}"#
            ),
        }
    }
}

const DIALECTS: [Dialect; 7] = [
    Dialect { status: 404, words: Words::Rpc("Session not found") },
    Dialect { status: 404, words: Words::None },
    Dialect { status: 410, words: Words::None },
    Dialect { status: 400, words: Words::Rpc("Bad Request: No valid session ID provided") },
    Dialect { status: 400, words: Words::Plain(r#"{"error":"Session not found"}"#) },
    Dialect { status: 401, words: Words::Rpc("Session expired") },
    Dialect { status: 503, words: Words::Plain("Unknown session") },
];
