//! One finding about a server: what was seen, and what to do about it.

use serde::Serialize;

/// One finding about a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Finding {
    pub(crate) subject: Subject,
    /// The name of the finding for scripts.
    pub(crate) name: &'static str,
    pub(crate) verdict: FindingVerdict,
    /// What was seen, and what that means for our client.
    pub(crate) what: String,
    /// The advice, if there is any.
    pub(crate) advice: Option<String>,
}

/// The subject of a finding, in the order in which people read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Subject {
    Reach,
    Protocol,
    Authorization,
    Session,
    Streams,
    Speed,
    Safety,
    Tools,
}

/// The verdict of a finding, the gravest last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum FindingVerdict {
    Good,
    Note,
    /// It could not be examined.
    Unknown,
    Warning,
    Bad,
}

impl Subject {
    pub(crate) const ALL: [Self; 8] = [
        Self::Reach,
        Self::Protocol,
        Self::Authorization,
        Self::Session,
        Self::Streams,
        Self::Speed,
        Self::Safety,
        Self::Tools,
    ];

    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::Reach => "Reach",
            Self::Protocol => "Protocol",
            Self::Authorization => "Authorization",
            Self::Session => "Session",
            Self::Streams => "Streams",
            Self::Speed => "Speed",
            Self::Safety => "Safety",
            Self::Tools => "Tools",
        }
    }

    pub(crate) fn good(self, name: &'static str, what: impl Into<String>) -> Finding {
        self.found(name, FindingVerdict::Good, what)
    }

    pub(crate) fn note(self, name: &'static str, what: impl Into<String>) -> Finding {
        self.found(name, FindingVerdict::Note, what)
    }

    pub(crate) fn warning(self, name: &'static str, what: impl Into<String>) -> Finding {
        self.found(name, FindingVerdict::Warning, what)
    }

    pub(crate) fn bad(self, name: &'static str, what: impl Into<String>) -> Finding {
        self.found(name, FindingVerdict::Bad, what)
    }

    /// Returns a finding about something that could not be examined, for this reason.
    pub(crate) fn unknown(
        self,
        name: &'static str,
        what: &str,
        because: impl std::fmt::Display,
    ) -> Finding {
        self.found(name, FindingVerdict::Unknown, format!("{what}: unknown, because {because}"))
    }

    fn found(
        self,
        name: &'static str,
        verdict: FindingVerdict,
        what: impl Into<String>,
    ) -> Finding {
        Finding { subject: self, name, verdict, what: what.into(), advice: None }
    }
}

impl Finding {
    /// Returns this finding with advice.
    pub(crate) fn advise(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }
}
