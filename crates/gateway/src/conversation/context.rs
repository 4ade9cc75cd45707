//! What the requests of one conversation share.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ridethrough::server::Identity;
use ridethrough_server::{Caller, Presence};
use ridethrough_wire::message::{Json, ListKind, LogLevel};
use tokio::sync::watch;
use tokio::time::Instant;

use super::asked_logins::AskedLogins;
use super::own_words::OwnWords;
use crate::catalogue::{Scope, View};
use crate::repeats::CallOrigin;
use crate::state::GatewayState;
use crate::upstreams::{Asker, MessageSender};

/// One conversation, as its requests see it.
pub(crate) struct Context {
    pub(crate) state: Arc<GatewayState>,
    pub(crate) number: u64,
    pub(crate) scope: Scope,
    pub(crate) caller: Caller,
    /// When the conversation began.
    began: Instant,
    mailbox: MessageSender,
    /// Says whether the caller is there.
    presence: Presence,
    /// What the gateway itself says to the caller.
    pub(crate) words: OwnWords,
    said: Mutex<CallerWords>,
    /// The logins that the caller is being asked for.
    pub(crate) logins: AskedLogins,
}

/// What the caller has said and seen.
#[derive(Default)]
struct CallerWords {
    identity: Option<Identity>,
    level: Option<LogLevel>,
    /// The fingerprint of each list that it was shown.
    seen: BTreeMap<ListKind, u64>,
    /// The servers whose page its person did not want to see.
    declined: BTreeSet<Arc<str>>,
}

impl Context {
    /// Creates the context of a new conversation. Returns also what tells of lists that may have changed.
    pub(crate) fn new(
        state: Arc<GatewayState>,
        caller: Caller,
        mailbox: MessageSender,
        presence: Presence,
        words: OwnWords,
    ) -> (Arc<Self>, watch::Receiver<()>) {
        let (number, changes) = state.enter(&caller.principal);
        let scope = match &*caller.endpoint {
            "" => Scope::All,
            _ => Scope::One(caller.endpoint.clone()),
        };
        let (said, logins) = (Mutex::default(), AskedLogins::default());
        let began = Instant::now();
        let context =
            Self { state, number, scope, caller, began, mailbox, presence, words, said, logins };
        (Arc::new(context), changes)
    }

    /// Returns what the caller sees and may now.
    pub(crate) fn view(&self) -> View {
        View {
            scope: self.scope.clone(),
            conversation: self.number,
            principal: self.caller.principal.clone(),
            rights: self.state.rights(&self.caller),
        }
    }

    /// Returns what a link must know of this conversation.
    pub(crate) fn asker(&self) -> Asker {
        let said = self.said();
        Asker {
            conversation: self.number,
            principal: self.caller.principal.clone(),
            identity: said.identity.clone(),
            level: said.level,
            mailbox: self.mailbox.clone(),
            presence: self.presence.clone(),
        }
    }

    /// Takes down what the caller says of itself in its greeting.
    pub(crate) fn introduce(&self, identity: Option<Identity>) {
        self.said().identity = identity;
    }

    pub(crate) fn capabilities(&self) -> Json {
        let said = self.said();
        let can = said.identity.as_ref().map(|it| it.capabilities.clone());
        can.unwrap_or_else(Json::empty_object)
    }

    /// Returns what the client calls itself, if it is one and has said so in its greeting.
    pub(crate) fn client_info(&self) -> Option<Json> {
        let said = self.said();
        said.identity.as_ref().filter(|_| !self.caller.is_stateless).map(|it| it.info.clone())
    }

    /// Returns who makes a call at a server. `client` is what the sender of a stateless request says of itself.
    pub(crate) fn origin<'a>(&'a self, server: &'a str, client: Option<&Json>) -> CallOrigin<'a> {
        let is_stateless = self.caller.is_stateless;
        let client = client.cloned().or_else(|| self.client_info());
        CallOrigin {
            principal: &self.caller.principal,
            client: client.and_then(|it| it.member("name")?.read()).unwrap_or_default(),
            session: (!is_stateless).then_some((self.number, self.began)),
            server,
        }
    }

    /// Records that the caller's person does not want to log in to a server. They are not asked again.
    pub(crate) fn decline(&self, server: &Arc<str>) {
        self.said().declined.insert(server.clone());
    }

    pub(crate) fn has_declined(&self, server: &str) -> bool {
        self.said().declined.contains(server)
    }

    pub(crate) fn set_level(&self, level: LogLevel) {
        self.said().level = Some(level);
    }

    pub(crate) fn level(&self) -> Option<LogLevel> {
        self.said().level
    }

    /// Records the fingerprint of a list that the caller is shown.
    pub(crate) fn show(&self, kind: ListKind, fingerprint: u64) {
        self.said().seen.insert(kind, fingerprint);
    }

    /// Returns the lists that the caller was shown and that are other ones now. Each change is returned once.
    pub(crate) fn outdated(&self) -> Vec<ListKind> {
        let view = self.view();
        let catalogue = self.state.catalogue();
        let mut said = self.said();
        let mut outdated = Vec::new();
        for (kind, seen) in &mut said.seen {
            let now = catalogue.fingerprint(*kind, &view);
            if now != *seen {
                *seen = now;
                outdated.push(*kind);
            }
        }
        outdated
    }

    fn said(&self) -> MutexGuard<'_, CallerWords> {
        // No code panics in the middle of a change, so a poisoned lock is still valid.
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
