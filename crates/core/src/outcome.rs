//! How a call ends: with its answer, or with an error that says what is known.
//!
//! A JSON-RPC error from the server is an answer. A [`CallError`] means that there is none, and
//! says what happened, what was tried, and whether the server may have run the request.

mod doubt;
mod facts;
mod kind;
mod no_credentials;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use ridethrough_wire::message::Answer;

use crate::answer::status;
use crate::audience::Audience;
use crate::failure::{Advice, Cause, Delivery, Failure};

pub(crate) use doubt::told_in;
pub use doubt::{Doubt, DoubtForm, is_told_in, told_as_error};
pub use facts::Facts;
pub use kind::{Kind, Reason};
pub use no_credentials::NoCredentials;

/// The single end of an exchange.
pub type Outcome = Result<Answer, CallError>;

/// The error of a call that ended without an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallError {
    /// How the call ended.
    pub kind: Kind,
    /// What is known about the server having acted.
    pub delivery: Delivery,
    /// The method and tool.
    pub call: CallName,
    /// How many HTTP requests were made for this call: sends and resumes.
    pub attempts: u32,
    /// How many HTTP requests were made meanwhile for a session, for this call and others that waited.
    pub handshakes: u32,
    /// The time from the request to the end.
    pub elapsed: Duration,
    /// How long the server, or the breaker, asks to be left alone.
    pub retry_after: Option<Duration>,
    /// What happened last.
    pub reason: Reason,
    /// The HTTP status of the server's last refusal, if the call ended after one.
    pub status: Option<StatusCode>,
    /// The server's words in that refusal: one line of at most 500 characters, without control
    /// characters. Secrets that the client sent are masked.
    pub said: Option<Arc<str>>,
    /// Whether a second run would do no harm, as far as is known: by the method, by the caller's options, or
    /// by the tool's annotations.
    pub is_repeatable: bool,
}

impl CallError {
    /// Creates an error with these facts and no others.
    pub const fn new(kind: Kind, delivery: Delivery, call: CallName, reason: Reason) -> Self {
        Self {
            kind,
            delivery,
            call,
            attempts: 0,
            handshakes: 0,
            elapsed: Duration::ZERO,
            retry_after: None,
            reason,
            status: None,
            said: None,
            is_repeatable: false,
        }
    }

    /// Whether the server may have run the request.
    pub fn may_have_run(&self) -> bool {
        self.delivery == Delivery::Unknown
    }

    /// Returns the status by which the call ended, or the last one before its end.
    pub(crate) fn last_status(&self) -> Option<u16> {
        let by_reason = match &self.reason {
            Reason::Status(status) => Some(status.as_u16()),
            _ => None,
        };
        let last = || self.status.map(|status| status.as_u16());
        self.kind.status().or(by_reason).or_else(last)
    }

    /// Returns the error as text in three parts: what happened, what was tried, what to do.
    pub fn report(&self) -> String {
        self.explain().to_string()
    }

    /// Returns what happened, what was tried, and what to do.
    pub fn explain(&self) -> Explanation {
        self.explain_to(Audience::Program)
    }

    /// Returns what happened, what was tried, and what to do, in words for this audience.
    pub fn explain_to(&self, audience: Audience) -> Explanation {
        Explanation {
            what: Told { error: self, audience }.to_string(),
            tried: Some(self.tried()),
            hint: Some(self.advice(audience)),
        }
    }

    fn tried(&self) -> String {
        let attempts = match (self.attempts, self.handshakes) {
            (0, 0) => "nothing was sent".to_owned(),
            (0, 1) => "1 request of the handshake".to_owned(),
            (0, n) => format!("{n} requests of the handshake"),
            (1, _) => "1 attempt".to_owned(),
            (n, _) => format!("{n} attempts"),
        };
        let is_held_back = self.may_have_run() && !self.is_repeatable;
        let held_back = if is_held_back && self.kind == Kind::Interrupted {
            format!(
                "; not sent again, because `{}` is not marked safe to repeat",
                self.call.subject()
            )
        } else {
            String::new()
        };
        let ran = match (self.may_have_run(), self.attempts) {
            // For a list it does not matter whether the server ran it.
            (true, _) if self.call.tool.is_none() && self.is_repeatable => String::new(),
            (true, _) => "; the server may have run it".to_owned(),
            (false, 0) if self.is_of_handshake() && &*self.call.method != "initialize" => {
                format!("; {} itself was not sent", self.call)
            }
            (false, 0) => String::new(),
            (false, _) => "; the server did not run it".to_owned(),
        };
        format!("{attempts} in {:.1} s{ran}{held_back}", self.elapsed.as_secs_f64())
    }

