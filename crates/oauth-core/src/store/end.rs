//! Why a refresh token is not used any more.

use serde::{Deserialize, Serialize};

use crate::grant::LoginReason;

/// Why a refresh token is not used any more, as it is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StoredEnd {
    /// The authorization server does not know the client any more.
    ClientDead,
    /// The refresh token ended.
    GrantDead,
}

impl StoredEnd {
    /// Returns what to store about this reason; `None` if it may pass by itself.
    pub const fn of(reason: &LoginReason) -> Option<Self> {
        match reason {
            LoginReason::ClientDead(_) => Some(Self::ClientDead),
            LoginReason::GrantDead(_) => Some(Self::GrantDead),
            _ => None,
        }
    }
}
