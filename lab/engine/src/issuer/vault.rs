//! Everything that the authorization servers of one stage have issued, and for which server.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};

use tokio::time::Instant;

use crate::lock::lock;

/// Everything that was issued. Clones share one.
#[derive(Clone, Default)]
pub(crate) struct Vault(Arc<Mutex<VaultState>>);

#[derive(Default)]
pub(super) struct VaultState {
    /// The last number that was used in a name.
    number: u64,
    clients: BTreeMap<String, RegisteredClient>,
    pub(super) codes: BTreeMap<String, IssuedCode>,
    access: BTreeMap<String, AccessGrant>,
    pub(super) refresh: BTreeMap<String, RefreshGrant>,
    /// The logins that have ended.
    pub(super) ended: BTreeSet<u64>,
    secrets: Vec<IssuedSecret>,
}

struct RegisteredClient {
    issuer: String,
    redirect_uris: Vec<String>,
}

/// An authorization code, with the query that asked for it.
pub(super) struct IssuedCode {
    pub(super) issuer: String,
    pub(super) asked: BTreeMap<String, String>,
}

/// The grant of an access token.
#[derive(Clone, Debug)]
pub(crate) struct AccessGrant {
    pub(super) ends: Instant,
    pub(super) scope: String,
    pub(super) resource: Option<String>,
}

/// A refresh token.
#[derive(Clone)]
pub(super) struct RefreshGrant {
    pub(super) issuer: String,
    pub(super) client: String,
    /// The login that it belongs to.
    pub(super) login: u64,
    pub(super) scope: String,
    pub(super) resource: Option<String>,
    /// The answer that replaced it, once it was used.
    pub(super) answer: Option<String>,
}

/// A secret that may be shown only to the servers that it was made for.
#[derive(Clone, Debug)]
pub(crate) struct IssuedSecret {
    text: String,
    /// The kind, for people.
    pub(crate) kind: &'static str,
    /// The origin that issued it, which may see everything.
    issuer: String,
}

impl IssuedSecret {
    /// Whether this text, which arrived at this origin, leaks the secret. The MCP server may see access
    /// tokens.
    pub(crate) fn is_given_away(&self, text: &str, origin: &str, is_main: bool) -> bool {
        let is_for = self.issuer == origin || is_main && self.kind == ACCESS_TOKEN;
        !is_for && text.contains(&self.text)
    }
}

impl Vault {
    pub(super) fn state(&self) -> MutexGuard<'_, VaultState> {
        lock(&self.0)
    }

    pub(super) fn add_client(&self, issuer: &str, redirect_uris: Vec<String>) -> String {
        let mut state = self.state();
        let id = state.name("client");
        let issuer = issuer.to_owned();
        state.clients.insert(id.clone(), RegisteredClient { issuer, redirect_uris });
        id
    }

    /// Whether this issuer knows the client, and may send its browsers to this address.
    pub(super) fn is_client(&self, issuer: &str, id: &str, redirect_uri: Option<&str>) -> bool {
        self.state().clients.get(id).is_some_and(|client| {
            let has = |uri: &str| client.redirect_uris.iter().any(|it| it == uri);
            client.issuer == issuer && redirect_uri.is_none_or(has)
        })
    }

    pub(super) fn add_code(&self, issuer: &str, asked: &BTreeMap<String, String>) -> String {
        let mut state = self.state();
        let code = state.secret(CODE, issuer);
        let (issuer, asked) = (issuer.to_owned(), asked.clone());
        state.codes.insert(code.clone(), IssuedCode { issuer, asked });
        code
    }

    /// Returns the grant of an access token, if the token is valid.
    pub(super) fn access(&self, token: &str, now: Instant) -> Option<AccessGrant> {
        self.state().access.get(token).filter(|it| now < it.ends).cloned()
    }

    /// Invalidates every access token that was issued so far.
    pub(crate) fn end_access_tokens(&self) {
        self.state().access.clear();
    }

    /// Ends every login: no refresh token is valid any more.
    pub(crate) fn end_logins(&self) {
        let mut state = self.state();
        let logins: Vec<_> = state.refresh.values().map(|it| it.login).collect();
        state.ended.extend(logins);
    }

    /// Forgets every client.
    pub(crate) fn forget_clients(&self) {
        self.state().clients.clear();
    }

    /// Returns every secret that was issued.
    pub(crate) fn secrets(&self) -> Vec<IssuedSecret> {
        self.state().secrets.clone()
    }
}

impl VaultState {
    fn name(&mut self, word: &str) -> String {
        self.number += 1;
        format!("lab-{word}-{}", self.number)
    }

    /// Returns a new secret. Scenarios look for its beginning in the output of a client; its end tells
    /// `...-1` from `...-11`.
    pub(super) fn secret(&mut self, kind: &'static str, issuer: &str) -> String {
        let text = self.name(&kind.replace(' ', "-")) + "-s3cret";
        self.keep(text, kind, issuer)
    }

    /// Remembers that this is a secret.
    pub(super) fn keep(&mut self, text: String, kind: &'static str, issuer: &str) -> String {
        self.secrets.push(IssuedSecret { text: text.clone(), kind, issuer: issuer.to_owned() });
        text
    }

    pub(super) fn new_login(&mut self) -> u64 {
        self.number += 1;
        self.number
    }

    pub(super) fn add_access(&mut self, token: String, grant: AccessGrant) {
        self.access.insert(token, grant);
    }
}

impl std::fmt::Debug for Vault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Vault")
    }
}

pub(super) const ACCESS_TOKEN: &str = "access token";
pub(super) const CODE: &str = "code";
pub(super) const REFRESH_TOKEN: &str = "refresh token";
