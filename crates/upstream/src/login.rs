//! The login that an upstream wants: whether somebody must log in, what calls are told then, and the one login
//! that the caller may be asked for.
//!
//! ```text
//!   not needed ──a call is refused──▶ needed ──the caller can show a page──▶ under way
//!        ▲                             │  ▲                                   │
//!        ├──somebody logs in, anywhere─┘  └──declined, denied, not finished───┤
//!        └────────────────────────────────────────────────────logged in───────┘
//! ```
//!
//! No browser is opened here: bridges run in the background, several at a time. While a login is needed, no
//! request goes to the upstream.

mod page;
mod page_login;

use std::time::Duration;

use futures_util::future::BoxFuture;
use ridethrough_core::answer::words::harmless;
use ridethrough_oauth::error::LoginFailure;
use ridethrough_oauth::person::LoginPrompt;
use ridethrough_oauth::{Account, LoginReason, LoginState, LoginWatch};
use ridethrough_wire::message::{Answer, Json};
use ridethrough_wire::stateless::can_ask;
use tokio::time::Instant;

use crate::gauge::{NeededLogin, short};

use page::Consent;
pub(crate) use page::page_required;
pub(crate) use page_login::Passed;
pub use page_login::{Closing, Wait, Waiting};
use page_login::{Gate, PageLogin};

/// How people are told to log in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoginAdvice {
    /// The server as its user knows it.
    pub server: String,
    /// Where it is, without anything secret.
    pub url: String,
    /// The command that logs in.
    pub command: String,
}

/// What a login is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To be let in at all.
    Access,
    /// More scope, for calls that lack it.
    Scope,
}

/// Follows whether a login is needed, and runs the one that the caller is asked for.
pub(crate) struct LoginFlow {
    account: Account,
    advice: LoginAdvice,
    /// For a look at the state; `watching` waits for its changes.
    state: LoginWatch,
    watching: BoxFuture<'static, (LoginWatch, LoginState)>,
    access: PageLogin,
    /// Why the last login that the caller was asked for brought nothing.
    last_failure: Option<String>,
    next_offer: NextOffer,
    /// When a call may go out to see whether the upstream has changed its mind.
    look_at: Option<Instant>,
    /// More scope for calls that lack it, while no login is needed for the others. The calls wait while the person
    /// decides, and are then made again, whatever came of it: without more scope the upstream refuses them in its
    /// own words, and the error names the command.
    step_up: PageLogin,
    /// The scopes that the caller was last asked for, and when it may be asked for them again.
    last_scopes: Option<(String, NextOffer)>,
}

/// When the caller may be asked again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NextOffer {
    At(Instant),
    /// The person said no, and is not asked until another login is needed.
    Never,
    Now,
}

impl NextOffer {
    fn is_due(self, now: Instant) -> bool {
        match self {
            Self::At(at) => at <= now,
            Self::Never => false,
            Self::Now => true,
        }
    }
}

/// What happened.
#[derive(Debug)]
pub(crate) enum LoginNews {
    /// A person has logged in, or must.
    Changed,
    /// The login that the caller was asked for is over.
    Ended(Purpose, Result<(), LoginFailure>),
    /// The page to show is known.
    Page(Purpose, LoginPrompt),
}

/// Whether calls may go out.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Closed(LoginReason),
    Open,
}

impl LoginFlow {
    pub(crate) fn new(account: Account, advice: LoginAdvice) -> Self {
        Self {
            state: account.watch(),
            watching: watching(account.watch()),
            access: PageLogin::new(Purpose::Access, account.clone()),
            last_failure: None,
            next_offer: NextOffer::Now,
            look_at: None,
            step_up: PageLogin::new(Purpose::Scope, account.clone()),
            last_scopes: None,
            account,
            advice,
        }
    }

    /// Why a person must log in, if that is so.
    pub(crate) fn needed(&self) -> Option<LoginReason> {
        match self.state.state() {
            LoginState::Needed(reason) => Some(reason),
            LoginState::NotNeeded => None,
        }
    }

