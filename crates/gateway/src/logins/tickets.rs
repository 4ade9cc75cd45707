//! Decides which page and which callback belong to which login. Time and chance are passed in.
//!
//! ```text
//!   offered ──the page is opened──▶ shown ──"go on"──▶ under way ──callback, or too late──▶ gone
//!                                    │ ▲                   └──what is asked for has changed──▶ offered
//!                               "no" ▼ └── opened again: only the newest page counts
//!                                   gone
//! ```

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ridethrough_server::{Caller, Principal};
use sha2::{Digest, Sha256};
use tokio::time::Instant;

/// The tickets that are good.
#[derive(Default)]
pub(crate) struct Tickets {
    open: BTreeMap<TicketId, Ticket>,
}

/// What a ticket is for: a client of a principal wants to use a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LoginSubject {
    /// Whose login it is.
    pub(crate) caller: Caller,
    pub(crate) server: Arc<str>,
    /// What the client calls itself. Nothing proves it.
    pub(crate) client: String,
}

/// What a person would be asked for at the authorization server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct AskedFor {
    /// The MCP server: scheme, host and port.
    pub(crate) server: String,
    /// The host that the person logs in at.
    pub(crate) issuer_host: String,
    pub(crate) scopes: Vec<String>,
}

/// The name of a ticket, which is no secret: a digest.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TicketId(String);

/// What a page that is shown to a browser is known by.
#[derive(Clone)]
pub(crate) struct ShownPage {
    /// What the form of the page carries.
    pub(crate) form: String,
    /// What the cookie carries that came with the page.
    pub(crate) browser: String,
    /// What the person reads.
    pub(crate) asked: AskedFor,
}

struct Ticket {
    subject: LoginSubject,
    secret: String,
    ends: Instant,
    stage: Stage,
}

enum Stage {
    Offered,
    Shown(ShownPage),
    UnderWay { browser: String },
}

/// The ticket is not known: it was forged, has been used, or is too old.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoTicket;

/// Why a form is not the consent of a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoConsent {
    /// There is no such ticket.
    NoTicket,
    /// The form is not from the page that was last shown, or comes from another browser.
    OtherPage,
}

impl Tickets {
    /// Returns the ticket for this subject: the one that was offered before, if it lasts a while, or a new one
    /// with this secret. `None` if the principal has too many.
    pub(crate) fn offer(
        &mut self,
        subject: &LoginSubject,
        secret: String,
        now: Instant,
    ) -> Option<String> {
        self.open.retain(|_, it| it.ends > now);
        let is_good = |it: &&Ticket| {
            it.subject.is_same(subject)
                && !matches!(it.stage, Stage::UnderWay { .. })
                && it.ends > now + ENOUGH
        };
        if let Some(known) = self.open.values().find(is_good) {
            return Some(known.secret.clone());
        }
        let principal = subject.principal();
        let of_principal = self.open.values().filter(|it| it.subject.principal() == principal);
        if of_principal.count() >= MOST_OF_PRINCIPAL || self.open.len() >= MOST {
            return None;
        }
        let (subject, stage, ends) = (subject.clone(), Stage::Offered, now + LIFE);
        let ticket = Ticket { subject, secret: secret.clone(), ends, stage };
        self.open.insert(TicketId::of(&secret), ticket);
        Some(secret)
    }

    /// Returns what a ticket is for, if a page may be shown for it.
    pub(crate) fn subject(&self, secret: &str, now: Instant) -> Result<LoginSubject, NoTicket> {
        let ticket = self.find(secret, now)?;
        match ticket.stage {
            Stage::UnderWay { .. } => Err(NoTicket),
            Stage::Offered | Stage::Shown(_) => Ok(ticket.subject.clone()),
        }
    }

    /// Records the page that is shown. Forms of earlier pages do not count any more.
    pub(crate) fn show(
        &mut self,
        secret: &str,
        page: ShownPage,
        now: Instant,
    ) -> Result<(), NoTicket> {
        self.subject(secret, now)?;
        if let Some(ticket) = self.open.get_mut(&TicketId::of(secret)) {
            ticket.stage = Stage::Shown(page);
        }
        Ok(())
    }

