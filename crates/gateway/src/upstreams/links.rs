//! The links to one server that are open: whose they are, how many there may be, and which gives way to another.
//!
//! Many clients leave without `DELETE`, and each would hold a link for as long as its session is remembered. So
//! when all are taken, the link that was unused for longest is closed, if its client is not there. Should that
//! client come back, its next call opens another link, as after a session that a server has forgotten.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;
use ridethrough_server::Principal;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::{Link, LinkPlace, MessageSender};
use crate::catalogue::Audience;

/// The links to one server.
pub(crate) struct Links {
    most: usize,
    places: Arc<Semaphore>,
    /// Places for processes, if each link is one.
    children: Option<Arc<Semaphore>>,
    open: Mutex<BTreeMap<Audience, Arc<Link>>>,
}

impl Links {
    pub(crate) fn new(most: usize, children: Option<Arc<Semaphore>>) -> Self {
        Self { most, places: Arc::new(Semaphore::new(most)), children, open: Mutex::default() }
    }

    /// Returns the link of an owner for a conversation to use, opened by `open` if there is none.
    pub(crate) fn get_or_open(
        &self,
        owner: &Audience,
        conversation: u64,
        mailbox: &MessageSender,
        open: impl FnOnce(LinkPlace) -> Result<Arc<Link>, String>,
    ) -> Result<Arc<Link>, String> {
        let mut links = self.open();
        if let Some(link) = links.get(owner) {
            link.attach(conversation, mailbox);
            return Ok(link.clone());
        }
        let place = match self.place() {
            Ok(place) => place,
            Err(full) => {
                let unused = longest_unused(&links).ok_or(full)?;
                if let Some(unused) = links.remove(&unused) {
                    close_aside(unused);
                }
                self.place()?
            }
        };
        let link = open(place)?;
        link.attach(conversation, mailbox);
        links.insert(owner.clone(), link.clone());
        Ok(link)
    }

    fn place(&self) -> Result<LinkPlace, String> {
        let most = self.most;
        let full = |_| format!("all {most} links to it are in use");
        let link = self.places.clone().try_acquire_owned().map_err(full)?;
        let full = |_| "all processes that the gateway may start are in use".to_owned();
        let child = self.children.clone().map(|it| it.try_acquire_owned());
        Ok(LinkPlace::new(link, child.transpose().map_err(full)?))
    }

    /// Returns a link that is open for this principal to read a list over, and whose it is: the owner's, or, where
    /// each conversation has its own, that of another of the principal.
    pub(crate) fn to_read(
        &self,
        owner: &Audience,
        principal: &Principal,
    ) -> Option<(Audience, Arc<Link>)> {
        let links = self.open();
        if let Some(own) = links.get(owner) {
            return Some((owner.clone(), own.clone()));
        }
        let is_own = |it: &Audience| matches!(it, Audience::Conversation(_));
        let is_alike = |it: &Audience, link: &Link| {
            is_own(it) && is_own(owner) && link.principal == *principal
        };
        let alike = links.iter().find(|(it, link)| is_alike(it, link));
        alike.map(|(it, link)| (it.clone(), link.clone()))
    }

    /// Returns all links that are open.
    pub(crate) fn all(&self) -> Vec<Arc<Link>> {
        self.open().values().cloned().collect()
    }

    /// Returns the links that were opened for a principal, and whose they are.
    pub(crate) fn of_principal(&self, principal: &Principal) -> Vec<(Audience, Arc<Link>)> {
        let links = self.open();
        let own = links.iter().filter(|(_, link)| link.principal == *principal);
        own.map(|(owner, link)| (owner.clone(), link.clone())).collect()
    }

    /// Returns the links that a conversation uses.
    pub(crate) fn used_by(&self, conversation: u64) -> Vec<Arc<Link>> {
        let links = self.open();
        links.values().filter(|link| link.is_used_by(conversation)).cloned().collect()
    }

    /// Returns the link that only this conversation uses, if there is one.
    pub(crate) fn own(&self, conversation: u64) -> Option<Arc<Link>> {
        self.open().get(&Audience::Conversation(conversation)).cloned()
    }

    /// Lets go of the links of a conversation, and closes its own.
    pub(crate) async fn release(&self, conversation: u64) {
        let own = {
            let mut links = self.open();
            links.values().for_each(|link| link.detach(conversation));
            links.remove(&Audience::Conversation(conversation))
        };
        if let Some(link) = own {
            link.client.close().await;
        }
    }

    /// Lets go of a link that nobody uses, and closes it.
    pub(crate) fn let_go(&self, link: &Arc<Link>) {
        self.open().retain(|_, it| !Arc::ptr_eq(it, link));
        close_aside(link.clone());
    }

    /// Closes all links.
    pub(crate) async fn close(&self) {
        let links = std::mem::take(&mut *self.open());
        join_all(links.into_values().map(|link| async move { link.client.close().await })).await;
    }

    fn open(&self) -> MutexGuard<'_, BTreeMap<Audience, Arc<Link>>> {
        // No code panics in the middle of a change, so a poisoned lock is still valid.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns whose link gives way to another, if one may.
fn longest_unused(links: &BTreeMap<Audience, Arc<Link>>) -> Option<Audience> {
    let latest = Instant::now().checked_sub(UNUSED)?;
    let unused = links.iter().filter_map(|(owner, link)| Some((link.unused_since()?, owner)));
    let longest = unused.filter(|(since, _)| *since <= latest).min_by_key(|(since, _)| *since);
    longest.map(|(_, owner)| owner.clone())
}

/// Closes a link in a task of its own. Its place is free as soon as nobody holds it.
fn close_aside(link: Arc<Link>) {
    let client = link.client.clone();
    tokio::spawn(async move { client.close().await });
}

/// How long a link must have been unused before it gives way: longer than an agent usually thinks, because what
/// the server kept for it is lost.
const UNUSED: Duration = Duration::from_secs(60);
