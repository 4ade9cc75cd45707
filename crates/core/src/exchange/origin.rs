//! The origin of an exchange: the application, or the link itself.

/// What an exchange is made for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A call, whose outcome goes to the application.
    #[default]
    Application,
    /// The link itself. Such a request takes no place in flight, waits at no gate and does not count as a
    /// call, and its outcome goes to the part that asked.
    Link(Purpose),
}

/// What the link asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Whether the credentials are refused, because an answer without a challenge says so.
    Credentials,
    /// The server's era, because an answer may mean that it changed.
    Era,
    /// Whether a server that asked for a long time serves again.
    Gate,
    /// Whether the connection that made the session still answers in it.
    Home,
    /// Whether the server is alive, because a call is silent or the breaker is open.
    Liveness,
    /// Whether a server in trouble answers.
    Probation,
    /// The restoring of a new session, which is told what the old one was told.
    Restore,
    /// Whether a session is lost, because an answer says so.
    Session,
    /// The tools, because the headers of a call were refused.
    Tools,
}

impl Origin {
    pub(crate) fn is_application(self) -> bool {
        self == Self::Application
    }

    /// Returns the purpose, if the exchange is a question: it is asked once, and any result ends it.
    pub(crate) fn question(self) -> Option<Purpose> {
        match self {
            Self::Link(Purpose::Restore | Purpose::Tools) | Self::Application => None,
            Self::Link(purpose) => Some(purpose),
        }
    }
}