    /// Takes the consent of a person: what they read, and for whom. A ticket is good for one consent.
    pub(crate) fn consent(
        &mut self,
        secret: &str,
        form: &str,
        browser: Option<&str>,
        now: Instant,
    ) -> Result<(LoginSubject, AskedFor), NoConsent> {
        let page = self.page_of(secret, form, browser, now)?;
        let ticket = self.open.get_mut(&TicketId::of(secret)).ok_or(NoConsent::NoTicket)?;
        ticket.stage = Stage::UnderWay { browser: page.browser };
        Ok((ticket.subject.clone(), page.asked))
    }

    /// Takes the refusal of a person. The ticket is gone.
    pub(crate) fn decline(
        &mut self,
        secret: &str,
        form: &str,
        browser: Option<&str>,
        now: Instant,
    ) -> Result<LoginSubject, NoConsent> {
        self.page_of(secret, form, browser, now)?;
        let ticket = self.open.remove(&TicketId::of(secret)).ok_or(NoConsent::NoTicket)?;
        Ok(ticket.subject)
    }

    /// Lets the page be shown again, because the person would be asked for something else than they read.
    pub(crate) fn put_back(&mut self, secret: &str) {
        if let Some(ticket) = self.open.get_mut(&TicketId::of(secret)) {
            ticket.stage = Stage::Offered;
        }
    }

    /// Returns the login under way that was begun in the browser with this cookie.
    pub(crate) fn under_way(
        &self,
        id: &TicketId,
        browser: &str,
        now: Instant,
    ) -> Option<LoginSubject> {
        let ticket = self.open.get(id).filter(|it| it.ends > now)?;
        match &ticket.stage {
            Stage::UnderWay { browser: began } if is_equal(began, browser) => {
                Some(ticket.subject.clone())
            }
            _ => None,
        }
    }

    /// Ends a ticket.
    pub(crate) fn remove(&mut self, id: &TicketId) {
        self.open.remove(id);
    }

    fn find(&self, secret: &str, now: Instant) -> Result<&Ticket, NoTicket> {
        self.open.get(&TicketId::of(secret)).filter(|it| it.ends > now).ok_or(NoTicket)
    }

    fn page_of(
        &self,
        secret: &str,
        form: &str,
        browser: Option<&str>,
        now: Instant,
    ) -> Result<ShownPage, NoConsent> {
        let ticket = self.find(secret, now).map_err(|NoTicket| NoConsent::NoTicket)?;
        match &ticket.stage {
            Stage::UnderWay { .. } => Err(NoConsent::NoTicket),
            Stage::Shown(page)
                if is_equal(&page.form, form)
                    && browser.is_some_and(|it| is_equal(&page.browser, it)) =>
            {
                Ok(page.clone())
            }
            Stage::Offered | Stage::Shown(_) => Err(NoConsent::OtherPage),
        }
    }
}

impl LoginSubject {
    pub(crate) const fn principal(&self) -> &Principal {
        &self.caller.principal
    }

    /// Whether a ticket for one is a ticket for the other.
    fn is_same(&self, other: &Self) -> bool {
        self.principal() == other.principal()
            && self.server == other.server
            && self.client == other.client
    }
}

impl TicketId {
    pub(crate) fn of(secret: &str) -> Self {
        let digest = Sha256::digest(secret.as_bytes());
        Self(digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect())
    }

    /// Returns the id that a text names.
    pub(crate) fn named(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl fmt::Display for TicketId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Compares without telling by the time how much is right.
fn is_equal(one: &str, other: &str) -> bool {
    Sha256::digest(one.as_bytes()) == Sha256::digest(other.as_bytes())
}

/// How long a person has from the call to the end of the login.
pub(crate) const LIFE: Duration = Duration::from_secs(600);
/// A ticket that is offered again must last for a login.
const ENOUGH: Duration = Duration::from_secs(300);
/// One principal cannot use up the tickets of all.
const MOST_OF_PRINCIPAL: usize = 64;
const MOST: usize = 10_000;

#[cfg(test)]
mod tests;