    /// The command that logs in.
    pub(crate) fn command(&self) -> &str {
        &self.advice.command
    }

    /// Returns the login that is needed, for people.
    pub(crate) fn snapshot(&self) -> Option<NeededLogin> {
        let reason = short(&self.needed()?.to_string());
        Some(NeededLogin { reason, command: short(&self.advice.command) })
    }

    /// Waits for what happens next. Nothing is lost if the future is dropped.
    pub(crate) async fn next(&mut self) -> LoginNews {
        tokio::select! {
            biased;
            news = self.access.next() => news,
            news = self.step_up.next() => news,
            (watch, _) = &mut self.watching => {
                self.watching = watching(watch);
                LoginNews::Changed
            }
        }
    }

    /// Takes in the state. Whether calls may go out again, or may not any more; `None` if that is as it was.
    pub(crate) fn settle(&mut self, now: Instant) -> Option<Access> {
        match (self.needed(), self.access.is_open()) {
            (Some(reason), true) => {
                self.access.set(Gate::Closed);
                self.next_offer = NextOffer::Now;
                self.look_at = reason.may_pass().then(|| now + LOOK_EVERY);
                Some(Access::Closed(reason))
            }
            (None, false) => {
                self.access.set(Gate::Open);
                self.last_failure = None;
                Some(Access::Open)
            }
            _ => None,
        }
    }

    /// Whether this call may go out although a login is needed: refusals that may be a fault of the upstream
    /// are looked at again from time to time.
    pub(crate) fn may_look(&mut self, now: Instant) -> bool {
        let is_due = self.look_at.is_some_and(|at| at <= now);
        if is_due {
            self.look_at = Some(now + LOOK_EVERY);
        }
        is_due
    }

    /// The upstream has accepted the token of a call.
    pub(crate) fn token_accepted(&self) {
        self.account.token_accepted();
    }

    /// Decides about a call that must not go out, or was refused for want of a login: it waits, or ends if this
    /// returns `None`. Lists never wait: programs begin with them, and some drop a server that keeps one waiting.
    pub(crate) fn wait(
        &mut self,
        now: Instant,
        method: &str,
        shown: Option<Wait>,
    ) -> Option<Waiting> {
        let wait = shown?;
        self.offer(now);
        self.access.wait(wait).filter(|_| can_ask(method))
    }

    /// Begins the login that the caller is asked for, unless one is under way or the person was asked lately.
    fn offer(&mut self, now: Instant) {
        let may_offer = self.next_offer.is_due(now);
        // Of a server that refuses what it has just granted, a person cannot expect more of another login.
        let would_help = self.needed().is_some_and(|why| why != LoginReason::FreshTokenRefused);
        if !self.access.is_under_way() && may_offer && would_help {
            self.access.begin();
        }
    }

    /// Lets a call that lacks scope wait for more, unless the person was asked for it lately: once for all calls
    /// that lack it.
    pub(crate) fn wait_for_scope(
        &mut self,
        now: Instant,
        method: &str,
        shown: Option<Wait>,
    ) -> Option<Waiting> {
        let wait = shown.filter(|_| can_ask(method))?;
        if !self.step_up.is_under_way() {
            let scopes = self.account.wanted_scope()?;
            let may_offer = match &self.last_scopes {
                Some((asked, next)) if *asked == scopes => next.is_due(now),
                _ => true,
            };
            if !may_offer {
                return None;
            }
            self.last_scopes = Some((scopes, NextOffer::Now));
            self.step_up.begin();
        }
        self.step_up.wait(wait)
    }

    /// Takes in the page. Returns the params of the request that shows it, and the id of both.
    pub(crate) fn page(
        &mut self,
        purpose: Purpose,
        prompt: &LoginPrompt,
    ) -> Option<(String, Json)> {
        let (login, advice) = self.at(purpose);
        login.page(prompt, advice)
    }

