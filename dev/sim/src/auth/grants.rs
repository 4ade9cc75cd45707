//! What an issuer has issued: clients, codes, access tokens and refresh tokens, and how each stands.
//!
//! Every secret names its kind and its issuer (`rt.one.7`), so that one at the wrong place is recognised.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::time::Instant;

use super::shape::{AuthShape, Rotation};

/// One of the two issuers of a world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Issuer {
    One,
    Two,
}

impl Issuer {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::One => "one",
            Self::Two => "two",
        }
    }

    pub(super) const fn other(self) -> Self {
        match self {
            Self::One => Self::Two,
            Self::Two => Self::One,
        }
    }
}

/// What one issuer has issued.
#[derive(Debug)]
pub(super) struct Grants {
    issuer: Issuer,
    rotation: Rotation,
    life: Duration,
    number: u64,
    clients: BTreeSet<String>,
    codes: BTreeMap<String, Code>,
    access: BTreeMap<String, Access>,
    refresh: BTreeMap<String, RefreshToken>,
    ended: BTreeSet<u64>,
}

/// A code that a person was sent back with.
#[derive(Clone, Debug)]
pub(super) struct Code {
    pub(super) client: String,
    pub(super) redirect_uri: String,
    pub(super) scope: String,
    /// Whether it came in a callback that must not be believed.
    pub(super) is_poisoned: bool,
}

#[derive(Debug)]
struct Access {
    family: u64,
    issued: Instant,
    scope: String,
    is_revoked: bool,
}

/// A refresh token, and what became of it.
#[derive(Debug)]
pub(super) struct RefreshToken {
    family: u64,
    scope: String,
    /// The access token that it last brought, or came with.
    access: String,
    /// When it was replaced, if it was.
    replaced: Option<Instant>,
    successors: Vec<String>,
    /// Whether the answer with its successor may not have been kept by anybody.
    pub(super) is_answer_lost: bool,
    /// Whether the store ever held it.
    pub(super) is_stored: bool,
    /// How often it was refused for no reason.
    pub(super) refusals: u32,
    /// How often it was refused because it had ended.
    pub(super) refused_dead: u32,
}

/// Tokens, as they are answered.
#[derive(Clone, Debug)]
pub(super) struct Issued {
    pub(super) access: String,
    /// Left out where it stays as it is.
    pub(super) refresh: Option<String>,
    pub(super) scope: String,
    pub(super) expires_in: u64,
}

impl Grants {
    pub(super) fn new(issuer: Issuer, shape: &AuthShape) -> Self {
        Self {
            issuer,
            rotation: shape.rotation,
            life: shape.life,
            number: 0,
            clients: BTreeSet::new(),
            codes: BTreeMap::new(),
            access: BTreeMap::new(),
            refresh: BTreeMap::new(),
            ended: BTreeSet::new(),
        }
    }

    fn name(&mut self, kind: &str) -> String {
        self.number += 1;
        format!("{kind}.{}.{}", self.issuer.name(), self.number)
    }

    pub(super) fn register(&mut self) -> String {
        let client = self.name("client");
        self.clients.insert(client.clone());
        client
    }

    pub(super) fn forget_clients(&mut self) {
        self.clients.clear();
    }

    pub(super) fn knows_client(&self, client: &str) -> bool {
        self.clients.contains(client)
    }

    pub(super) fn code(&mut self, code: Code) -> String {
        let name = self.name("code");
        self.codes.insert(name.clone(), code);
        name
    }

    /// Takes a code, which is good once.
    pub(super) fn take_code(&mut self, code: &str) -> Option<Code> {
        self.codes.remove(code)
    }

    /// Tokens of a new login.
    pub(super) fn log_in(&mut self, scope: &str) -> Issued {
        self.number += 1;
        let family = self.number;
        self.issue(family, scope)
    }

    fn issue(&mut self, family: u64, scope: &str) -> Issued {
        let (access, refresh) = (self.access_token(family, scope), self.name("rt"));
        let token = RefreshToken {
            family,
            scope: scope.to_owned(),
            access: access.clone(),
            replaced: None,
            successors: Vec::new(),
            is_answer_lost: false,
            is_stored: false,
            refusals: 0,
            refused_dead: 0,
        };
        self.refresh.insert(refresh.clone(), token);
        let (scope, expires_in) = (scope.to_owned(), self.life.as_secs());
        Issued { access, refresh: Some(refresh), scope, expires_in }
    }

