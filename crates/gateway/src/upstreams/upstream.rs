//! One server: its links, its places, what it said of itself, and its lists being read.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ridethrough::error::{CallError, Kind};
use ridethrough::server::{Identity, Server};
use ridethrough::{Client, Era, Error};
use ridethrough_core::message::{Json, ListKind};
use ridethrough_server::Principal;
use serde_json::json;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::Instant;

use super::{Bulkhead, FromServer, Link, LinkSettings, Listener, Refresh};
use crate::settings::{ServerSettings, Share};

/// One server.
pub(crate) struct Upstream {
    pub(crate) settings: ServerSettings,
    pub(crate) bulkhead: Bulkhead,
    places: Arc<Semaphore>,
    links: Mutex<BTreeMap<LinkOwner, Arc<Link>>>,
    described: Mutex<Option<Server>>,
    /// When it last refused the credentials, and with what.
    refused: Mutex<Option<(Instant, CallError)>>,
    pub(crate) lists: Mutex<BTreeMap<ListKind, ListState>>,
}

/// Whose a link is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum LinkOwner {
    Conversation(u64),
    Everybody,
    Principal(Principal),
}

/// What is known about the reading of a list.
#[derive(Default)]
pub(crate) struct ListState {
    pub(crate) running: Option<Refresh>,
    /// When it was last read, and whether that succeeded.
    pub(crate) last: Option<(Instant, bool)>,
    /// Why it could not be read the last time, if it could not.
    pub(crate) why: Option<String>,
    /// Whether it must be read again when the running request is over.
    pub(crate) is_outdated: bool,
}

/// A conversation that uses links.
pub(crate) struct Asker {
    pub(crate) conversation: u64,
    pub(crate) principal: Principal,
    /// What its client says of itself.
    pub(crate) identity: Option<Identity>,
    /// The level from which its client wants log messages.
    pub(crate) level: Option<Json>,
    pub(crate) mailbox: mpsc::Sender<FromServer>,
}

impl Upstream {
    pub(crate) fn new(settings: ServerSettings) -> Arc<Self> {
        Arc::new(Self {
            bulkhead: Bulkhead::new(settings.places, settings.queue),
            places: Arc::new(Semaphore::new(settings.links)),
            settings,
            links: Mutex::default(),
            described: Mutex::default(),
            refused: Mutex::default(),
            lists: Mutex::default(),
        })
    }

    pub(crate) fn name(&self) -> &Arc<str> {
        &self.settings.name
    }

    /// Returns what the server said of itself, if it was ever reached.
    pub(crate) fn described(&self) -> Option<Server> {
        lock(&self.described).clone()
    }

    /// Connects, if that was never done, and keeps what the server says of itself.
    pub(crate) async fn describe(&self, link: &Link) {
        match link.client.connect().await {
            Ok(server) => {
                *lock(&self.described) = Some(server);
                *lock(&self.refused) = None;
            }
            Err(Error::Call(error)) if error.kind == Kind::Unauthorized => {
                *lock(&self.refused) = Some((Instant::now(), error));
            }
            // It may be well the next time.
            Err(_) => {}
        }
    }

    /// Returns with what the server has just refused the credentials, if it has. For a moment it need not be
    /// asked again, and neither need a person who did not log in.
    pub(crate) fn refused(&self) -> Option<CallError> {
        let refused = lock(&self.refused);
        refused.as_ref().filter(|(at, _)| at.elapsed() < MOMENT).map(|(_, error)| error.clone())
    }

    /// Returns the link for a conversation. It is opened if there is none, which does not wait: a client
    /// connects with its first call.
    pub(crate) fn link(
        self: &Arc<Self>,
        asker: &Asker,
        children: &Arc<Semaphore>,
        listener: impl Listener,
    ) -> Result<Arc<Link>, String> {
        let owner = match self.settings.share {
            Share::All => LinkOwner::Everybody,
            Share::Session => LinkOwner::Conversation(asker.conversation),
            Share::User => LinkOwner::Principal(asker.principal.clone()),
        };
        let mut links = lock(&self.links);
        if let Some(link) = links.get(&owner) {
            link.attach(asker.conversation, &asker.mailbox);
            return Ok(link.clone());
        }
        let is_own = matches!(owner, LinkOwner::Conversation(_));
        let places = self.take_places(children)?;
        let client = self.client(asker, is_own)?;
        let idle = (!is_own).then_some(self.settings.idle);
        let link_settings = LinkSettings { server: self.name().clone(), places, idle };
        let link = Link::open(client, link_settings, listener);
        link.attach(asker.conversation, &asker.mailbox);
        link.client.keep_connected();
        if let Some(level) = asker.level.as_ref().filter(|_| is_own) {
            set_level(&link, level);
        }
        links.insert(owner, link.clone());
        Ok(link)
    }

