//! The tokens of one account: does what its `Grant` says, and answers whoever wants a token.
//!
//! ```text
//! token() ──► effect ──► use it ───────────────► the token
//!               │  ▲
//!               │  └── work: lock, read the store, refresh, write (a task of its own)
//!               ├────► login: the person, in the future of whoever asked
//!               └────► an error that says what to do
//! ```
//!
//! Whoever asks may leave at any time. A refresh goes on without them, because a refresh token that was sent
//! is worth nothing any more; a login ends, because nobody waits for it. No lock of memory is held across an
//! await.

mod answer;
mod at_work;
mod memory;
mod others;
mod outlook;
mod patience;
mod step_up;
mod store_look;
mod work;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ridethrough::credentials::{NoCredentials, Token};
use ridethrough_oauth_core::Secret;
use ridethrough_oauth_core::challenge::Challenges;
use ridethrough_oauth_core::grant::{Effect, LoginReason};
use ridethrough_oauth_core::scope::ScopeSet;
use ridethrough_oauth_core::store::GrantRecord;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use crate::context::Context;
use crate::dpop::{BoundToken, DpopKey};
use crate::error::{LoginFailure, with_causes};
use crate::login::{BegunBy, Login};
use crate::person::Person;

use at_work::AtWork;
use memory::Memory;
use others::{Turn, WantedLogin};

/// The tokens of one account.
pub(crate) struct TokenSource {
    context: Arc<Context>,
    memory: Mutex<Memory>,
    /// Tells those who wait that something has ended, in their order: a `watch` channel has a random one, and
    /// a simulated world could not be repeated.
    ended: Notify,
    /// Why somebody must log in before any call can be made, if that is so.
    needed: watch::Sender<Option<LoginReason>>,
    /// Work that goes on although nobody waits for it.
    at_work: AtWork,
    /// One login at a time; holds how the last one ended.
    login: tokio::sync::Mutex<Option<LastLogin>>,
}

/// How a login ended.
struct LastLogin {
    /// Not by the wall clock: one that is set back would ask the person again.
    at: Instant,
    /// What the person did not want, or did not finish.
    refused: Option<String>,
}

/// Whether a login may be begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LoginRule {
    IfNeeded,
    Never,
}

impl TokenSource {
    pub(crate) fn new(context: Context) -> Arc<Self> {
        Arc::new(Self {
            context: Arc::new(context),
            memory: Mutex::new(Memory::default()),
            ended: Notify::new(),
            needed: watch::Sender::new(None),
            at_work: AtWork::default(),
            login: tokio::sync::Mutex::new(None),
        })
    }

    pub(crate) fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// Logs in because a person wants to.
    pub(crate) async fn log_in(self: &Arc<Self>) -> Result<GrantRecord, LoginFailure> {
        let mut last = self.login.lock().await;
        self.remember_store().await;
        // No call has been refused yet: what a server asks for may stand in its refusal and nowhere else.
        if self.memory().challenges == Challenges::default() {
            let challenges = self.context.fetch.challenges().await;
            self.memory().challenges = challenges;
        }
        let person = self.context.oauth.person.as_deref();
        self.run_login(&mut last, None, BegunBy::Person, person).await
    }

    /// Logs in by this person because calls need it.
    pub(crate) async fn log_in_by(
        self: &Arc<Self>,
        person: &dyn Person,
    ) -> Result<GrantRecord, LoginFailure> {
        let mut last = self.login.lock().await;
        let reason = self.needed.borrow().clone();
        let forbids = |reason| last.as_ref()?.forbids(reason);
        if let Some(why) = reason.as_ref().and_then(forbids) {
            return Err(LoginFailure::TooSoon(why));
        }
        self.run_login(&mut last, None, BegunBy::Call, Some(person)).await
    }

    /// Follows why somebody must log in.
    pub(crate) fn needed(&self) -> watch::Receiver<Option<LoginReason>> {
        self.needed.subscribe()
    }

    /// The server has accepted a token although somebody must log in: it had a fault.
    pub(crate) fn token_accepted(&self) {
        if self.needed.borrow().as_ref().is_some_and(LoginReason::may_pass) {
            self.memory().grant().token_accepted();
            self.set_needed(None);
        }
    }

