//! The life of a grant: when its tokens are used, renewed or waited for, and when a person is needed.
//!
//! ```text
//!   Empty ──tokens──► Fresh ──time──► Due ──┐            ┌──tokens──► Fresh
//!                       │                   ├─► asking ──┼─► Refreshing ──lost, trouble──► waiting ─► Due
//!                       └──401──► Refused ──┘   store    │       └──ended, refused──► Stopped ─► login needed
//!                                                        └──newer tokens of another process──► Fresh
//! ```
//!
//! A live access token is used whatever a refresh says. A refresh token is out once at a time; it is sent
//! again only if its answer was lost or said nothing about it, and never after it ended or was replaced. The
//! store is asked before each refresh and before a person is: another process may have been faster.

mod backoff;
mod decide;
mod news;
mod refusals;
#[cfg(test)]
mod tests;

use crate::scope::{ScopeSet, StepUp, StepUps};
use crate::secret::Secret;
use crate::timestamp::Timestamp;
use crate::token_answer::TokenError;
use crate::tokens::Tokens;

use backoff::Backoff;
use refusals::Refusals;

/// The tokens of one authorization, and the decisions about them.
///
/// Every method returns what to do. Perform it and hand in its outcome; late and repeated news is legal and
/// changes nothing. A question to the store or a refresh that is given up is handed in, too, by
/// [`Grant::handle_store_failure`] or as [`RefreshOutcome::Lost`]: until then every caller waits for it.
///
/// ```
/// use ridethrough_oauth_core::grant::{Effect, Grant, RefreshOutcome, RepeatScope};
/// use ridethrough_oauth_core::scope::ScopeSet;
/// use ridethrough_oauth_core::tokens::Tokens;
/// use ridethrough_oauth_core::{Secret, Timestamp};
///
/// let now = Timestamp::from_unix_secs(1_800_000_000);
/// let mut old = Tokens::new(Secret::new("a1"), now);
/// old.refresh = Some(Secret::new("r1"));
/// old.expires_at = Some(now);
/// let mut grant = Grant::new(Some(old), ScopeSet::default(), RepeatScope::Yes);
/// let now = Timestamp::from_unix_secs(1_800_000_060);
///
/// // The access token has ended: take the lock, read the store.
/// let Effect::AskStore { id, .. } = grant.want_token(now) else { panic!() };
/// // Nobody was faster: refresh.
/// let Some(Effect::RefreshWith { id, .. }) = grant.handle_store(now, id, None) else { panic!() };
/// let new = Tokens::new(Secret::new("a2"), now);
/// let effect = grant.handle_refresh(now, id, RefreshOutcome::Answered(Ok(new)));
///
/// // The refresh token that the answer left out is kept.
/// let Some(Effect::StoreAndUse(tokens)) = effect else { panic!() };
/// assert_eq!(tokens.refresh, Some(Secret::new("r1")));
/// ```
#[derive(Debug)]
pub struct Grant {
    held: Option<Held>,
    /// The tokens in the store when it was last read: any others were stored by another process.
    seen: Option<Tokens>,
    work: Work,
    /// The number of the last question or refresh.
    last_id: u64,
    /// How often access tokens were refused lately.
    refused: Refusals,
    requested: ScopeSet,
    step_ups: StepUps,
    repeat_scope: RepeatScope,
}

/// The tokens that are held, and what is known about them.
#[derive(Debug)]
struct Held {
    tokens: Tokens,
    /// Whether a server refused the access token.
    is_refused: bool,
    /// Why the refresh token is not used any more.
    stopped: Option<LoginReason>,
    backoff: Backoff,
}

/// The work that is under way, at most one piece.
#[derive(Debug)]
enum Work {
    AskingStore { id: u64, then: Then },
    Idle,
    Refreshing { id: u64, scope: Option<String> },
}

/// Why the store is asked.
#[derive(Clone, Debug)]
enum Then {
    Login(LoginReason),
    Refresh,
}

/// What the caller has to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Read the tokens from the store and hand them to [`Grant::handle_store`]. With [`StoreUse::Refresh`]
    /// take the lock of this grant first, and keep it until the effect is another one than
    /// [`Effect::RefreshWith`].
    AskStore {
        /// The number of the question, for its answer.
        id: u64,
        /// Why the store is asked.
        purpose: StoreUse,
    },
    /// Report the server's refusal: a person was asked for more scope often enough.
    GiveUp,
    /// A person must log in; until then there is no token.
    LoginNeeded(LoginReason),
    /// Send this refresh token, and hand the answer to [`Grant::handle_refresh`].
    RefreshWith {
        /// The number of the refresh, for its answer.
        id: u64,
        /// The refresh token.
        refresh_token: Secret,
        /// The scope to repeat, if any.
        scope: Option<String>,
    },
    /// Store these tokens, then use their access token.
    StoreAndUse(Tokens),
    /// Send requests with this access token.
    UseToken(Secret),
    /// Wait for the work that is under way; its outcome is for all callers that wait.
    Wait,
    /// Ask again at this time: the authorization server is in trouble.
    WaitUntil(Timestamp),
}

/// Why the store is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreUse {
    /// Before a person is asked: without the lock.
    Login,
    /// Before a refresh: under the lock.
    Refresh,
}