    fn advice(&self, audience: Audience) -> String {
        let raise = raise_the_limit(audience);
        let subject = self.call.subject();
        let wait = self.retry_after.map(spoken);
        match wait {
            _ if self.may_have_run() && !self.is_repeatable => {
                let wait = wait.map(|wait| format!(", and not sooner than in {wait}"));
                let wait = wait.unwrap_or_default();
                let limit = if self.kind == Kind::TooLarge { raise } else { "" };
                return format!(
                    "check whether `{subject}` took effect before you repeat it{wait}{limit}"
                );
            }
            Some(wait) => return format!("try again in {wait}"),
            None => {}
        }
        match self.kind {
            Kind::Closed if audience == Audience::CommandLine => "run the command again".to_owned(),
            Kind::Closed => "make a new client: this one was closed".to_owned(),
            Kind::Config => "change what the call asks for".to_owned(),
            Kind::Unauthorized => "check the credentials for this server".to_owned(),
            Kind::Rejected { status } if status::holds(status, |it| it.is_redirection()) => {
                "connect to the address that the server names, if you trust it".to_owned()
            }
            Kind::Rejected { status } if status::holds(status, status::is_forbidden) => {
                "check the credentials for this server, and what they may do".to_owned()
            }
            Kind::Rejected { status } if status::holds(status, status::is_limit) => {
                "try again later: the server limits how often it is asked".to_owned()
            }
            Kind::Rejected { .. } | Kind::PeerMisbehaved if self.is_of_handshake() => {
                "check that the URL is an MCP endpoint".to_owned()
            }
            Kind::Unreachable => self.way_to_reach(audience).into_owned(),
            Kind::Incompatible => "check that the URL is an MCP endpoint".to_owned(),
            Kind::TooLarge => format!("`{subject}` may be called again{raise}"),
            _ if self.may_have_run() => format!("`{subject}` may be called again"),
            _ => format!("`{subject}` did not run; it can be called again"),
        }
    }

    fn way_to_reach(&self, audience: Audience) -> Cow<'static, str> {
        let words = match &self.reason {
            Reason::Transport(Failure { advice: Some(advice), .. }) => {
                return advice.words(audience);
            }
            Reason::Transport(failure) => match (failure.cause, audience) {
                (Cause::BadCertificate | Cause::TlsRefused, Audience::CommandLine) => {
                    "check the certificates of both sides, and which are trusted here: `--cacert FILE` adds more"
                }
                (Cause::BadCertificate | Cause::TlsRefused, Audience::Program) => {
                    "check the certificates of both sides, and which roots this client trusts"
                }
                (Cause::Misconfigured, _) => "change the address, the proxy or the program",
                (Cause::NameUnknown, _) => {
                    "check how the name is spelt, and that this network knows it"
                }
                (_, Audience::CommandLine) if failure.proxy.is_some() => {
                    return Advice::CheckProxy.words(audience);
                }
                _ => "check the address and that the server is running",
            },
            Reason::Status(status) if status::is_forbidden(*status) => {
                "check the credentials for this server, and what they may do"
            }
            Reason::Status(_) => "look at the log of the server and of what stands before it",
            _ => "check the address and that the server is running",
        };
        Cow::Borrowed(words)
    }

    /// Names the call that ended in the handshake, unless it is the handshake.
    fn unbegun(&self) -> String {
        match &*self.call.method {
            "initialize" => String::new(),
            _ => format!("{} could not begin: ", self.call),
        }
    }

    /// Whether the call ended in the handshake and was never sent.
    pub fn is_of_handshake(&self) -> bool {
        self.attempts == 0 && self.handshakes > 0
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Told { error: self, audience: Audience::Program }.fmt(f)
    }
}

