//! The answers to a client: its first token, a better one, and one that comes before it is asked for.

use std::sync::Arc;
use std::time::Duration;

use http::header::WWW_AUTHENTICATE;
use http::{HeaderMap, HeaderValue, StatusCode};
use ridethrough::credentials::{Challenge, NoCredentials, Refused, Token};
use ridethrough_oauth_core::Secret;
use ridethrough_oauth_core::challenge::{Challenges, Demand};
use ridethrough_oauth_core::grant::{AccessRefusal, Effect, LoginReason};
use ridethrough_oauth_core::scope::ScopeSet;
use ridethrough_oauth_core::store::GrantRecord;
use tokio::time::timeout;

use super::others::{Turn, WantedLogin};
use super::{LoginRule, TokenSource, none};
use crate::error::LoginFailure;

impl TokenSource {
    /// What the store has, if it can be used; a server that wants no login is not asked for one.
    pub(crate) async fn first_token(self: &Arc<Self>) -> Result<Option<Token>, NoCredentials> {
        self.remember_store().await;
        if self.memory().grant().tokens().is_none() {
            return Ok(None);
        }
        self.settle(self.want_token(), LoginRule::Never).await
    }

    /// A better token than the one that was refused.
    pub(crate) async fn better_token(
        self: &Arc<Self>,
        refused: Refused<'_>,
    ) -> Result<Option<Token>, NoCredentials> {
        self.remember_store().await;
        if refused.is_suspicion {
            return self.other_token(refused).await;
        }
        let challenges = refused.challenge.map(read).unwrap_or_default();
        self.memory().challenges = challenges.clone();
        if let Some(Demand::MoreScope(scopes)) = challenges.demand(StatusCode::FORBIDDEN) {
            // A login since the call was sent has brought it.
            let is_older = self.current(refused.token).is_none() && self.has_asked_for(&scopes);
            let usable = self.memory().usable_token(self.context.now());
            if let Some(token) = usable.filter(|_| is_older) {
                return self.hand_out(&token).map(Some);
            }
            let wanted = WantedLogin { scopes: Some(scopes.clone()), issuer: None };
            // Nobody has to be asked for what another process has been granted.
            if let Some(record) = self.other_login(&wanted).await {
                return self.hand_out_of(&record);
            }
            let effect = self.demand_scope(&scopes);
            return self.settle(effect, LoginRule::IfNeeded).await;
        }
        let Some(token) = self.current(refused.token) else {
            return self.settle(self.want_token(), LoginRule::IfNeeded).await;
        };
        if challenges.wants_dpop_nonce() {
            // The token is good; its proof was not, and the next one has the nonce.
            return self.hand_out(&token).map(Some);
        }
        // Of a token that has ended a refusal is to be expected, and says nothing about the issuer.
        let is_live = self.memory().usable_token(self.context.now()).is_some();
        if is_live && let Some(issuer) = self.moved_to(&challenges).await {
            return self.log_in_elsewhere(issuer).await;
        }
        let now = self.context.now();
        let effect = self.memory().grant().token_refused(now, &token, AccessRefusal::Token);
        self.settle(effect.unwrap_or(Effect::GiveUp), LoginRule::IfNeeded).await
    }

    /// Another token than one that the server accepts for other requests: only if there is one already, or if time
    /// has come to renew it. No person is asked, and the refusal is not remembered.
    async fn other_token(
        self: &Arc<Self>,
        refused: Refused<'_>,
    ) -> Result<Option<Token>, NoCredentials> {
        let is_live = self.memory().usable_token(self.context.now()).is_some();
        if is_live && self.current(refused.token).is_some() {
            return Err(none("the server accepts this token for other requests"));
        }
        self.settle(self.want_token(), LoginRule::Never).await
    }

    /// Waits for a token that takes the place of the one that was given out. Nobody is asked to log in.
    pub(crate) async fn renewed(self: &Arc<Self>) -> Token {
        loop {
            // Boxed, so that their room is given back before the long wait: each link of a gateway waits here.
            Box::pin(self.save_unsaved()).await;
            if let Some(token) = Box::pin(self.newer_token()).await {
                return token;
            }
            // From here on: the end of our own look at the store is no news, and would make us look again.
            let ended = self.ended.notified();
            if let Some(token) = self.token_at_hand() {
                return token;
            }
            let _ = timeout(self.until_due(), ended).await;
        }
    }

