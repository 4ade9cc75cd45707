//! The person of a process: reads the prompt, logs in somewhere, and pastes the URL of the callback.

use std::collections::VecDeque;
use std::future::pending;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ridethrough::transport::BoxFuture;
use ridethrough_oauth::person::{LoginPrompt, Person};
use url::form_urlencoded;

use super::addresses::origin;
use super::faults::AuthFault;
use super::form::{Form, read_form};
use super::grants::{Code, Issuer};
use super::process::Process;
use super::shape::AuthShape;
use super::truth::Truth;

/// The person of one process.
pub(super) struct SimulatedPerson {
    pub(super) process: Process,
    pub(super) shape: AuthShape,
    pub(super) truth: Truth,
    pub(super) script: Arc<Mutex<VecDeque<Deed>>>,
}

/// What a person will do.
#[derive(Clone, Debug)]
pub(super) enum Deed {
    /// Says no, or comes back with a code that must not be used.
    Finish { how: AuthFault, url: String },
    /// Logs in, and comes back.
    LogIn { url: String },
    /// Pastes what somebody else sent.
    PasteStranger,
    /// Takes so long.
    Wait(Duration),
}

impl SimulatedPerson {
    fn script(&self) -> MutexGuard<'_, VecDeque<Deed>> {
        self.script.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn plan(&self, url: String) -> VecDeque<Deed> {
        let mut plan = VecDeque::from([Deed::Wait(self.truth.up_to(Duration::from_secs(5)))]);
        if self.truth.happens(AuthFault::Abandoned) {
            return VecDeque::new();
        }
        if self.truth.happens(AuthFault::SlowPerson) {
            plan.push_back(Deed::Wait(self.truth.up_to(Duration::from_secs(120))));
        }
        if self.truth.happens(AuthFault::Stranger) {
            plan.push_back(Deed::PasteStranger);
        }
        plan.push_back(match self.truth.first(&[AuthFault::Denied, AuthFault::MixUp]) {
            Some(how) => Deed::Finish { how, url },
            None => Deed::LogIn { url },
        });
        plan
    }

    /// What the issuer sends the browser back with; nothing if it shows an error page.
    fn callback(&self, url: &str, how: Option<AuthFault>) -> Option<String> {
        let (address, query) = url.split_once('?')?;
        let issuer = [Issuer::One, Issuer::Two];
        let issuer =
            issuer.into_iter().find(|it| address == format!("{}/authorize", origin(*it)))?;
        let query = read_form(query);
        let mut oracle = self.truth.oracle();
        let client = query.get("client_id")?;
        if !oracle.grants(issuer).knows_client(client) {
            return None;
        }
        let mut form = form_urlencoded::Serializer::new(String::new());
        form.append_pair("state", query.get("state")?);
        if how == Some(AuthFault::Denied) {
            oracle.person_said_no(self.process.number);
            form.append_pair("error", "access_denied");
        } else {
            let code = code(&query, how == Some(AuthFault::MixUp))?;
            form.append_pair("code", &oracle.grants(issuer).code(code));
        }
        if how == Some(AuthFault::MixUp) {
            form.append_pair("iss", origin(issuer.other()));
        } else if self.shape.sends_issuer {
            form.append_pair("iss", origin(issuer));
        }
        Some(format!("{}?{}", query.get("redirect_uri")?, form.finish()))
    }

    async fn next_paste(&self) -> String {
        loop {
            let deed = self.script().pop_front();
            let Some(deed) = deed else { return pending().await };
            let pasted = match deed {
                Deed::Wait(time) => {
                    tokio::time::sleep(time).await;
                    None
                }
                Deed::PasteStranger => {
                    let grants = |issuer| self.truth.oracle().grants(issuer).code(poisoned());
                    Some(format!("http://127.0.0.1/callback?code={}&state=x", grants(Issuer::One)))
                }
                Deed::Finish { how, url } => self.callback(&url, Some(how)),
                Deed::LogIn { url } => self.callback(&url, None),
            };
            self.process.alive().await;
            if let Some(pasted) = pasted {
                return pasted;
            }
        }
    }
}

impl Person for SimulatedPerson {
    fn show<'a>(&'a self, prompt: &'a LoginPrompt) -> BoxFuture<'a, ()> {
        Box::pin(async {
            self.process.alive().await;
            self.truth.oracle().asked_to_log_in(self.process.number, &prompt.scopes);
            let plan = self.plan(prompt.url.clone());
            *self.script() = plan;
        })
    }

    fn pasted(&self) -> BoxFuture<'_, String> {
        let waiting = Waiting::begin(self);
        Box::pin(async move {
            let pasted = self.next_paste().await;
            drop(waiting);
            pasted
        })
    }
}

fn code(query: &Form, is_poisoned: bool) -> Option<Code> {
    let requested = query.get("scope").map_or("", String::as_str);
    // The scope `endless` is never granted.
    let granted: Vec<_> =
        requested.split(' ').filter(|it| ["read", "write"].contains(it)).collect();
    Some(Code {
        client: query.get("client_id")?.clone(),
        redirect_uri: query.get("redirect_uri")?.clone(),
        scope: granted.join(" "),
        is_poisoned,
    })
}

/// A code that belongs to somebody else.
fn poisoned() -> Code {
    let (client, redirect_uri, scope) = Default::default();
    Code { client, redirect_uri, scope, is_poisoned: true }
}

/// A login that waits for its person.
struct Waiting<'a>(&'a SimulatedPerson);

impl<'a> Waiting<'a> {
    fn begin(person: &'a SimulatedPerson) -> Self {
        person.truth.oracle().login_waits(person.process.number, 1);
        Self(person)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.truth.oracle().login_waits(self.0.process.number, -1);
    }
}
