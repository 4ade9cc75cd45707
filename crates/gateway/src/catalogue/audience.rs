//! Who sees a list: those who share the link that it was read over, and no one else.

use std::sync::Arc;

use ridethrough_server::Principal;

use super::rights::Rights;

/// Who shares a link to a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Share {
    /// Everybody, for a server that keeps no state of its client.
    All,
    /// Nobody: each session has a link of its own. The default, also for a server without sessions: a link that
    /// many share can offer neither roots nor a level of log messages.
    #[default]
    Session,
    /// All sessions of one principal.
    User,
}

/// Those who share a link, and so what was read over it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Audience {
    Conversation(u64),
    Everybody,
    Principal(Principal),
}

/// Which part of the catalogue a caller asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    All,
    /// One server, whose names stand alone.
    One(Arc<str>),
}

/// A caller, as far as it matters for what it sees.
#[derive(Clone, Debug)]
pub(crate) struct View {
    pub(crate) scope: Scope,
    pub(crate) conversation: u64,
    pub(crate) principal: Principal,
    pub(crate) rights: Arc<Rights>,
}

impl Audience {
    /// Returns the principal, if this is all that one has.
    pub(crate) const fn principal(&self) -> Option<&Principal> {
        match self {
            Self::Principal(principal) => Some(principal),
            Self::Conversation(_) | Self::Everybody => None,
        }
    }
}

impl View {
    /// Whether the caller may know that there is this server.
    pub(crate) fn sees(&self, server: &str) -> bool {
        let is_meant = match &self.scope {
            Scope::All => true,
            Scope::One(one) => &**one == server,
        };
        is_meant && self.rights.sees(server)
    }

    /// Returns the audiences that the caller belongs to, the narrowest first. A conversation that has no link
    /// of its own yet sees what others of its principal have seen.
    pub(crate) fn audiences(&self, share: Share) -> impl Iterator<Item = Audience> {
        let own =
            matches!(share, Share::Session).then_some(Audience::Conversation(self.conversation));
        let wide = match share {
            Share::All => Audience::Everybody,
            Share::Session | Share::User => Audience::Principal(self.principal.clone()),
        };
        own.into_iter().chain([wide])
    }
}
