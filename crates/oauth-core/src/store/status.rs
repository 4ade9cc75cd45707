//! The status of a grant, from its record alone: no request is sent.

use std::fmt;

use super::{GrantRecord, StoredEnd};
use crate::timestamp::Timestamp;

/// The status of a grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrantStatus {
    /// The authorization server does not know the client any more: register and log in again.
    ClientDead,
    /// The access token ended; the next call renews it.
    ExpiredRefreshable,
    /// The access token is about to end and cannot be renewed.
    Expiring,
    /// A person must log in.
    LoginNeeded,
    /// Nothing is stored: no person has logged in, or the server wants no login.
    NoAuth,
    /// The access token is live.
    Ok,
}

impl GrantStatus {
    /// Returns the status of the grant of this record.
    pub fn of(record: Option<&GrantRecord>, now: Timestamp) -> Self {
        let Some(record) = record else { return Self::NoAuth };
        let Some(tokens) = &record.tokens else { return Self::LoginNeeded };
        let can_refresh = tokens.refresh.is_some() && record.end.is_none();
        let is_due = tokens.due_at().is_some_and(|due| due <= now);
        match (tokens.is_live(now), can_refresh, record.end) {
            (true, false, _) if is_due => Self::Expiring,
            (true, ..) => Self::Ok,
            (false, true, _) => Self::ExpiredRefreshable,
            (false, _, Some(StoredEnd::ClientDead)) => Self::ClientDead,
            (false, ..) => Self::LoginNeeded,
        }
    }
}

/// Prints one word, for people and programs.
impl fmt::Display for GrantStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ClientDead => "client-dead",
            Self::ExpiredRefreshable => "expired-refreshable",
            Self::Expiring => "expiring",
            Self::LoginNeeded => "login-needed",
            Self::NoAuth => "no-auth",
            Self::Ok => "ok",
        })
    }
}
