//! What can go wrong in one exchange, as text and in a form that can be decided upon.

use serde_json::Value;

use crate::http1_client::WireReply;

/// Why an exchange brought no answer.
#[derive(Clone, Debug)]
pub(super) struct Trouble {
    pub(super) kind: TroubleKind,
    /// What happened, for the caller.
    pub(super) text: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TroubleKind {
    /// A 202, which promises nothing.
    Accepted,
    /// The connection failed; `was_dead` if it was used before and no byte of an answer came.
    Broken { was_dead: bool },
    /// There is no connection.
    Dial,
    /// The stream ended without the answer.
    Ended,
    /// The body is not an answer.
    Odd,
    /// A status that is not an answer.
    Status(TroubleRefusal),
    /// The body is not an event stream, and has ended.
    WrongType,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TroubleRefusal {
    pub(super) code: u16,
    pub(super) retry_after: Option<String>,
    pub(super) location: Option<String>,
    /// The header `WWW-Authenticate`.
    pub(super) challenge: Option<Box<str>>,
    pub(super) body: String,
}

impl TroubleRefusal {
    /// Returns the code of the JSON-RPC error in its body; 0 if there is none.
    pub(super) fn error_code(&self) -> i64 {
        let body: Value = serde_json::from_str(&self.body).unwrap_or_default();
        body["error"]["code"].as_i64().unwrap_or_default()
    }

    /// Whether its body is an error that names this request and says that nothing has run.
    pub(super) fn says_unrun(&self, id: u64) -> bool {
        let body: Value = serde_json::from_str(&self.body).unwrap_or_default();
        body["id"] == id && body["error"]["data"]["mayHaveRun"] == false
    }

    /// Whether it comes from something in front of the server, which has lost it.
    fn is_outage(&self) -> bool {
        matches!(self.code, 408 | 502..=504 | 520..=530)
    }
}

impl Trouble {
    pub(super) fn new(kind: TroubleKind, text: impl Into<String>) -> Self {
        Self { kind, text: text.into() }
    }

    /// Whether the server may be away.
    pub(super) fn is_outage(&self) -> bool {
        matches!(&self.kind, TroubleKind::Status(refusal) if refusal.is_outage())
    }

    pub(super) fn broken(error: &std::io::Error) -> Self {
        let text = format!("the connection broke: {error}; the server may have run it");
        Self::new(TroubleKind::Broken { was_dead: false }, text)
    }

    pub(super) fn refused(reply: &WireReply, body: String) -> Self {
        let header = |name: &str| reply.header(name).map(str::to_owned);
        let (retry_after, location) = (header("retry-after"), header("location"));
        let challenge = header("www-authenticate").map(String::into_boxed_str);
        let text = format!("the server answered with status {}: {body}", reply.status);
        let refusal = TroubleRefusal { code: reply.status, retry_after, location, challenge, body };
        Self::new(TroubleKind::Status(refusal), text)
    }
}