    /// The caller was sent the request.
    pub(crate) fn request_sent(&mut self, purpose: Purpose) {
        self.at(purpose).0.request_sent();
    }

    const fn at(&mut self, purpose: Purpose) -> (&mut PageLogin, &LoginAdvice) {
        match purpose {
            Purpose::Access => (&mut self.access, &self.advice),
            Purpose::Scope => (&mut self.step_up, &self.advice),
        }
    }

    /// Takes in an answer of the caller. Whether it was the answer to a page.
    pub(crate) fn answered(&mut self, now: Instant, id: &Json, answer: &Answer) -> bool {
        let later = NextOffer::At(now + PAUSE);
        if let Some(consent) = self.access.consent(id, answer) {
            match consent {
                Consent::Accepted => {}
                Consent::Cancelled => self.give_up(later, "the page was closed"),
                Consent::Declined => self.give_up(NextOffer::Never, DECLINED),
            }
            return true;
        }
        match self.step_up.consent(id, answer) {
            Some(Consent::Cancelled) => self.give_up_scope(later),
            Some(Consent::Declined) => self.give_up_scope(NextOffer::Never),
            Some(Consent::Accepted) => {}
            None => return false,
        }
        true
    }

    /// The person said no in another way than by an answer to the request.
    pub(crate) fn declined(&mut self) {
        if self.access.is_under_way() {
            self.give_up(NextOffer::Never, DECLINED);
        }
        if self.step_up.is_under_way() {
            self.give_up_scope(NextOffer::Never);
        }
    }

    fn give_up(&mut self, next_offer: NextOffer, why: &str) {
        self.next_offer = next_offer;
        self.last_failure = Some(why.to_owned());
        self.access.give_up(Gate::Closed);
    }

    fn give_up_scope(&mut self, next: NextOffer) {
        if let Some((_, offer)) = &mut self.last_scopes {
            *offer = next;
        }
        self.step_up.give_up(Gate::Open);
    }

    /// Takes in that the login is over which the caller was asked for. The caller is not asked again at once.
    pub(crate) fn ended(&mut self, now: Instant, failure: Option<&str>) -> Closing {
        let Some(closing) = self.access.end() else { return Closing::default() };
        if let Some(why) = failure {
            self.next_offer = NextOffer::At(now + PAUSE);
            self.last_failure = Some(why.to_owned());
            self.access.set(Gate::Closed);
        }
        closing
    }

    /// Takes in that the login for more scope is over. The caller is not asked again at once: a server may refuse
    /// what was just granted.
    pub(crate) fn scope_ended(&mut self, now: Instant) -> Closing {
        let Some(closing) = self.step_up.end() else { return Closing::default() };
        self.step_up.set(Gate::Open);
        self.give_up_scope(NextOffer::At(now + PAUSE));
        closing
    }

    /// What a call is told that cannot be made, and what people are told once.
    pub(crate) fn words(&self, reason: &LoginReason) -> String {
        let LoginAdvice { server, url, command } = &self.advice;
        let known = if server == url { String::new() } else { format!(" ({url})") };
        let failed = self.last_failure.as_deref();
        let failed = failed.map(|why| format!("; {}", harmless(why))).unwrap_or_default();
        format!(
            "`{server}`{known} needs a login: {}\n  tried: nothing was sent{failed}\n\
             hint: run `{command}` in a terminal, and do not retry before somebody has; calls work again a second \
             after that, without a restart",
            harmless(&reason.to_string())
        )
    }
}

fn watching(mut watch: LoginWatch) -> BoxFuture<'static, (LoginWatch, LoginState)> {
    Box::pin(async move {
        let state = watch.changed().await;
        (watch, state)
    })
}

/// How long the caller is not asked again after a login that brought nothing: it is not asked with each call.
const PAUSE: Duration = Duration::from_secs(60);
/// How often a call goes out while refusals may be a fault of the upstream.
const LOOK_EVERY: Duration = Duration::from_secs(60);
const DECLINED: &str = "the login was declined";
