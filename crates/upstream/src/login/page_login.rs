//! Logins at a page that the caller shows to its person, one at a time, and the calls that wait for them.

use futures_util::future::BoxFuture;
use ridethrough_oauth::error::LoginFailure;
use ridethrough_oauth::person::LoginPrompt;
use ridethrough_oauth::{Account, Status};
use ridethrough_wire::message::{Answer, Json};
use tokio::sync::{mpsc, watch};

use super::page::{self, CallersPerson, Consent};
use super::{LoginAdvice, LoginNews, Purpose};

/// What a call waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// The end of the login: the caller is sent the page, or was told of it.
    Login,
    /// The page: it is the answer to the call.
    Page,
}

/// A call that waits for a login.
#[derive(Debug)]
pub struct Waiting {
    gate: watch::Receiver<Gate>,
    wait: Wait,
}

/// How the wait of a call ended.
#[derive(Debug)]
pub(crate) enum Passed {
    GoOn,
    LoginNeeded,
    Page(Json),
}

/// What the caller must be told about a page that is over.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Closing {
    /// The id of a request that has no answer.
    pub withdrawn: Option<String>,
    /// The id of a page that the person may have been on.
    pub completed: Option<String>,
}

/// Logins for one purpose.
pub(super) struct PageLogin {
    purpose: Purpose,
    account: Account,
    running: Option<Running>,
    gate: watch::Sender<Gate>,
    /// How many logins were begun; names the next one.
    count: u64,
}

/// What calls find that want to go out.
#[derive(Clone, Debug)]
pub(super) enum Gate {
    /// A person must log in.
    Closed,
    /// Calls go out.
    Open,
    /// The caller can show this page.
    Page(Json),
    /// A login was begun; its page is not known yet.
    UnderWay,
}

/// A login that the caller was asked for, or is about to be.
struct Running {
    id: String,
    login: BoxFuture<'static, Result<Status, LoginFailure>>,
    prompts: mpsc::UnboundedReceiver<LoginPrompt>,
    request: PageRequest,
}

/// How far the caller is with the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PageRequest {
    Accepted,
    /// The caller was not sent a request: the page is in the answers to its calls, or not known yet.
    NotSent,
    Unanswered,
}

impl Waiting {
    /// Waits for the login.
    pub(crate) async fn passed(mut self) -> Passed {
        let wait = self.wait;
        let is_over = |gate: &Gate| match gate {
            Gate::Closed | Gate::Open => true,
            Gate::Page(_) => wait == Wait::Page,
            Gate::UnderWay => false,
        };
        let found = self.gate.wait_for(is_over).await.map(|gate| gate.clone());
        match found {
            Ok(Gate::Open) => Passed::GoOn,
            Ok(Gate::Page(page)) => Passed::Page(page),
            // Without an upstream there is no login.
            Ok(Gate::Closed | Gate::UnderWay) | Err(_) => Passed::LoginNeeded,
        }
    }
}

impl PageLogin {
    pub(super) fn new(purpose: Purpose, account: Account) -> Self {
        let gate = watch::Sender::new(Gate::Open);
        Self { purpose, account, running: None, gate, count: 0 }
    }

    pub(super) const fn is_under_way(&self) -> bool {
        self.running.is_some()
    }

    /// Whether calls go out without a wait.
    pub(super) fn is_open(&self) -> bool {
        matches!(*self.gate.borrow(), Gate::Open)
    }

    /// Opens or closes the gate for calls.
    pub(super) fn set(&self, gate: Gate) {
        self.gate.send_replace(gate);
    }

    /// Begins a login.
    pub(super) fn begin(&mut self) {
        self.count += 1;
        let (person, prompts) = CallersPerson::new();
        let (account, purpose) = (self.account.clone(), self.purpose);
        let name = match purpose {
            Purpose::Access => "login",
            Purpose::Scope => "scope",
        };
        self.running = Some(Running {
            id: format!("ridethrough-{name}-{}", self.count),
            login: Box::pin(async move {
                match purpose {
                    Purpose::Access => account.log_in_by(&person).await,
                    Purpose::Scope => account.step_up_by(&person).await,
                }
            }),
            prompts,
            request: PageRequest::NotSent,
        });
        self.set(Gate::UnderWay);
    }

    /// Lets a call wait for the login; `None` if none is under way.
    pub(super) fn wait(&self, wait: Wait) -> Option<Waiting> {
        self.is_under_way().then(|| Waiting { gate: self.gate.subscribe(), wait })
    }

    /// Takes in the page. Returns the params of the request that shows it, and the id of both.
    pub(super) fn page(
        &mut self,
        prompt: &LoginPrompt,
        advice: &LoginAdvice,
    ) -> Option<(String, Json)> {
        let id = self.running.as_ref()?.id.clone();
        let page = page::of(self.purpose, &id, prompt, advice);
        self.set(Gate::Page(page.clone()));
        Some((id, page))
    }

    /// The caller was sent the request.
    pub(super) const fn request_sent(&mut self) {
        if let Some(running) = &mut self.running {
            running.request = PageRequest::Unanswered;
        }
    }

    /// Returns what the person said, if this is the answer to the request that shows the page.
    pub(super) fn consent(&mut self, id: &Json, answer: &Answer) -> Option<Consent> {
        let running = self.running.as_mut()?;
        if id.string().as_deref() != Some(&running.id) {
            return None;
        }
        running.request = PageRequest::Accepted;
        Some(page::consent(answer))
    }

    /// Gives the login up, if one is under way.
    pub(super) fn give_up(&mut self, gate: Gate) {
        if self.running.take().is_some() {
            self.set(gate);
        }
    }

    /// Takes in that the login is over. Returns what the caller must be told; `None` if none was under way.
    pub(super) fn end(&mut self) -> Option<Closing> {
        let Running { id, request, .. } = self.running.take()?;
        Some(match request {
            PageRequest::Accepted => Closing { completed: Some(id), withdrawn: None },
            PageRequest::NotSent => Closing::default(),
            // A caller may open the page and never answer.
            PageRequest::Unanswered => Closing { completed: Some(id.clone()), withdrawn: Some(id) },
        })
    }

    /// Waits for what happens next. Nothing is lost if the future is dropped.
    pub(super) async fn next(&mut self) -> LoginNews {
        let Some(running) = &mut self.running else { return std::future::pending().await };
        tokio::select! {
            biased;
            Some(prompt) = running.prompts.recv() => LoginNews::Page(self.purpose, prompt),
            done = &mut running.login => LoginNews::Ended(self.purpose, done.map(drop)),
        }
    }
}
