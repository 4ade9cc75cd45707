//! The login that an upstream wants: whether somebody must log in, what calls are told then, and the one login
//! that the host may be asked for.
//!
//! ```text
//!   not needed ──a call is refused──▶ needed ──the host can show a page──▶ under way
//!        ▲                             │  ▲                                   │
//!        ├──somebody logs in, anywhere─┘  └──declined, denied, not finished───┤
//!        └────────────────────────────────────────────────────logged in───────┘
//! ```
//!
//! The bridge never opens a browser: it runs in the background, several at a time. While a login is needed, no
//! request goes to the upstream.

mod page;
mod step_up;
mod wait;

use std::time::Duration;

use futures_util::future::BoxFuture;
use ridethrough_oauth::error::LoginFailure;
use ridethrough_oauth::person::LoginPrompt;
use ridethrough_oauth::{Account, LoginReason, LoginState, LoginWatch, Status};
use ridethrough_wire::message::{Answer, Json};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use crate::harmless::harmless;

use page::HostPerson;
pub(crate) use page::page_required;
use step_up::StepUpFlow;
pub(crate) use wait::{Gate, Passed, Wait, pass};

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

/// Follows whether a login is needed, and runs the one that the host is asked for.
pub(crate) struct LoginFlow {
    account: Account,
    advice: LoginAdvice,
    /// For a look at the state; `watching` waits for its changes.
    state: LoginWatch,
    watching: BoxFuture<'static, (LoginWatch, LoginState)>,
    host_login: Option<HostLogin>,
    /// Why the last login that the host was asked for brought nothing.
    last_failure: Option<String>,
    next_offer: NextOffer,
    /// When a call may go out to see whether the upstream has changed its mind.
    look_at: Option<Instant>,
    gate: watch::Sender<Gate>,
    /// How many logins were begun; names the next one.
    count: u64,
    /// More scope for calls that lack it, while no login is needed for the others.
    pub(crate) step_up: StepUpFlow,
}

/// A login that the host was asked for, or is about to be.
struct HostLogin {
    id: String,
    running: BoxFuture<'static, Result<Status, LoginFailure>>,
    prompts: mpsc::UnboundedReceiver<LoginPrompt>,
    request: PageRequest,
}

/// How far the host is with the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PageRequest {
    Accepted,
    /// The host was not sent a request: the page is in the answers to its calls, or not known yet.
    NotSent,
    Unanswered,
}

/// When the host may be asked again.
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
    /// Somebody has logged in, or somebody must.
    Changed,
    /// The login that the host was asked for is over.
    Ended(Result<(), LoginFailure>),
    /// The page to show is known.
    Page(LoginPrompt),
    /// The login for more scope is over.
    ScopeEnded(Result<(), LoginFailure>),
    /// The page for more scope is known.
    ScopePage(LoginPrompt),
}

/// What the host must be told about a page that is over.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Closing {
    /// The id of a request that has no answer.
    pub(crate) withdrawn: Option<String>,
    /// The id of a page that the person may have been on.
    pub(crate) completed: Option<String>,
}

impl LoginFlow {
    pub(crate) fn new(account: Account, advice: LoginAdvice) -> Self {
        Self {
            step_up: StepUpFlow::new(account.clone(), advice.clone()),
            state: account.watch(),
            watching: watching(account.watch()),
            account,
            advice,
            host_login: None,
            last_failure: None,
            next_offer: NextOffer::Now,
            look_at: None,
            gate: watch::Sender::new(Gate::Open),
            count: 0,
        }
    }

    /// Why somebody must log in, if that is so.
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

    /// Waits for what happens next. Nothing is lost if the future is dropped.
    pub(crate) async fn next(&mut self) -> LoginNews {
        let host_login = async {
            match &mut self.host_login {
                None => std::future::pending().await,
                Some(login) => login.next().await,
            }
        };
        tokio::select! {
            biased;
            news = host_login => news,
            news = self.step_up.next() => news,
            (watch, _) = &mut self.watching => {
                self.watching = watching(watch);
                LoginNews::Changed
            }
        }
    }

