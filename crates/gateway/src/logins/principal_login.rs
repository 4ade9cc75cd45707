//! The login of one principal at one server: its account, and the one login that is under way.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::Uri;
use ridethrough::ClientBuilder;
use ridethrough_core::answer::words::harmless;
use ridethrough_oauth::error::{LoginFailure, with_causes};
use ridethrough_oauth::person::LoginPrompt;
use ridethrough_oauth::{Account, ClientOutlook, LoginReason, LoginState, OAuth};
use ridethrough_server::Principal;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::AbortHandle;
use tokio::time::timeout;

use super::person::{BroughtBack, BrowserPerson, CallbackEnd};
use super::tickets::{AskedFor, LIFE, TicketId};

/// The login of a principal at a server.
pub(crate) struct PrincipalLogin {
    pub(crate) account: Account,
    /// The server, without anything secret.
    server: String,
    running: Mutex<Option<Arc<Running>>>,
    /// Why the last login brought nothing.
    failed: watch::Sender<Option<String>>,
}

/// A login under way, whose person is at the authorization server.
struct Running {
    ticket: TicketId,
    callbacks: mpsc::Sender<BroughtBack>,
    prompts: tokio::sync::Mutex<mpsc::UnboundedReceiver<LoginPrompt>>,
    ended: watch::Receiver<Option<Result<(), String>>>,
    task: AbortHandle,
}

impl PrincipalLogin {
    /// Creates the login of this principal, which the store keeps apart from all others.
    pub(crate) fn new(
        oauth: OAuth,
        builder: &ClientBuilder,
        principal: &Principal,
        callback_url: Option<&str>,
    ) -> Result<Self, String> {
        let mut oauth = oauth.profile(profile(principal)).login_within(LIFE);
        if let Some(url) = callback_url {
            oauth = oauth.callback_url(url);
        }
        let account = oauth.account(builder).map_err(|error| with_causes(&error))?;
        let server = builder.url().and_then(origin).unwrap_or_default();
        let failed = watch::Sender::new(None);
        Ok(Self { account, server, running: Mutex::default(), failed })
    }

    /// Why a person must log in, if a call has found that one must.
    pub(crate) fn needed(&self) -> Option<LoginReason> {
        match self.account.watch().state() {
            LoginState::Needed(reason) => Some(reason),
            LoginState::NotNeeded => None,
        }
    }

    /// Finds out what a person would be asked for. Nothing is registered anywhere.
    pub(crate) async fn asked_for(&self) -> Result<AskedFor, String> {
        let outlook = self.account.outlook(None).await;
        let found = outlook.found.map_err(|error| with_causes(&error))?;
        if let Some(ClientOutlook::Needed) = outlook.client {
            let issuer = found.server.issuer;
            return Err(with_causes(&LoginFailure::ClientIdNeeded { issuer }));
        }
        let host = found.server.authorization_endpoint.map(|url| url.host().to_owned());
        let issuer_host = host.ok_or("its authorization server has no page to log in at")?;
        let scopes = outlook.scopes.iter().map(str::to_owned).collect();
        Ok(AskedFor { server: self.server.clone(), issuer_host, scopes })
    }

    /// Begins the login that a person has consented to, in place of one that is under way. Returns where the
    /// browser must go; `done` is called after a login that succeeds.
    pub(crate) async fn begin(
        self: &Arc<Self>,
        ticket: TicketId,
        asked: &AskedFor,
        done: impl FnOnce() + Send + 'static,
    ) -> Result<Begun, String> {
        self.give_up();
        let (person, mut side) = BrowserPerson::new();
        let (ending, mut ended) = watch::channel(None);
        let this = self.clone();
        let task = tokio::spawn(async move {
            let end = this.account.log_in_by(&person).await;
            let end = end.map(drop).map_err(|error| harmless(&with_causes(&error)));
            this.failed.send_replace(end.as_ref().err().cloned());
            let is_done = end.is_ok();
            ending.send_replace(Some(end));
            if is_done {
                done();
            }
        });
        let task = task.abort_handle();
        let prompt = tokio::select! {
            Some(prompt) = side.prompts.recv() => prompt,
            end = ended.wait_for(Option::is_some) => {
                let end = end.ok().and_then(|it| it.clone());
                let why = end.and_then(Result::err);
                return Err(why.unwrap_or_else(|| "it ended before it began".to_owned()));
            }
            () = tokio::time::sleep(PATIENCE) => {
                task.abort();
                return Err("its authorization server does not answer".to_owned());
            }
        };
        if self.shown(&prompt) != *asked {
            task.abort();
            return Ok(Begun::AsksForOther);
        }
        let (callbacks, prompts) = (side.callbacks, tokio::sync::Mutex::new(side.prompts));
        let running = Running { ticket, callbacks, prompts, ended, task };
        *self.running() = Some(Arc::new(running));
        Ok(Begun::GoTo(prompt.url))
    }

