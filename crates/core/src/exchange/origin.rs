//! Who asks: the application, or the link itself.

/// For whom an exchange is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A call; its end is told to the application.
    #[default]
    Application,
    /// The link itself. Such a request stands in no line, waits at no gate, counts as no call, and its end is
    /// told to the part that asked.
    Link(Purpose),
}

/// What the link asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Which era the server belongs to, because an answer may mean that it changed.
    Era,
    /// Whether a server that asked to be left alone for long serves again.
    Gate,
    /// Whether the connection that made the session still answers in it.
    Home,
    /// Whether the server lives, because a call is silent or the breaker is open.
    Liveness,
    /// A new session is told what the old one knew.
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

    /// Whether it asks only to learn something: it is asked once, and whatever comes of it is its end.
    pub(crate) fn question(self) -> Option<Purpose> {
        match self {
            Self::Link(Purpose::Restore | Purpose::Tools) | Self::Application => None,
            Self::Link(purpose) => Some(purpose),
        }
    }
}
