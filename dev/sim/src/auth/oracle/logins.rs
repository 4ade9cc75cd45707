//! What is true of logins: whether one is needed, and who was asked for it.

use std::time::Duration;

use ridethrough_oauth_core::grant::LoginReason;
use ridethrough_oauth_core::scope::ScopeSet;
use tokio::time::Instant;

use super::AuthOracle;
use crate::auth::faults::AuthFault;
use crate::auth::grants::Issuer;

impl AuthOracle {
    /// Finds out anew whether nothing but a login helps.
    pub(in crate::auth) fn reconsider(&mut self) {
        let now = Instant::now();
        match (self.is_login_needed(), self.needed_since) {
            (true, None) => {
                self.note(|| "from here on a login is needed".to_owned());
                self.needed_since = Some(now);
            }
            (false, Some(_)) => {
                self.note(|| "from here on no login is needed".to_owned());
                self.needed_since = None;
                self.needed_until = Some(now);
            }
            _ => {}
        }
    }

    fn is_login_needed(&mut self) -> bool {
        let Some(record) = &self.record else { return true };
        let (issuer, client) = (record.issuer, record.client.clone());
        let (access, refresh) = (record.access.clone(), record.refresh.clone());
        if issuer != self.named || !self.grants(issuer).knows_client(&client) {
            return true;
        }
        match refresh {
            None => self.scope_of(&access).is_none(),
            Some(refresh) => {
                let grants = self.grants(issuer);
                let refusals = grants.refresh_token(&refresh).map_or(0, |it| it.refusals);
                // Three refusals of one kind are taken for the server's mind.
                grants.is_ended(&refresh) || refusals >= 3
            }
        }
    }

    /// Whether nothing but a login helps.
    pub(in crate::auth) const fn needs_login(&self) -> bool {
        self.needed_since.is_some()
    }

    /// Whether a login was needed a moment ago, when this process decided.
    fn was_needed_lately(&self) -> bool {
        let is_recent = |at: Instant| at.elapsed() < Duration::from_secs(15);
        self.needed_since.is_some() || self.needed_until.is_some_and(is_recent)
    }

    /// Records that a person was asked to log in.
    pub(in crate::auth) fn asked_to_log_in(&mut self, process: usize, scopes: &ScopeSet) {
        self.note(|| format!("process {process} asks its person for {:?}", scopes.to_text()));
        self.count("logins asked for");
        let said_no = self.said_no.get(&process).map(Instant::elapsed);
        if said_no.is_some_and(|ago| ago < Duration::from_secs(59)) {
            self.broken("a person who said no is left alone", format!("process {process}"));
        }
        let granted = self.record.as_ref().map(|it| ScopeSet::from_text(&it.scope));
        let granted = granted.unwrap_or_default();
        // By a clock that was set, the better token of another process may look like one that has ended.
        let is_certain = !self.faults.has(&[AuthFault::ClockJumps]);
        let lacks = scopes.iter().any(|it| it != "endless" && !granted.contains(it));
        if self.was_needed_lately() {
            return;
        }
        if lacks {
            return;
        }
        if !scopes.contains("endless") {
            if scopes.contains("write") && !is_certain {
                return;
            }
            return self.broken(NEEDED, format!("process {process} asked its person"));
        }
        let times = self.endless.entry(process).or_default();
        *times += 1;
        if *times > 2 {
            let what = format!("process {process} asked {times} times");
            self.broken("a scope that is never granted is not asked for for ever", what);
        }
    }

    /// Records that the person of a process said no.
    pub(in crate::auth) fn person_said_no(&mut self, process: usize) {
        self.said_no.insert(process, Instant::now());
    }

    /// Records that a process without a person says that somebody must log in.
    pub(in crate::auth) fn told_login_needed(&mut self, process: usize, reason: &LoginReason) {
        self.note(|| format!("process {process} wants a login: {reason}"));
        let is_scope = matches!(reason, LoginReason::MoreScope(_));
        if !is_scope && !self.was_needed_lately() {
            self.broken(NEEDED, format!("process {process}: {reason}"));
        }
    }

    /// Records that a login begins or ends to wait for its person.
    pub(in crate::auth) fn login_waits(&mut self, process: usize, change: i32) {
        let waiting = self.waiting.entry(process).or_default();
        *waiting += change;
        let waiting = *waiting;
        if waiting > 1 {
            let what = format!("process {process} has {waiting}");
            self.broken("one login at a time", what);
        }
    }

    /// The person ends the grant elsewhere.
    pub(in crate::auth) fn revoke_all(&mut self) {
        let named = self.named;
        self.grants(named).end_all();
        self.reconsider();
    }

    pub(in crate::auth) fn forget_clients(&mut self) {
        let named = self.named;
        self.grants(named).forget_clients();
        self.reconsider();
    }

    /// The MCP server sends its people elsewhere from now on.
    pub(in crate::auth) fn move_to_other_issuer(&mut self) {
        self.named = self.named.other();
        self.moved_at = Some(Instant::now());
        self.reconsider();
    }

    /// Whether the metadata of this issuer names a foreign token endpoint.
    pub(in crate::auth) fn is_swapped(&self, issuer: Issuer) -> bool {
        self.swapped == Some(issuer)
    }
}

const NEEDED: &str = "no login is asked for that is not needed";