/// An error in words for one audience.
struct Told<'a> {
    error: &'a CallError,
    audience: Audience,
}

impl fmt::Display for Told<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { error, audience } = *self;
        match (error.kind, &error.reason) {
            (Kind::Rejected { status }, _) if error.is_of_handshake() => {
                write!(f, "{}the handshake was rejected with status {status}", error.unbegun())
            }
            (Kind::Unreachable, Reason::Status(status)) => {
                let (unbegun, status) = (error.unbegun(), status.as_u16());
                write!(f, "{unbegun}the handshake was answered with status {status}")
            }
            (Kind::DeadlinePassed, Reason::Status(status)) if error.is_of_handshake() => {
                let (call, kind, status) = (&error.call, error.kind, status.as_u16());
                write!(f, "{call} {kind}: the handshake was answered with status {status}")
            }
            (Kind::PeerMisbehaved, _) if error.is_of_handshake() => {
                write!(f, "{}the handshake {}", error.unbegun(), error.kind)
            }
            (kind, _) => write!(f, "{} {}", error.call, kind.words(audience)),
        }?;
        match (&error.reason, error.kind) {
            (Reason::Nothing, _) => Ok(()),
            // The kind already says it.
            (Reason::Status(said), Kind::Rejected { status }) if *said == status => Ok(()),
            (Reason::Status(_), Kind::Unreachable) => Ok(()),
            (Reason::Status(_), Kind::DeadlinePassed) if error.is_of_handshake() => Ok(()),
            (Reason::Transport(Failure { cause: Cause::TooLarge, detail, .. }), Kind::TooLarge) => {
                detail.as_ref().map_or(Ok(()), |detail| write!(f, ": {detail}"))
            }
            (reason, _) => write!(f, ": {}", reason.words(audience)),
        }?;
        match &error.said {
            Some(words) => write!(f, "; the server said `{words}`"),
            None => Ok(()),
        }
    }
}

// There is no `source`: this error's own words include those of the layers below, which would appear twice.
impl std::error::Error for CallError {}

/// An error in the three parts that a person needs. It prints as one text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Explanation {
    /// What happened.
    pub what: String,
    /// What was tried, and whether the server may have run it.
    pub tried: Option<String>,
    /// What to do.
    pub hint: Option<String>,
}

impl Explanation {
    /// Creates an explanation with only this part.
    pub const fn new(what: String) -> Self {
        Self { what, tried: None, hint: None }
    }

    /// Adds what to do.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        if let Some(tried) = &self.tried {
            write!(f, "\n  tried: {tried}")?;
        }
        match &self.hint {
            Some(hint) => write!(f, "\nhint: {hint}"),
            None => Ok(()),
        }
    }
}

/// The method of a call, and its tool if one was called, for messages to people.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CallName {
    /// The JSON-RPC method.
    pub method: Arc<str>,
    /// The tool of a `tools/call`.
    pub tool: Option<Arc<str>>,
}

impl CallName {
    fn subject(&self) -> &str {
        self.tool.as_deref().unwrap_or(&self.method)
    }
}

impl fmt::Display for CallName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.tool {
            Some(tool) => write!(f, "{} `{tool}`", self.method),
            None => write!(f, "`{}`", self.method),
        }
    }
}

/// Returns a time in units that people use: minutes and hours for long ones.
fn spoken(time: Duration) -> String {
    let minutes = time.as_secs().div_ceil(60);
    match (minutes / 60, minutes % 60) {
        _ if time <= Duration::from_secs(120) => format!("{:.1} s", time.as_secs_f64()),
        (0, minutes) => format!("{minutes} min"),
        (hours, 0) => format!("{hours} h"),
        (hours, minutes) => format!("{hours} h {minutes} min"),
    }
}

const fn raise_the_limit(audience: Audience) -> &'static str {
    match audience {
        Audience::CommandLine => "; raise the limit with `--max-message`",
        Audience::Program => {
            "; raise the limit with `--max-message` or `ClientBuilder::message_limit`"
        }
    }
}

#[cfg(test)]
mod tests;
