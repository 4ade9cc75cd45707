//! The facts of a call that got no answer, as the `data` of a JSON-RPC error, for programs between a client
//! and a server.

use std::borrow::Cow;
use std::time::Duration;

use ridethrough_wire::message::{Answer, Json};
use serde::Serialize;

use super::{CallError, Reason};
use crate::answer::words::excerpt;

/// What is known of a call that got no answer. It is written as the `data` of an error.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Facts<'a> {
    /// How the call ended, in one word.
    pub kind: &'static str,
    /// The status of a refusal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Whether the server may have run it.
    pub may_have_run: bool,
    /// How many requests were made for it.
    pub attempts: u32,
    /// How many requests were made for its session.
    pub handshakes: u32,
    /// How long it took.
    pub elapsed_ms: u64,
    /// When it makes sense to try again.
    pub retry_after_ms: Option<u64>,
    /// The server's own words in its refusal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub said: Option<Cow<'a, str>>,
    /// The command that logs in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<&'a str>,
    /// The page at which a person logs in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<&'a str>,
    /// The server that was called, where there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<&'a str>,
    /// Whether a second run would do no harm.
    #[serde(skip)]
    pub is_repeatable: bool,
}

impl<'a> Facts<'a> {
    /// Returns the facts of a call that was not sent.
    pub const fn unsent(kind: &'static str) -> Self {
        Self {
            kind,
            status: None,
            may_have_run: false,
            attempts: 0,
            handshakes: 0,
            elapsed_ms: 0,
            retry_after_ms: None,
            said: None,
            command: None,
            url: None,
            server: None,
            is_repeatable: false,
        }
    }

    /// Returns the facts of a call that ended with this error.
    pub fn of(error: &'a CallError) -> Self {
        let mut facts = Self {
            status: error.kind.status(),
            may_have_run: error.may_have_run(),
            attempts: error.attempts,
            handshakes: error.handshakes,
            elapsed_ms: millis(error.elapsed),
            retry_after_ms: error.retry_after.map(millis_up),
            said: error.said.as_deref().map(Cow::Borrowed),
            is_repeatable: error.is_repeatable,
            ..Self::unsent(error.kind.name())
        };
        if facts.may_have_run {
            facts.add_reason(error);
        }
        facts
    }

    /// Adds the status and the words by which the call ended: only a call in doubt is told both as facts.
    fn add_reason(&mut self, error: &'a CallError) {
        self.status = error.last_status();
        if let (Reason::Said(words), None) = (&error.reason, &self.said) {
            self.said = Some(excerpt(words).into());
        }
    }

    /// Returns the facts with the name of the server.
    #[must_use]
    pub const fn at(mut self, server: &'a str) -> Self {
        self.server = Some(server);
        self
    }

    /// Returns the error for the caller, with this code and message.
    pub fn answer(&self, code: i64, message: &str) -> Answer {
        let fault = Fault { code, message, data: self };
        Answer::Error(Json::of(&fault).expect("made of texts and numbers"))
    }
}

impl CallError {
    /// Returns the whole story for somebody who must be able to tell our words from the server's: those are an
    /// excerpt, so that they can neither hide nor forge the rest.
    pub fn story(&self) -> String {
        let Reason::Said(words) = &self.reason else { return self.report() };
        let mut error = self.clone();
        error.reason = Reason::Said(excerpt(words).into());
        error.report()
    }
}

#[derive(Serialize)]
struct Fault<'a> {
    code: i64,
    message: &'a str,
    data: &'a Facts<'a>,
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Rounds up, so that a caller never comes back too early.
fn millis_up(time: Duration) -> u64 {
    u64::try_from(time.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
}
