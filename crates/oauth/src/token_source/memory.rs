//! What is known of a grant between two steps.

use ridethrough_oauth_core::challenge::Challenges;
use ridethrough_oauth_core::grant::{Effect, Grant, LoginReason, Phase, RepeatScope};
use ridethrough_oauth_core::scope::ScopeSet;
use ridethrough_oauth_core::store::{GrantRecord, StoredEnd};
use ridethrough_oauth_core::tokens::{TokenType, Tokens};
use ridethrough_oauth_core::{Secret, Timestamp};

/// What is known of a grant.
pub(super) struct Memory {
    grant: Grant,
    /// What the tokens of the grant belong to.
    pub(super) record: Option<GrantRecord>,
    /// What the store held when it was last read.
    pub(super) stored: Option<GrantRecord>,
    /// Whether the store was ever read.
    pub(super) is_loaded: bool,
    /// Whether the tokens of the grant are still to be written.
    pub(super) is_unsaved: bool,
    /// The token that was given out last, and the one before.
    pub(super) handed: Option<Secret>,
    handed_before: Option<Secret>,
    /// The scopes that a call lacked, and nobody was there to be asked for.
    pub(super) wanted_scope: Option<ScopeSet>,
    /// What the MCP server asked for last.
    pub(super) challenges: Challenges,
    /// The work that is under way.
    pub(super) under_way: Option<UnderWay>,
    /// What people were told last: why they must log in, and for which access token.
    told: Option<(LoginReason, Option<Secret>)>,
}

/// Work that must be reported to the grant, whatever becomes of it.
#[derive(Clone, Copy, Debug)]
pub(super) enum UnderWay {
    Refresh(u64),
    Store(u64),
}

/// What another process did to the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StoreChange {
    LoggedIn,
    LoggedOut,
    Nothing,
}

impl Default for Memory {
    fn default() -> Self {
        Self {
            grant: Grant::new(None, ScopeSet::default(), RepeatScope::Yes),
            record: None,
            stored: None,
            is_loaded: false,
            is_unsaved: false,
            handed: None,
            handed_before: None,
            wanted_scope: None,
            challenges: Challenges::default(),
            under_way: None,
            told: None,
        }
    }
}

impl Memory {
    pub(super) const fn grant(&mut self) -> &mut Grant {
        &mut self.grant
    }

    /// The access token, if requests may be sent with it.
    pub(super) fn usable_token(&self, now: Timestamp) -> Option<Secret> {
        let is_usable = matches!(self.grant.phase(now), Phase::Due | Phase::Fresh);
        self.grant.tokens().filter(|_| is_usable).map(|tokens| tokens.access.clone())
    }

    /// The stored key that this access token is bound to, if it is.
    pub(super) fn key_of(&self, token: &Secret) -> Option<Secret> {
        let tokens = self.grant.tokens().filter(|it| it.access == *token)?;
        let is_bound = tokens.token_type == TokenType::Dpop;
        self.record.as_ref().filter(|_| is_bound)?.dpop_key.clone()
    }

    /// A token is given out.
    pub(super) fn hand_out(&mut self, token: &Secret) {
        if self.handed.as_ref() != Some(token) {
            self.handed_before = self.handed.replace(token.clone());
        }
    }

    /// The tokens that were given out last: requests with the one before may be under way.
    pub(super) fn handed_out(&self) -> impl Iterator<Item = &Secret> {
        self.handed.iter().chain(&self.handed_before)
    }

    /// When the access token is to be renewed.
    pub(super) fn due_at(&self) -> Option<Timestamp> {
        self.grant.tokens().and_then(Tokens::due_at)
    }

    /// Whether the access token is live and to be renewed.
    pub(super) fn is_due(&self, now: Timestamp) -> bool {
        self.grant.phase(now) == Phase::Due
    }

    pub(super) fn issuer(&self) -> Option<String> {
        self.record.as_ref().map(|record| record.endpoints.issuer().to_owned())
    }

    /// What a login begins with.
    pub(super) fn for_login(&self) -> (Challenges, Option<GrantRecord>) {
        (self.challenges.clone(), self.record.clone())
    }

    /// Takes what the store held at the start.
    pub(super) fn loaded(&mut self, record: Option<GrantRecord>) {
        self.is_loaded = true;
        self.stored = record.clone();
        if let Some(record) = record {
            let requested = record.requested.clone();
            self.grant = Grant::new(good_tokens(&record), requested, RepeatScope::Yes);
            self.record = Some(record);
        }
    }