    /// Reads the store, the first time.
    pub(super) async fn remember_store(&self) {
        if self.memory().is_loaded {
            return;
        }
        match self.load_or_take_over().await {
            Ok(record) => {
                let mut memory = self.memory();
                if !memory.is_loaded {
                    memory.loaded(record);
                }
            }
            Err(error) => {
                let error = crate::error::with_causes(&error);
                tracing::warn!(error, "the store could not be read");
            }
        }
    }

    /// What is stored, or else a login of another program.
    async fn load_or_take_over(&self) -> Result<Option<GrantRecord>, LoginFailure> {
        match self.context.load().await? {
            Some(record) => Ok(Some(record)),
            None => crate::login::take_over(&self.context).await,
        }
    }

    async fn newer_token(self: &Arc<Self>) -> Option<Token> {
        let handed = self.memory().handed.clone();
        if handed.is_none() && self.memory().grant().tokens().is_none() {
            return None;
        }
        let now = self.context.now();
        let is_due = self.memory().is_due(now);
        if self.context.is_unattended() && is_due {
            // A failure is told to the call that needs the token.
            let mut last = self.login.lock().await;
            let person = self.context.oauth.person.as_deref();
            let _ = self.run_login(&mut last, None, super::BegunBy::Call, person).await;
        }
        let token = match self.want_token() {
            Effect::UseToken(token) => token,
            work @ Effect::AskStore { .. } => match self.spawn_work(work).await {
                Ok(Effect::UseToken(token)) => token,
                _ => return None,
            },
            _ => return None,
        };
        if Some(&token) == handed.as_ref() { None } else { self.hand_out(&token).ok() }
    }

    /// A live token other than the one that was given out, which somebody else has just brought.
    fn token_at_hand(&self) -> Option<Token> {
        let usable = self.memory().usable_token(self.context.now())?;
        let is_handed = self.memory().handed.as_ref() == Some(&usable);
        if is_handed { None } else { self.hand_out(&usable).ok() }
    }

    /// How long to wait before the grant is looked at again. The wall clock may jump, and another process may
    /// log in, so that it is never long.
    fn until_due(&self) -> Duration {
        let now = self.context.now();
        match self.memory().due_at().filter(|due| now < *due) {
            Some(due) => due.since(now).min(LONGEST),
            // It is due already, and could not be renewed.
            None => OVERDUE,
        }
    }

    fn demand_scope(&self, scopes: &ScopeSet) -> Effect {
        // The hook is not told which call it was: what is demanded tells one demand from another.
        let operation = scopes.to_text().unwrap_or_default();
        let resource = &self.context.account.server_url;
        self.memory().grant().insufficient_scope(resource, &operation, scopes)
    }

    /// The token in force, if it is the one that was refused.
    fn current(&self, refused: Option<&Token>) -> Option<Secret> {
        let held = self.memory().grant().tokens().map(|tokens| tokens.access.clone())?;
        let token = Token::bearer(held.expose()).ok()?;
        refused.is_some_and(|refused| refused.is_same(&token)).then_some(held)
    }

    /// Nothing of the old issuer is shown to the new one; a person decides whether that is trusted.
    async fn log_in_elsewhere(
        self: &Arc<Self>,
        issuer: String,
    ) -> Result<Option<Token>, NoCredentials> {
        let wanted = WantedLogin { scopes: None, issuer: Some(issuer) };
        if let Some(record) = self.other_login(&wanted).await {
            return self.hand_out_of(&record);
        }
        if self.context.oauth.person.is_none() {
            return Err(self.login_needed(&LoginReason::IssuerMoved));
        }
        let mut last = match self.turn_to_ask(&wanted).await {
            Turn::Ours(last) => last,
            Turn::NotNeeded(record) => return self.hand_out_of(&record),
        };
        if let Some(why) = last.as_ref().and_then(|last| last.forbids(&LoginReason::IssuerMoved)) {
            return Err(NoCredentials::because(why));
        }
        self.log_in_for_call(&mut last, wanted).await
    }
}

/// The challenge in the words of the pure half.
pub(super) fn read(challenge: &Challenge) -> Challenges {
    let mut headers = HeaderMap::new();
    for line in challenge.header.lines() {
        if let Ok(value) = HeaderValue::from_str(line) {
            headers.append(WWW_AUTHENTICATE, value);
        }
    }
    Challenges::read(&headers)
}

const OVERDUE: Duration = Duration::from_secs(10);
const LONGEST: Duration = Duration::from_secs(30);
