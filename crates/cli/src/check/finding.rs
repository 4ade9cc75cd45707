//! One finding about a server: what was seen, and what to do about it.

use serde::Serialize;

/// One finding about a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Finding {
    pub(super) subject: Subject,
    /// The name of the finding for scripts.
    pub(super) name: &'static str,
    pub(super) verdict: FindingVerdict,
    /// What was seen, and what that means for our client.
    pub(super) what: String,
    /// The advice, if there is any.
    pub(super) advice: Option<String>,
}

/// The subject of a finding, in the order in which people read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Subject {
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
pub(super) enum FindingVerdict {
    Good,
    Note,
    /// It could not be examined.
    Unknown,
    Warning,
    Bad,
}

impl Subject {
    pub(super) const ALL: [Self; 8] = [
        Self::Reach,
        Self::Protocol,
        Self::Authorization,
        Self::Session,
        Self::Streams,
        Self::Speed,
        Self::Safety,
        Self::Tools,
    ];

    pub(super) const fn title(self) -> &'static str {
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

    pub(super) fn good(self, name: &'static str, what: impl Into<String>) -> Finding {
        self.found(name, FindingVerdict::Good, what)
    }

    pub(super) fn note(self, name: &'static str, what: impl Into<String>) -> Finding {
        self.found(name, FindingVerdict::Note, what)
    }

    pub(super) fn warning(self, name: &'static str, what: impl Into<String>) -> Finding {
        self.found(name, FindingVerdict::Warning, what)
    }

    pub(super) fn bad(self, name: &'static str, what: impl Into<String>) -> Finding {
        self.found(name, FindingVerdict::Bad, what)
    }

    /// Returns a finding about something that could not be examined, for this reason.
    pub(super) fn unknown(
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
    pub(super) fn advise(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }
}