    /// Brings the URL of a callback to the login that this ticket began.
    pub(crate) async fn called_back(&self, ticket: &TicketId, url: String) -> CallbackEnd {
        let running = self.running().clone().filter(|it| it.ticket == *ticket);
        let Some(running) = running else { return CallbackEnd::NotOurs };
        let (ignored, is_ignored) = oneshot::channel();
        if running.callbacks.send(BroughtBack { url, ignored }).await.is_err() {
            return CallbackEnd::NotOurs;
        }
        let mut ended = running.ended.clone();
        let mut prompts = running.prompts.lock().await;
        let waiting = async {
            tokio::select! {
                biased;
                Ok(()) = is_ignored => CallbackEnd::NotOurs,
                Some(prompt) = prompts.recv() => CallbackEnd::Again(prompt.url),
                end = ended.wait_for(Option::is_some) => match end.ok().and_then(|it| it.clone()) {
                    Some(Ok(())) => CallbackEnd::Done,
                    Some(Err(why)) => CallbackEnd::Failed(why),
                    None => CallbackEnd::Failed("another login was begun".to_owned()),
                },
            }
        };
        let late = || CallbackEnd::Failed("its authorization server does not answer".to_owned());
        timeout(PATIENCE, waiting).await.unwrap_or_else(|_| late())
    }

    /// Waits until no login is needed, here or in another process; or returns why one has failed.
    pub(crate) async fn logged_in(&self) -> Result<(), String> {
        let mut watch = self.account.watch();
        let mut failed = self.failed.subscribe();
        while let LoginState::Needed(_) = watch.state() {
            tokio::select! {
                biased;
                _ = watch.changed() => {}
                // The sender is ours.
                _ = failed.changed() => {
                    if let Some(why) = failed.borrow_and_update().clone() {
                        return Err(why);
                    }
                }
            }
        }
        Ok(())
    }

    /// A person said no.
    pub(crate) fn declined(&self) {
        self.failed.send_replace(Some("the person at the gateway's page said no".to_owned()));
    }

    fn give_up(&self) {
        if let Some(running) = self.running().take() {
            running.task.abort();
        }
    }

    /// What a person is asked for, as a page shows it.
    fn shown(&self, prompt: &LoginPrompt) -> AskedFor {
        let scopes = prompt.scopes.iter().map(str::to_owned).collect();
        AskedFor { server: self.server.clone(), issuer_host: prompt.issuer_host.clone(), scopes }
    }

    fn running(&self) -> MutexGuard<'_, Option<Arc<Running>>> {
        // No code panics in the middle of a change, so a poisoned lock is still valid.
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What became of the beginning of a login.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Begun {
    /// The person would be asked for something else than they read. The login was given up.
    AsksForOther,
    /// The browser must go to this URL.
    GoTo(String),
}

/// Returns the name of a principal's account in the store. No name of a principal makes it that of the owner.
pub(crate) fn profile(principal: &Principal) -> String {
    let mark = if principal.is_special() { '-' } else { ':' };
    format!("gateway{mark}{}", principal.name())
}

/// Returns a URL without user, path and query, any of which may hold a secret.
fn origin(url: &str) -> Option<String> {
    let uri: Uri = url.parse().ok()?;
    let host = uri.host()?;
    let port = uri.port().map(|port| format!(":{port}")).unwrap_or_default();
    Some(format!("{}://{host}{port}", uri.scheme_str()?))
}

/// How long a browser waits for an authorization server.
const PATIENCE: Duration = Duration::from_secs(30);