    /// The scopes that a call lacked.
    pub(crate) fn wanted_scope(&self) -> Option<String> {
        self.memory().wanted_scope.as_ref().and_then(ScopeSet::to_text)
    }

    /// The tokens that were given out last.
    pub(crate) fn tokens_in_use(&self) -> Vec<Secret> {
        self.memory().handed_out().cloned().collect()
    }

    fn set_needed(&self, reason: Option<LoginReason>) {
        self.needed.send_if_modified(|needed| {
            let is_changed = *needed != reason;
            *needed = reason;
            is_changed
        });
    }

    /// Waits until no refresh is under way: a refresh token that was sent is worth nothing any more, and its
    /// successor is in the answer only.
    pub(crate) async fn work_ended(&self) {
        self.at_work.ended().await;
    }

    /// Forgets the grant, after a logout.
    pub(crate) fn forget(&self) {
        self.memory().forget();
        self.tell_ended();
    }

    /// Does what is to be done until there is a token or an error.
    async fn settle(
        self: &Arc<Self>,
        mut effect: Effect,
        rule: LoginRule,
    ) -> Result<Option<Token>, NoCredentials> {
        let patience = Instant::now() + rule.patience();
        loop {
            effect = match effect {
                Effect::UseToken(token) => return self.hand_out(&token).map(Some),
                Effect::GiveUp => {
                    return Err(none("the server wants more scope than it was granted"));
                }
                Effect::LoginNeeded(reason) if rule == LoginRule::Never => {
                    return Err(NoCredentials::because(reason.to_string()));
                }
                Effect::LoginNeeded(reason) => return self.log_in_because(reason).await,
                Effect::Wait => self.wait_for_end(patience).await?,
                Effect::WaitUntil(until) => self.wait_until(until, patience).await?,
                work => self.begin_work(work, patience).await?,
            };
        }
    }

    async fn log_in_because(
        self: &Arc<Self>,
        reason: LoginReason,
    ) -> Result<Option<Token>, NoCredentials> {
        let person = &self.context.oauth.person;
        if person.is_none() && !self.context.is_unattended() {
            return Err(self.login_needed(&reason));
        }
        let scopes = match &reason {
            LoginReason::MoreScope(scopes) => Some(scopes.clone()),
            _ => None,
        };
        let wanted = WantedLogin { scopes, issuer: None };
        let mut last = match self.turn_to_ask(&wanted).await {
            Turn::Ours(last) => last,
            Turn::NotNeeded(record) => return self.hand_out_of(&record),
        };
        // A statement of its own, because handing out takes the memory's lock again.
        let usable = self.memory().usable_token(self.context.now());
        // Another login has ended while we waited for ours.
        if let Some(token) = usable.filter(|_| wanted.scopes.is_none()) {
            return self.hand_out(&token).map(Some);
        }
        if let Some(why) = last.as_ref().and_then(|last| last.forbids(&reason)) {
            return Err(NoCredentials::because(why));
        }
        self.log_in_for_call(&mut last, wanted).await
    }

    async fn log_in_for_call(
        &self,
        last: &mut Option<LastLogin>,
        wanted: WantedLogin,
    ) -> Result<Option<Token>, NoCredentials> {
        let (scopes, person) = (wanted.scopes.clone(), self.context.oauth.person.as_deref());
        let record = tokio::select! {
            biased;
            record = self.run_login(last, scopes, BegunBy::Call, person) => record,
            // Whoever logged in there has no reason to do so here as well.
            record = self.wait_for_other_login(&wanted) => Ok(record),
        };
        let error = match record {
            Ok(record) => return self.hand_out_of(&record),
            Err(error) => error,
        };
        match self.other_login(&wanted).await {
            Some(record) => self.hand_out_of(&record),
            None => Err(NoCredentials::because(with_causes(&error))),
        }
    }

    fn hand_out_of(&self, record: &GrantRecord) -> Result<Option<Token>, NoCredentials> {
        match &record.tokens {
            Some(tokens) => self.hand_out(&tokens.access).map(Some),
            None => Err(none("the login brought no token")),
        }
    }