/// Why a person must log in.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LoginReason {
    /// The server does not know the client any more.
    #[error("the authorization server does not accept this client any more: {0}")]
    ClientDead(String),
    /// The access token ended, and there is no refresh token.
    #[error("the access token ended and there is no refresh token")]
    Expired,
    /// A new access token was refused at once: more of them would not help now. After five minutes another
    /// refresh is tried, and then less and less often, at least once an hour.
    #[error("the server refuses a token that was just issued; logging in again may not help")]
    FreshTokenRefused,
    /// The refresh token ended.
    #[error("the login has ended: {0}")]
    GrantDead(String),
    /// The MCP server names another issuer than the one of the login.
    #[error("the server sends its people to another issuer")]
    IssuerMoved,
    /// The server wants more scope; ask for all of these.
    #[error("the server wants more scope: {}", .0.to_text().unwrap_or_default())]
    MoreScope(ScopeSet),
    /// There was no login yet.
    #[error("nobody has logged in yet")]
    NoGrant,
    /// The stored login cannot be used for a refresh; it is left unchanged.
    #[error("the stored login cannot be renewed: {0}")]
    NotRenewable(String),
    /// The refresh was refused again and again; the refresh token is kept.
    #[error("the authorization server refuses to renew the login: {0}")]
    RefreshRefused(String),
}

impl LoginReason {
    /// Whether this may be a fault of the server that passes: there is a token, and it was refused.
    pub const fn may_pass(&self) -> bool {
        matches!(self, Self::FreshTokenRefused | Self::IssuerMoved)
    }
}

/// Whether the granted scope is repeated in a refresh.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RepeatScope {
    /// It is left out.
    No,
    /// It is repeated. The default: Entra refuses a refresh without it, other servers allow it.
    #[default]
    Yes,
}

/// The refusal of a request with an access token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessRefusal {
    /// Another 4xx status, which some servers send for a token that has ended.
    OtherClientError,
    /// Status 401, or `invalid_token`.
    Token,
}

/// The outcome of a refresh.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RefreshOutcome {
    /// An answer, as [`crate::token_answer::read`] reads it.
    Answered(Result<Tokens, TokenError>),
    /// Nothing was sent, and the next refresh would end alike; the reason is in words for people.
    Impossible(String),
    /// There is no answer: the server may have replaced the refresh token, or never seen it.
    Lost,
    /// Tokens came, and requests cannot be sent with them: the server leaves out the identity token that is
    /// sent as the access token. The next refresh would end alike.
    Useless {
        /// The refresh token that came; the one that was sent may be worth nothing any more.
        refresh: Option<Secret>,
        /// Why, in words for people.
        words: String,
    },
}

impl RefreshOutcome {
    /// Whether it brings a refresh token, and nothing else that is of use.
    pub const fn replaces_refresh_token(&self) -> bool {
        matches!(self, Self::Useless { refresh: Some(_), .. })
    }
}

/// The state of a grant, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The access token is live, and about to be renewed if there is a refresh token.
    Due,
    /// There are no tokens.
    Empty,
    /// The access token is not used any more; a refresh will be tried.
    Expired,
    /// The access token is live.
    Fresh,
    /// A person must log in.
    LoginNeeded(LoginReason),
}

impl Grant {
    /// Creates a grant with the tokens of the store, and the scopes that were requested for them.
    pub fn new(tokens: Option<Tokens>, requested: ScopeSet, repeat_scope: RepeatScope) -> Self {
        Self {
            seen: tokens.clone(),
            held: tokens.map(Held::new),
            work: Work::Idle,
            last_id: 0,
            refused: Refusals::default(),
            requested,
            step_ups: StepUps::default(),
            repeat_scope,
        }
    }

    /// Returns what to send a request with, or what to do to get it.
    pub fn want_token(&mut self, now: Timestamp) -> Effect {
        self.decide(now)
    }

    /// Returns the tokens that are held, to be stored or shown.
    pub fn tokens(&self) -> Option<&Tokens> {
        self.held.as_ref().map(|held| &held.tokens)
    }

    /// Returns why the refresh token is not used any more, if it is not. The access token may still be live.
    pub fn stopped(&self) -> Option<&LoginReason> {
        self.held.as_ref().and_then(|held| held.stopped.as_ref())
    }

    /// Returns the state of the grant.
    pub fn phase(&self, now: Timestamp) -> Phase {
        let Some(held) = &self.held else { return Phase::Empty };
        let is_paused = !self.refused.is_pause_over(now);
        let stopped = held.stopped.as_ref();
        let stopped = stopped.filter(|why| is_paused || **why != LoginReason::FreshTokenRefused);
        match (held.is_usable(now), stopped) {
            (true, _) if held.is_due(now) => Phase::Due,
            (true, _) => Phase::Fresh,
            (false, Some(why)) => Phase::LoginNeeded(why.clone()),
            (false, None) if held.tokens.refresh.is_none() => {
                Phase::LoginNeeded(LoginReason::Expired)
            }
            (false, None) => Phase::Expired,
        }
    }

    /// Replaces all tokens by these, after a person has logged in.
    pub fn logged_in(&mut self, tokens: Tokens, requested: ScopeSet) -> Effect {
        self.held = Some(Held::new(tokens.clone()));
        self.work = Work::Idle;
        self.refused = Refusals::default();
        self.requested = requested;
        Effect::StoreAndUse(tokens)
    }

    /// Whether work is under way.
    pub const fn is_busy(&self) -> bool {
        !matches!(self.work, Work::Idle)
    }

    /// Handles that the server refused an operation, such as `tools/call add`, for its scope.
    ///
    /// The tokens are kept: they are good for everything else.
    pub fn insufficient_scope(
        &mut self,
        resource: &str,
        operation: &str,
        demanded: &ScopeSet,
    ) -> Effect {
        match self.step_ups.demand((resource, operation), &self.requested, demanded) {
            StepUp::Authorize(scopes) => Effect::LoginNeeded(LoginReason::MoreScope(scopes)),
            StepUp::GiveUp => Effect::GiveUp,
        }
    }
}
