//! Which tools of a server can run twice, for all who call it with the same credentials.
//!
//! A call goes out over the link of its own session, and the list may have been read over another: what it says of
//! the tools holds for both.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ridethrough_core::ReplayRule;
use ridethrough_core::hints::AgreedHints;
use ridethrough_server::Principal;
use ridethrough_wire::message::Json;
use tokio::time::Instant;

use crate::catalogue::Audience;

/// The hints of one server's tools.
#[derive(Debug, Default)]
pub(crate) struct Hints(Mutex<BTreeMap<Login, LoginHints>>);

/// The principal whose login a call is made with; `None` for the gateway's own.
type Login = Option<Principal>;

#[derive(Debug, Default)]
struct LoginHints {
    agreed: AgreedHints<Audience>,
    /// When the list was last asked for because of its hints alone.
    looked: Option<Instant>,
}

impl Hints {
    /// Takes in a list of tools that was read for an audience.
    pub(crate) fn learn(&self, login: Login, audience: Audience, tools: &[Json]) {
        self.lock().entry(login).or_default().agreed.learn(audience, tools);
    }

    /// Forgets what an audience has read that is gone.
    pub(crate) fn forget(&self, audience: &Audience) {
        let mut all = self.lock();
        all.values_mut().for_each(|it| it.agreed.forget(audience));
        all.retain(|_, it| !it.agreed.is_empty());
    }

    /// Returns the rule for calls of a tool.
    pub(crate) fn rule(&self, login: &Login, tool: &str) -> ReplayRule {
        self.lock().get(login).map_or(ReplayRule::ByNature, |it| it.agreed.rule(tool))
    }

    /// Whether the list is to be read for its hints: nobody has read it, and it was not just tried.
    pub(crate) fn are_wanted(&self, login: &Login) -> bool {
        let mut all = self.lock();
        let of_login = all.entry(login.clone()).or_default();
        let is_just_tried = of_login.looked.is_some_and(|at| at.elapsed() < BETWEEN);
        if is_just_tried || !of_login.agreed.is_empty() {
            return false;
        }
        of_login.looked = Some(Instant::now());
        true
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Login, LoginHints>> {
        // No code panics in the middle of a change, so a poisoned lock is still valid.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How long a list that could not be read is not tried again for its hints.
const BETWEEN: Duration = Duration::from_secs(60);