    fn take_places(&self, children: &Arc<Semaphore>) -> Result<Vec<OwnedSemaphorePermit>, String> {
        let most = self.settings.links;
        let full = |_| format!("all {most} links to it are in use");
        let mut places = vec![self.places.clone().try_acquire_owned().map_err(full)?];
        if self.settings.connect.is_local() {
            let full = |_| "all processes that the gateway may start are in use".to_owned();
            places.push(children.clone().try_acquire_owned().map_err(full)?);
        }
        Ok(places)
    }

    /// Makes a client. One that is shared cannot know what its callers can do, so it offers what they are
    /// asked by call; one of a single conversation says what the conversation's client says.
    fn client(&self, asker: &Asker, is_own: bool) -> Result<Client, String> {
        // Servers of both eras ask questions and log only in a session.
        let builder = self.settings.connect.builder()?.prefer_era(Era::Legacy);
        let builder = if is_own {
            builder
        } else {
            let form_and_url = json!({ "form": {}, "url": {} });
            builder.capabilities(json!({ "elicitation": form_and_url, "sampling": {} }))
        };
        let client = builder.build().map_err(|error| error.to_string().replace('\n', " "))?;
        if let Some(identity) = asker.identity.as_ref().filter(|_| is_own) {
            client.set_identity(identity.clone());
        }
        Ok(client)
    }

    /// Returns a link to read a list over: the conversation's own, or any that is open.
    pub(crate) fn open_link(&self, conversation: u64) -> Option<Arc<Link>> {
        let links = lock(&self.links);
        let own = links.values().find(|link| link.is_used_by(conversation));
        own.or_else(|| links.values().next_back()).cloned()
    }

    /// Returns the links that a conversation uses.
    pub(crate) fn links_of(&self, conversation: u64) -> Vec<Arc<Link>> {
        let links = lock(&self.links);
        links.values().filter(|link| link.is_used_by(conversation)).cloned().collect()
    }

    /// Returns the link that only this conversation uses, if there is one.
    pub(crate) fn own_link(&self, conversation: u64) -> Option<Arc<Link>> {
        lock(&self.links).get(&LinkOwner::Conversation(conversation)).cloned()
    }

    /// Lets go of the links of a conversation, and closes its own.
    pub(crate) async fn release(&self, conversation: u64) {
        let own = {
            let mut links = lock(&self.links);
            links.values().for_each(|link| link.detach(conversation));
            links.remove(&LinkOwner::Conversation(conversation))
        };
        if let Some(link) = own {
            link.client.close().await;
        }
    }

    /// Lets go of a link that nobody uses, and closes it.
    pub(crate) fn let_go(&self, link: &Arc<Link>) {
        lock(&self.links).retain(|_, it| !Arc::ptr_eq(it, link));
        let client = link.client.clone();
        tokio::spawn(async move { client.close().await });
    }

    /// Closes all links.
    pub(crate) async fn close(&self) {
        let links = std::mem::take(&mut *lock(&self.links));
        let closing = links.into_values().map(|link| async move { link.client.close().await });
        futures_util::future::join_all(closing).await;
    }
}

/// Tells a server the level of log messages, without waiting for it. A server without a log refuses, which
/// does not matter.
pub(crate) fn set_level(link: &Arc<Link>, level: &Json) {
    let params = Json::empty_object().with_members([("level".to_owned(), level.clone())]);
    let told = link.client.request("logging/setLevel", params).timeout(TELLING);
    let told = told.answer();
    tokio::spawn(async move { drop(told.await) });
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No code panics in the middle of a change, so a poisoned lock is still valid.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How long refused credentials are not tried again for another greeting.
const MOMENT: Duration = Duration::from_secs(10);
const TELLING: Duration = Duration::from_secs(30);
