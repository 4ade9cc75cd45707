//! A stored login as people and programs are shown it. It contains no tokens.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ridethrough_oauth::{Status, Timestamp};
use ridethrough_oauth_core::client::ClientKind;
use serde::Serialize;

/// The stored login, without its secrets.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GrantShown {
    /// Its state, in a word.
    pub status: String,
    /// The person's name for the account; empty for the only one.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub profile: String,
    /// Who issued it.
    pub issuer: Option<String>,
    /// How the client became known to the issuer, in a word.
    pub client: Option<&'static str>,
    /// What it is good for.
    pub scopes: Vec<String>,
    /// When the access token ends, in seconds since 1970.
    pub expires_at: Option<u64>,
    /// Whether it can be renewed without a person.
    pub is_refreshable: bool,
}

impl GrantShown {
    /// Returns what may be shown of the login of this account.
    pub fn of(status: &Status, profile: String) -> Self {
        Self {
            status: status.status.to_string(),
            profile,
            issuer: status.issuer.clone(),
            client: status.client.map(client_word),
            scopes: status.scopes.iter().map(str::to_owned).collect(),
            expires_at: status.expires_at.map(Timestamp::unix_secs),
            is_refreshable: status.is_refreshable,
        }
    }

    /// Returns whose it is, if the person has several accounts: ` as work`.
    pub fn who(&self) -> String {
        if self.profile.is_empty() { String::new() } else { format!(" as {}", self.profile) }
    }

    /// Returns the scopes and the time until the token ends, in words.
    pub fn words(&self) -> String {
        let scopes = match self.scopes.as_slice() {
            [] => "no scopes named".to_owned(),
            scopes => format!("scopes {}", scopes.join(" ")),
        };
        format!("{scopes}, {}", self.time())
    }

    fn time(&self) -> String {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let time = match self.expires_at {
            None => "no end named".to_owned(),
            Some(at) if at <= now => "ended".to_owned(),
            Some(at) => format!("good for {}", in_words(Duration::from_secs(at - now))),
        };
        let renewal = match (self.is_refreshable, self.expires_at) {
            (true, _) => " and renewed by itself",
            (false, Some(_)) => ", then somebody must log in again: there is no refresh token",
            (false, None) => "",
        };
        format!("{time}{renewal}")
    }
}

/// Returns how a client became known to the issuer, in a word.
pub const fn client_word(kind: ClientKind) -> &'static str {
    match kind {
        ClientKind::Dynamic => "registered-itself",
        ClientKind::MetadataDocument => "metadata-document",
        ClientKind::Preregistered => "registered-by-hand",
    }
}

/// Returns a time in its largest unit.
fn in_words(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        7200..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    }
}