    async fn run_login(
        &self,
        last: &mut Option<LastLogin>,
        scopes: Option<ScopeSet>,
        begun_by: BegunBy,
        person: Option<&dyn Person>,
    ) -> Result<GrantRecord, LoginFailure> {
        let (challenges, recorded) = self.memory().for_login();
        let login = Login { context: self.context.clone(), challenges, scopes, recorded, begun_by };
        let done = login.run(person).await;
        *last = LastLogin::of(&done);
        let record = done?;
        tracing::info!(issuer = record.endpoints.issuer(), "logged in");
        self.memory().logged_in(record.clone());
        self.set_needed(None);
        self.tell_ended();
        Ok(record)
    }

    fn login_needed(&self, reason: &LoginReason) -> NoCredentials {
        match reason {
            // Of a token with too little scope every other call can be made.
            LoginReason::MoreScope(scopes) => self.memory().wanted_scope = Some(scopes.clone()),
            reason => self.set_needed(Some(reason.clone())),
        }
        let is_news = self.memory().is_news(reason);
        if let Some(tell) = self.context.oauth.on_login_needed.as_ref().filter(|_| is_news) {
            tell(reason);
        }
        let server = &self.context.account.server_url;
        NoCredentials::log_in(format!("log in to `{server}` first: {reason}"))
    }

    /// The issuer that the MCP server sends its people to, if it is another than the one of the login.
    async fn moved_to(&self, challenges: &Challenges) -> Option<String> {
        let issuer = self.memory().issuer()?;
        // Who cannot be asked has said nothing.
        let found =
            crate::login::find(&self.context, challenges, Some(issuer.clone())).await.ok()?;
        let other = Some(found.server.issuer).filter(|found| *found != issuer)?;
        tracing::info!(issuer, other, "the server has moved to another issuer");
        Some(other)
    }

    fn hand_out(&self, token: &Secret) -> Result<Token, NoCredentials> {
        let key = {
            let mut memory = self.memory();
            memory.hand_out(token);
            memory.key_of(token)
        };
        self.set_needed(None);
        let made = match key {
            None => Token::bearer(token.expose()),
            Some(stored) => {
                let key = DpopKey::read(&stored);
                let key = key.map_err(|error| NoCredentials::because(error.to_string()))?;
                Token::dpop(token.expose(), Arc::new(self.bound(key, token)))
            }
        };
        made.map_err(|error| NoCredentials::because(error.to_string()))
    }

    fn bound(&self, key: DpopKey, token: &Secret) -> BoundToken {
        BoundToken {
            key,
            access: token.clone(),
            server: self.context.server.clone(),
            nonces: self.context.nonces.clone(),
            clock: self.context.oauth.clock.clone(),
        }
    }

    fn want_token(&self) -> Effect {
        let now = self.context.now();
        self.memory().grant().want_token(now)
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tell_ended(&self) {
        self.ended.notify_waiters();
    }
}

impl LastLogin {
    /// What is to be remembered of a login; nothing if the person had no part in its failure.
    fn of(done: &Result<GrantRecord, LoginFailure>) -> Option<Self> {
        let at = Instant::now();
        match done {
            Ok(_) => Some(Self { at, refused: None }),
            Err(error) if error.is_of_person() => {
                Some(Self { at, refused: Some(with_causes(error)) })
            }
            Err(_) => None,
        }
    }

    /// Why no call may begin another login so soon: neither a server that refuses each new token nor a
    /// person who says no may be asked with each call.
    fn forbids(&self, reason: &LoginReason) -> Option<String> {
        let is_recent = self.at.elapsed() < PAUSE;
        match &self.refused {
            _ if !is_recent => None,
            Some(why) => Some(format!("a moment ago {why}")),
            None => (*reason == LoginReason::FreshTokenRefused).then(|| reason.to_string()),
        }
    }
}

fn none(why: &str) -> NoCredentials {
    NoCredentials::because(why)
}

/// How long after a login no call begins another one for nothing.
const PAUSE: Duration = Duration::from_secs(60);
