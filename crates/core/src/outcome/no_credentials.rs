//! Why there are no better credentials, for who asked for them.

use std::fmt;
use std::sync::Arc;

use crate::audience::Audience;

/// The reply of a credentials hook that has no better credentials.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NoCredentials {
    /// Behind a pointer, because it stands in the error of a call, which is passed by value.
    why: Option<Arc<Why>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Why {
    LogIn(Arc<str>),
    NoToken,
    OnlyToken,
    Other(Arc<str>),
}

impl NoCredentials {
    /// Returns a refusal without a reason.
    pub const fn new() -> Self {
        Self { why: None }
    }

    /// Returns a refusal with a reason. People read it, so it must hold no secret.
    pub fn because(reason: impl Into<Arc<str>>) -> Self {
        Why::Other(reason.into()).into()
    }

    /// Returns a refusal until a person logs in: the words say where and why.
    pub fn log_in(words: impl Into<Arc<str>>) -> Self {
        Why::LogIn(words.into()).into()
    }

    /// Returns the refusal of a client that has no credentials at all.
    pub fn without_token() -> Self {
        Why::NoToken.into()
    }

    /// Returns the refusal of a hook that has one token, which was refused.
    pub fn only_token() -> Self {
        Why::OnlyToken.into()
    }

    /// Returns the reason, if there is one.
    pub fn reason(&self) -> Option<&str> {
        Some(match self.why.as_deref()? {
            Why::LogIn(words) | Why::Other(words) => words,
            Why::NoToken => "this client has none",
            Why::OnlyToken => "there is one token only, and it was refused",
        })
    }

    /// Returns the refusal in words for this audience.
    pub fn words(&self, audience: Audience) -> String {
        match (audience, self.why.as_deref()) {
            (Audience::CommandLine, Some(Why::LogIn(words))) => words.to_string(),
            (Audience::CommandLine, Some(Why::NoToken)) => "no token was sent".to_owned(),
            (Audience::CommandLine, Some(Why::OnlyToken)) => "the token was refused".to_owned(),
            (Audience::CommandLine, Some(Why::Other(reason))) => {
                format!("the token was refused: {reason}")
            }
            _ => self.to_string(),
        }
    }
}

impl From<Why> for NoCredentials {
    fn from(why: Why) -> Self {
        Self { why: Some(Arc::new(why)) }
    }
}

impl fmt::Display for NoCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no better credentials could be had")?;
        match self.reason() {
            Some(reason) => write!(f, ": {reason}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for NoCredentials {}
