//! What the requests of one conversation share.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ridethrough::server::Identity;
use ridethrough_core::message::{Json, ListKind};
use ridethrough_server::Principal;
use tokio::sync::mpsc;

use crate::catalogue::Scope;
use crate::state::GatewayState;
use crate::upstreams::{Asker, FromServer};

/// One conversation, as its requests see it.
pub(crate) struct Context {
    pub(crate) state: Arc<GatewayState>,
    pub(crate) number: u64,
    pub(crate) scope: Scope,
    principal: Principal,
    mailbox: mpsc::Sender<FromServer>,
    said: Mutex<CallerWords>,
}

/// What the caller has said and seen.
#[derive(Default)]
struct CallerWords {
    identity: Option<Identity>,
    level: Option<Json>,
    /// The version of each list that it was shown.
    seen: BTreeMap<ListKind, u64>,
}

impl Context {
    pub(crate) fn new(
        state: Arc<GatewayState>,
        principal: Principal,
        scope: Scope,
        mailbox: mpsc::Sender<FromServer>,
    ) -> Arc<Self> {
        let number = state.next_number();
        Arc::new(Self { state, number, scope, principal, mailbox, said: Mutex::default() })
    }

    /// Returns what a link must know of this conversation.
    pub(crate) fn asker(&self) -> Asker {
        let said = self.said();
        Asker {
            conversation: self.number,
            principal: self.principal.clone(),
            identity: said.identity.clone(),
            level: said.level.clone(),
            mailbox: self.mailbox.clone(),
        }
    }

    pub(crate) fn introduce(&self, identity: Option<Identity>) {
        self.said().identity = identity;
    }

    pub(crate) fn capabilities(&self) -> Json {
        let said = self.said();
        let can = said.identity.as_ref().map(|it| it.capabilities.clone());
        can.unwrap_or_else(Json::empty_object)
    }

    pub(crate) fn set_level(&self, level: Json) {
        self.said().level = Some(level);
    }

    pub(crate) fn level(&self) -> Option<Json> {
        self.said().level.clone()
    }

    /// Records the version of a list that the caller is shown.
    pub(crate) fn show(&self, kind: ListKind, version: u64) {
        self.said().seen.insert(kind, version);
    }

    /// Returns the lists that the caller was shown and that are other ones now. Each is returned once for
    /// each version.
    pub(crate) fn outdated(&self, versions: &BTreeMap<ListKind, u64>) -> Vec<ListKind> {
        let mut said = self.said();
        let mut outdated = Vec::new();
        for (kind, seen) in &mut said.seen {
            let now = versions.get(kind).copied().unwrap_or(0);
            if now > *seen {
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