    /// Takes in the state. Whether calls may go out again, or may not any more; `None` if that is as it was.
    pub(crate) fn settle(&mut self, now: Instant) -> Option<Access> {
        let needed = self.needed();
        let was_open = matches!(*self.gate.borrow(), Gate::Open);
        match needed {
            Some(reason) if was_open => {
                self.gate.send_replace(Gate::Closed);
                self.next_offer = NextOffer::Now;
                self.look_at = reason.may_pass().then(|| now + LOOK_EVERY);
                Some(Access::Closed(reason))
            }
            None if !was_open => {
                self.gate.send_replace(Gate::Open);
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

    /// Begins the login that the host is asked for, unless one is under way or the person was asked lately.
    pub(crate) fn offer(&mut self, now: Instant) {
        let may_offer = self.next_offer.is_due(now);
        // Of a server that refuses what it has just granted, a person cannot expect more of another login.
        let would_help = self.needed().is_some_and(|why| why != LoginReason::FreshTokenRefused);
        if self.host_login.is_some() || !may_offer || !would_help {
            return;
        }
        self.count += 1;
        let (person, prompts) = HostPerson::new();
        let account = self.account.clone();
        self.host_login = Some(HostLogin {
            id: format!("ridethrough-login-{}", self.count),
            running: Box::pin(async move { account.log_in_by(&person).await }),
            prompts,
            request: PageRequest::NotSent,
        });
        self.gate.send_replace(Gate::UnderWay);
    }

    /// How calls wait for the login; `None` if none is under way.
    pub(crate) fn under_way(&self) -> Option<watch::Receiver<Gate>> {
        self.host_login.as_ref().map(|_| self.gate.subscribe())
    }

    /// Takes in the page. Returns the params of the request that shows it, and the id of both.
    pub(crate) fn page(&mut self, prompt: &LoginPrompt) -> Option<(String, Json)> {
        let login = self.host_login.as_mut()?;
        let page = page::of(&login.id, prompt, &self.advice);
        self.gate.send_replace(Gate::Page(page.clone()));
        Some((login.id.clone(), page))
    }

    /// The host was sent the request.
    pub(crate) const fn request_sent(&mut self) {
        if let Some(login) = &mut self.host_login {
            login.request = PageRequest::Unanswered;
        }
    }

    /// Takes in an answer of the host. Whether it was the answer to the page.
    pub(crate) fn answered(&mut self, now: Instant, id: &Json, answer: &Answer) -> bool {
        let login = self.host_login.as_mut();
        let Some(consent) = login.and_then(|it| it.consent(id, answer)) else { return false };
        match consent {
            page::Consent::Accepted => {}
            page::Consent::Cancelled => {
                self.give_up(NextOffer::At(now + PAUSE), "the page was closed")
            }
            page::Consent::Declined => self.give_up(NextOffer::Never, "the login was declined"),
        }
        true
    }

    /// The person said no in another way than by an answer to the request.
    pub(crate) fn declined(&mut self) {
        if self.host_login.is_some() {
            self.give_up(NextOffer::Never, "the login was declined");
        }
    }

    fn give_up(&mut self, next_offer: NextOffer, why: &str) {
        self.host_login = None;
        self.next_offer = next_offer;
        self.last_failure = Some(why.to_owned());
        self.gate.send_replace(Gate::Closed);
    }

    /// Takes in that the login is over which the host was asked for. The host is not asked again at once.
    pub(crate) fn ended(&mut self, now: Instant, failure: Option<&str>) -> Closing {
        let Some(login) = self.host_login.take() else { return Closing::default() };
        if let Some(why) = failure {
            self.next_offer = NextOffer::At(now + PAUSE);
            self.last_failure = Some(why.to_owned());
            self.gate.send_replace(Gate::Closed);
        }
        login.closing()
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

/// Whether calls may go out.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Closed(LoginReason),
    Open,
}

impl HostLogin {
    /// Returns what the person said, if this is the answer to the request that shows the page.
    fn consent(&mut self, id: &Json, answer: &Answer) -> Option<page::Consent> {
        if id.string().as_deref() != Some(&self.id) {
            return None;
        }
        self.request = PageRequest::Accepted;
        Some(page::consent(answer))
    }

    /// What the host must be told when it is over.
    fn closing(self) -> Closing {
        match self.request {
            PageRequest::Accepted => Closing { completed: Some(self.id), withdrawn: None },
            PageRequest::NotSent => Closing::default(),
            // A host may open the page and never answer.
            PageRequest::Unanswered => {
                Closing { completed: Some(self.id.clone()), withdrawn: Some(self.id) }
            }
        }
    }

    async fn next(&mut self) -> LoginNews {
        tokio::select! {
            biased;
            Some(prompt) = self.prompts.recv() => LoginNews::Page(prompt),
            done = &mut self.running => LoginNews::Ended(done.map(drop)),
        }
    }
}

fn watching(mut watch: LoginWatch) -> BoxFuture<'static, (LoginWatch, LoginState)> {
    Box::pin(async move {
        let state = watch.changed().await;
        (watch, state)
    })
}

/// How long the host is not asked again after a login that brought nothing: it is not asked with each call.
const PAUSE: Duration = Duration::from_secs(60);
/// How often a call goes out while refusals may be a fault of the upstream.
const LOOK_EVERY: Duration = Duration::from_secs(60);
