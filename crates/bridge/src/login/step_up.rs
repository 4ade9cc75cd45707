//! More scope for calls that were refused for lack of it, by a page that the host shows.
//!
//! The calls wait while the person decides, and are then made again, whatever came of it: without more scope the
//! upstream refuses them in its own words, and the error names the command. All other calls go on.

use futures_util::FutureExt;
use ridethrough_oauth::Account;
use ridethrough_oauth::person::LoginPrompt;
use ridethrough_wire::message::{Answer, Json};
use tokio::sync::watch;
use tokio::time::Instant;

use super::page::{self, HostPerson};
use super::{Closing, Gate, HostLogin, LoginAdvice, LoginNews, NextOffer, PAUSE, PageRequest};

/// Asks the host for more scope, once for all calls that lack it.
pub(crate) struct StepUpFlow {
    account: Account,
    advice: LoginAdvice,
    host_login: Option<HostLogin>,
    /// What was asked for last, and when the host may be asked for that again.
    last: Option<(String, NextOffer)>,
    gate: watch::Sender<Gate>,
    /// How many pages there were; names the next one.
    count: u64,
}

impl StepUpFlow {
    pub(super) fn new(account: Account, advice: LoginAdvice) -> Self {
        let gate = watch::Sender::new(Gate::Open);
        Self { account, advice, host_login: None, last: None, gate, count: 0 }
    }

    /// Asks for the scopes that a call lacked, unless the person was asked for them lately. Returns how calls
    /// wait for the answer; `None` if the host is not asked.
    pub(crate) fn offer(&mut self, now: Instant) -> Option<watch::Receiver<Gate>> {
        if self.host_login.is_none() {
            let scopes = self.account.wanted_scope()?;
            let may_offer = match &self.last {
                Some((asked, next)) if *asked == scopes => next.is_due(now),
                _ => true,
            };
            if !may_offer {
                return None;
            }
            self.begin(scopes);
        }
        Some(self.gate.subscribe())
    }

    fn begin(&mut self, scopes: String) {
        self.count += 1;
        self.last = Some((scopes, NextOffer::Now));
        let (person, prompts) = HostPerson::new();
        let account = self.account.clone();
        self.host_login = Some(HostLogin {
            id: format!("ridethrough-scope-{}", self.count),
            running: async move { account.step_up_by(&person).await }.boxed(),
            prompts,
            request: PageRequest::NotSent,
        });
        self.gate.send_replace(Gate::UnderWay);
    }

    /// Waits for what happens next. Nothing is lost if the future is dropped.
    pub(super) async fn next(&mut self) -> LoginNews {
        match &mut self.host_login {
            None => std::future::pending().await,
            Some(login) => match login.next().await {
                LoginNews::Page(prompt) => LoginNews::ScopePage(prompt),
                LoginNews::Ended(done) => LoginNews::ScopeEnded(done),
                other => other,
            },
        }
    }

    /// Takes in the page. Returns the params of the request that shows it, and the id of both.
    pub(crate) fn page(&mut self, prompt: &LoginPrompt) -> Option<(String, Json)> {
        let login = self.host_login.as_mut()?;
        let page = page::for_scope(&login.id, prompt, &self.advice);
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
            page::Consent::Cancelled => self.give_up(NextOffer::At(now + PAUSE)),
            page::Consent::Declined => self.give_up(NextOffer::Never),
        }
        true
    }

    /// The person said no in another way than by an answer to the request.
    pub(crate) fn declined(&mut self) {
        if self.host_login.is_some() {
            self.give_up(NextOffer::Never);
        }
    }

    fn give_up(&mut self, next: NextOffer) {
        self.host_login = None;
        if let Some((_, offer)) = &mut self.last {
            *offer = next;
        }
        self.gate.send_replace(Gate::Open);
    }

    /// Takes in that the login is over. The host is not asked again at once: a server may refuse what was just
    /// granted.
    pub(crate) fn ended(&mut self, now: Instant) -> Closing {
        let Some(login) = self.host_login.take() else { return Closing::default() };
        self.give_up(NextOffer::At(now + PAUSE));
        login.closing()
    }
}