    fn access_token(&mut self, family: u64, scope: &str) -> String {
        let access = self.name("at");
        let scope = scope.to_owned();
        let issued = Instant::now();
        self.access.insert(access.clone(), Access { family, issued, scope, is_revoked: false });
        access
    }

    /// New tokens for old. `None` if the grant has ended, perhaps by this.
    pub(super) fn renew(&mut self, refresh: &str) -> Option<Issued> {
        let token = self.refresh.get(refresh).filter(|it| !self.ended.contains(&it.family))?;
        let (family, scope) = (token.family, token.scope.clone());
        let is_forgiven = token.replaced.is_none_or(|at| at.elapsed() < GRACE);
        if self.rotation == Rotation::Never {
            let access = self.access_token(family, &scope);
            let token = self.refresh.get_mut(refresh)?;
            token.access.clone_from(&access);
            let expires_in = self.life.as_secs();
            return Some(Issued { access, refresh: None, scope, expires_in });
        }
        if token.replaced.is_some() && !(self.rotation == Rotation::Grace && is_forgiven) {
            // Whoever has its successors may be a thief.
            self.ended.insert(family);
            return None;
        }
        let issued = self.issue(family, &scope);
        let token = self.refresh.get_mut(refresh)?;
        token.replaced.get_or_insert_with(Instant::now);
        token.successors.extend(issued.refresh.clone());
        token.is_answer_lost = false;
        Some(issued)
    }

    pub(super) fn refresh_token(&mut self, refresh: &str) -> Option<&mut RefreshToken> {
        self.refresh.get_mut(refresh)
    }

    /// Whether a refresh token was replaced.
    pub(super) fn is_replaced(&self, refresh: &str) -> bool {
        self.refresh.get(refresh).is_some_and(|it| it.replaced.is_some())
    }

    /// Whether the store ever held what took the place of this refresh token.
    pub(super) fn is_successor_stored(&self, refresh: &str) -> bool {
        let successors = self.refresh.get(refresh).map(|it| it.successors.as_slice());
        let is_stored = |it: &String| self.refresh.get(it).is_some_and(|it| it.is_stored);
        successors.unwrap_or_default().iter().any(is_stored)
    }

    /// Notes that answers which nobody has stored so far may be lost.
    pub(super) fn lose_what_is_not_stored(&mut self) {
        let stored: BTreeSet<String> = self
            .refresh
            .iter()
            .filter(|(_, it)| it.is_stored)
            .map(|(name, _)| name.clone())
            .collect();
        for token in self.refresh.values_mut() {
            token.is_answer_lost |= !token.successors.iter().any(|it| stored.contains(it));
        }
    }

    /// Whether nothing can be had for this refresh token any more.
    pub(super) fn is_ended(&self, refresh: &str) -> bool {
        self.refresh.get(refresh).is_none_or(|it| self.ended.contains(&it.family))
    }

    pub(super) fn end_all(&mut self) {
        self.ended.extend(self.refresh.values().map(|it| it.family));
    }

    /// The scope of an access token, if it is good.
    pub(super) fn scope_of(&self, access: &str) -> Option<&str> {
        let token = self.access.get(access)?;
        let is_good = !token.is_revoked
            && token.issued.elapsed() < self.life
            && !self.ended.contains(&token.family);
        is_good.then_some(&token.scope)
    }

    /// Ends an access token, if it is not so new that a refusal says that all are bad.
    pub(super) fn revoke_early(&mut self, access: &str) -> bool {
        let half = self.life / 2;
        let Some(token) = self.access.get_mut(access) else { return false };
        let age = token.issued.elapsed();
        let may_be = age > half.min(Duration::from_secs(60)) + LATEST && !token.is_revoked;
        token.is_revoked |= may_be;
        may_be
    }

    /// Whether the access token that came with this refresh token is good for more than half of its life.
    pub(super) fn is_fresh(&self, refresh: &str) -> bool {
        let Some(token) = self.refresh.get(refresh) else { return false };
        let access = self.access.get(&token.access);
        let is_young = access.is_some_and(|it| it.issued.elapsed() < self.life / 2);
        is_young && self.scope_of(&token.access).is_some()
    }
}

/// How long a refresh token that was replaced is forgiven.
const GRACE: Duration = Duration::from_secs(60);
/// How late an answer with tokens may come.
const LATEST: Duration = Duration::from_secs(7);
