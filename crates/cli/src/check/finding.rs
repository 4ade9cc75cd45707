//! What was found out about a server, one sentence each, and what to do about it.

use serde::Serialize;

/// Something that was found out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Finding {
    pub(super) subject: Subject,
    /// What scripts know it by.
    pub(super) name: &'static str,
    pub(super) verdict: FindingVerdict,
    /// What was seen, and what that means for a client of ours.
    pub(super) what: String,
    /// What to do, if there is something.
    pub(super) advice: Option<String>,
}

/// What a finding is about, in the order in which people read it.
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

/// How a finding is to be taken, the gravest last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum FindingVerdict {
    Good,
    Note,
    /// It could not be looked at.
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

    /// It could not be looked at, for this reason.
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
    /// The same, with what to do about it.
    pub(super) fn advise(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }
}
