//! Logins of other processes, which this one does without a person.

use std::time::Duration;

use ridethrough_oauth_core::scope::ScopeSet;
use ridethrough_oauth_core::store::GrantRecord;
use tokio::sync::MutexGuard;
use tokio::time::sleep;

use super::{LastLogin, TokenSource};

/// What a login must bring.
pub(super) struct WantedLogin {
    /// All scopes to ask for, after a demand for more.
    pub(super) scopes: Option<ScopeSet>,
    /// The issuer, if the server has moved to another one.
    pub(super) issuer: Option<String>,
}

impl WantedLogin {
    fn is_brought_by(&self, record: &GrantRecord) -> bool {
        let has_scopes = |scopes| record.requested.contains_all(scopes);
        let is_of = |issuer: &String| issuer == record.endpoints.issuer();
        self.scopes.as_ref().is_none_or(has_scopes) && self.issuer.as_ref().is_none_or(is_of)
    }
}

/// Whether the person is to be asked.
pub(super) enum Turn<'a> {
    /// Another process has logged in.
    NotNeeded(Box<GrantRecord>),
    /// It is our turn. No other login of this process begins meanwhile.
    Ours(MutexGuard<'a, Option<LastLogin>>),
}

impl TokenSource {
    /// Waits for the turn to ask the person. A login that is under way here may be for more scope, and its
    /// person may take minutes: until then the login of another process is as good.
    pub(super) async fn turn_to_ask(&self, wanted: &WantedLogin) -> Turn<'_> {
        let last = tokio::select! {
            biased;
            last = self.login.lock() => last,
            record = self.wait_for_other_login(wanted) => return Turn::NotNeeded(Box::new(record)),
        };
        match self.other_login(wanted).await {
            Some(record) => Turn::NotNeeded(Box::new(record)),
            None => Turn::Ours(last),
        }
    }

    /// Waits until another process has logged in.
    pub(super) async fn wait_for_other_login(&self, wanted: &WantedLogin) -> GrantRecord {
        loop {
            if let Some(record) = self.other_login(wanted).await {
                return record;
            }
            sleep(LOOK_AGAIN).await;
        }
    }

    /// Adopts what another process has stored, if that is a login as it is wanted.
    pub(super) async fn other_login(&self, wanted: &WantedLogin) -> Option<GrantRecord> {
        // A store that cannot be read is asked again; the person may be faster.
        let record = self.context.load().await.ok()??;
        let now = self.context.now();
        let is_live = record.tokens.as_ref().is_some_and(|tokens| tokens.is_live(now));
        let mut memory = self.memory();
        let access = |record: &GrantRecord| record.tokens.as_ref().map(|it| it.access.clone());
        let held = memory.grant().tokens().map(|tokens| tokens.access.clone());
        if held == access(&record) || !is_live || !wanted.is_brought_by(&record) {
            return None;
        }
        memory.logged_in(record.clone());
        drop(memory);
        self.tell_ended();
        Some(record)
    }
}

/// A person who has logged in elsewhere should not have to wait here.
const LOOK_AGAIN: Duration = Duration::from_secs(2);