    /// Takes what the store held when the grant asked for it.
    pub(super) fn answer_store(
        &mut self,
        now: Timestamp,
        id: u64,
        stored: Option<GrantRecord>,
    ) -> Option<Effect> {
        let tokens = stored.as_ref().and_then(good_tokens);
        if self.is_logged_out(stored.as_ref()) {
            self.logged_out(stored);
            return Some(Effect::LoginNeeded(LoginReason::NoGrant));
        }
        if let Some(ended) = stored.as_ref().and_then(ended_refresh_token) {
            let words = "another process was told so by the authorization server".to_owned();
            self.grant.refresh_token_ended(ended, LoginReason::GrantDead(words));
        }
        self.stored = stored;
        let effect = self.grant.handle_store(now, id, tokens);
        // Tokens go to the issuer that they came with: an adopted token brings its record along.
        let held = self.grant.tokens().map(|tokens| &tokens.access);
        let of_stored = self.stored.as_ref().and_then(|it| it.tokens.as_ref()).map(|it| &it.access);
        if held.is_some() && held == of_stored {
            self.record = self.stored.clone();
            self.is_unsaved = false;
        }
        effect
    }

    /// Takes over what another process has stored.
    pub(super) fn take_over(&mut self, stored: Option<GrantRecord>) -> StoreChange {
        // Whoever works reads the store itself.
        if self.grant.is_busy() || (self.is_loaded && stored == self.stored) {
            return StoreChange::Nothing;
        }
        if self.is_logged_out(stored.as_ref()) {
            self.logged_out(stored);
            return StoreChange::LoggedOut;
        }
        let Some(record) = stored else { return StoreChange::Nothing };
        let Some(tokens) = good_tokens(&record) else { return StoreChange::Nothing };
        if !self.grant.adopt_stored(tokens, record.requested.clone()) {
            return StoreChange::Nothing;
        }
        self.stored = Some(record.clone());
        self.record = Some(record);
        self.is_loaded = true;
        self.is_unsaved = false;
        self.wanted_scope = None;
        StoreChange::LoggedIn
    }

    /// Whether the tokens that were stored are gone: somebody has logged out, or taken the login to another
    /// machine.
    fn is_logged_out(&self, stored: Option<&GrantRecord>) -> bool {
        holds_tokens(self.stored.as_ref()) && !self.is_unsaved && !holds_tokens(stored)
    }

    /// What we hold is not ours to renew any more, nor to store again.
    fn logged_out(&mut self, stored: Option<GrantRecord>) {
        self.forget();
        self.loaded(stored);
    }

    /// A login has brought this record, which is stored.
    pub(super) fn logged_in(&mut self, record: GrantRecord) {
        if let Some(tokens) = &record.tokens {
            self.grant.logged_in(tokens.clone(), record.requested.clone());
        }
        self.stored = Some(record.clone());
        self.record = Some(record);
        self.is_loaded = true;
        self.is_unsaved = false;
        self.wanted_scope = None;
    }

    /// Whether people are still to be told that they must log in for this reason. They are told once, however
    /// many calls there are, until there is another token.
    pub(super) fn is_news(&mut self, reason: &LoginReason) -> bool {
        let held = self.grant.tokens().map(|tokens| tokens.access.clone());
        let news = Some((reason.clone(), held));
        let is_news = self.told != news;
        self.told = news;
        is_news
    }

    /// Forgets the grant; the store is read again when it is next needed.
    pub(super) fn forget(&mut self) {
        let challenges = std::mem::take(&mut self.challenges);
        *self = Self { challenges, ..Self::default() };
    }

    /// Whether the store still holds the tokens that it held when it was last read, so that those of the grant
    /// came after them. Times do not tell: the clock may have been set back.
    pub(super) fn is_store_unchanged(&self, found: Option<&GrantRecord>) -> bool {
        let tokens = |record: &GrantRecord| record.tokens.clone();
        let known = self.stored.as_ref().and_then(tokens);
        match (known, found.and_then(|it| it.tokens.as_ref())) {
            (Some(known), Some(found)) => {
                known.access == found.access && known.refresh == found.refresh
            }
            (known, found) => known.is_none() && found.is_none(),
        }
    }

    /// The record as it should be stored: with the tokens that are held.
    pub(super) fn to_store(&self) -> Option<GrantRecord> {
        let mut record = self.record.clone()?;
        record.tokens = Some(self.grant.tokens()?.clone());
        record.end = None;
        Some(record)
    }
}

/// The refresh token of a record, if it has ended.
fn ended_refresh_token(record: &GrantRecord) -> Option<&Secret> {
    let is_ended = record.end == Some(StoredEnd::GrantDead);
    record.tokens.as_ref().filter(|_| is_ended).and_then(|tokens| tokens.refresh.as_ref())
}

fn holds_tokens(record: Option<&GrantRecord>) -> bool {
    record.is_some_and(|record| record.tokens.is_some())
}

/// The tokens of a record, without a refresh token that has ended.
fn good_tokens(record: &GrantRecord) -> Option<Tokens> {
    let mut tokens = record.tokens.clone()?;
    if record.end == Some(StoredEnd::GrantDead) {
        tokens.refresh = None;
    }
    Some(tokens)
}
