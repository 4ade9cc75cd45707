//! What all conversations share: the servers, what each principal may, and who is told when lists change.

mod login_pages;
mod reading;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::thread::available_parallelism;
use std::time::Duration;

use ridethrough::policy::ReadRate;
use ridethrough_core::DoubtForm;
use ridethrough_server::{Caller, Principal};
use ridethrough_wire::message::ListKind;
use tokio::sync::{Semaphore, watch};

use crate::catalogue::{
    AccessRights, Approved, Audience, Catalogue, Member, NameStore, Notice, Rights, Share, View,
};
use crate::logins::Tickets;
use crate::news::GatewayNews;
use crate::once::RoundStore;
use crate::quota::QuotaStore;
use crate::repeats::Repeats;
use crate::sealed::RouteSealer;
use crate::settings::{GatewaySettings, ListStore, ServerSettings};
use crate::tasks::TaskStore;
use crate::upstreams::{Asker, CallbackUrl, Link, Listener, Upstream};

/// What all conversations share.
pub(crate) struct GatewayState {
    catalogue: Mutex<Catalogue>,
    upstreams: Mutex<Vec<Arc<Upstream>>>,
    /// What each principal may; `None` if all may everything.
    access: Mutex<Option<Arc<AccessRights>>>,
    everything: Arc<Rights>,
    /// How callers are told that a call of a tool may have run.
    pub(crate) doubt: DoubtForm,
    pub(crate) repeats: Repeats,
    pub(crate) quotas: Arc<dyn QuotaStore>,
    pub(crate) tasks: Arc<dyn TaskStore>,
    pub(crate) rounds: Arc<dyn RoundStore>,
    pub(crate) sealer: RouteSealer,
    /// The conversations that are open, by their numbers.
    open: Mutex<BTreeMap<u64, OpenConversation>>,
    /// Places for processes of local servers.
    pub(crate) children: Arc<Semaphore>,
    /// How fast large answers of servers are read, so that they leave time for small ones.
    read_rate: ReadRate,
    /// Where lists are kept from one process to the next.
    lists: Option<Arc<dyn ListStore>>,
    /// Where contested names are kept from one process to the next.
    names: Option<Arc<dyn NameStore>>,
    tell: Box<dyn Fn(GatewayNews) + Send + Sync>,
    /// What people were told about the catalogue, so that it is told once.
    told: Mutex<BTreeSet<String>>,
    next: AtomicU64,
    /// What people log in by, for principals.
    tickets: Mutex<Tickets>,
    /// Whether a person who logs in for a principal must show its token.
    login_needs_token: bool,
    /// Where people's browsers find the gateway, if they can.
    public_url: Arc<OnceLock<String>>,
}

/// A conversation that wants to hear of lists that change.
struct OpenConversation {
    principal: Principal,
    changed: watch::Sender<()>,
}

impl GatewayState {
    pub(crate) fn new(
        servers: Vec<ServerSettings>,
        settings: GatewaySettings,
        tell: impl Fn(GatewayNews) + Send + Sync + 'static,
    ) -> Arc<Self> {
        let cores = available_parallelism().map_or(1, usize::from);
        let state = Self {
            catalogue: Mutex::default(),
            upstreams: Mutex::default(),
            access: Mutex::new(settings.access.map(Arc::new)),
            everything: Arc::new(Rights::everything()),
            doubt: settings.doubt,
            repeats: Repeats::new(settings.doubt_repeat),
            quotas: settings.quotas,
            tasks: settings.tasks,
            rounds: settings.rounds,
            sealer: RouteSealer::new(settings.seal_key),
            open: Mutex::default(),
            children: Arc::new(Semaphore::new(settings.children)),
            read_rate: ReadRate::new(cores * BYTES_PER_SECOND, BURST),
            lists: settings.lists,
            names: settings.names,
            tell: Box::new(tell),
            told: Mutex::default(),
            next: AtomicU64::new(1),
            tickets: Mutex::default(),
            login_needs_token: settings.login_needs_token,
            public_url: Arc::default(),
        };
        if let Some(names) = &state.names {
            state.catalogue().remember(names.read());
        }
        drop(state.set_servers(servers));
        Arc::new(state)
    }

    /// Sets the servers. Links of those that are not touched stay. Returns the servers whose links must be
    /// closed.
    pub(crate) fn set_servers(&self, servers: Vec<ServerSettings>) -> Vec<Arc<Upstream>> {
        let mut upstreams = lock(&self.upstreams);
        let mut old = std::mem::take(&mut *upstreams);
        let mut members = Vec::with_capacity(servers.len());
        for settings in servers {
            let (name, rules) = (settings.name.clone(), settings.rules.clone());
            let approved = settings.approved.clone();
            let place = old.iter().position(|it| {
                it.name() == &settings.name && settings.keeps_links_of(&it.settings)
            });
            let upstream = match place {
                Some(place) => old.remove(place).recall_again(),
                None => {
                    let (callback, rate) = (self.callback(), self.read_rate.clone());
                    Upstream::new(settings, callback, rate, &self.children)
                }
            };
            members.push(Member { name, rules, share: upstream.share(), approved });
            upstreams.push(upstream);
        }
        self.catalogue().set_servers(members);
        let now: Vec<_> = upstreams.clone();
        drop(upstreams);
        let shared = now.iter().filter(|it| it.share() == Share::All);
        shared.for_each(|it| self.recall(it, &Audience::Everybody));
        let principals: BTreeSet<_> =
            lock(&self.open).values().map(|it| it.principal.clone()).collect();
        principals.iter().for_each(|it| self.recall_all(it));
        // Whoever sees what it saw before is told nothing.
        self.announce(None);
        old
    }

    /// Returns where authorization servers send browsers back to, as soon as that is known.
    fn callback(&self) -> CallbackUrl {
        CallbackUrl { public_url: self.public_url.clone(), path: login_pages::CALLBACK }
    }

    /// Sets what each principal may, from the next request on.
    pub(crate) fn set_access(&self, access: AccessRights) {
        *lock(&self.access) = Some(Arc::new(access));
        self.announce(None);
    }

    /// Returns what a caller may.
    pub(crate) fn rights(&self, caller: &Caller) -> Arc<Rights> {
        let access = lock(&self.access).clone();
        let limited = access.and_then(|access| access.limits(caller)).map(Arc::new);
        limited.unwrap_or_else(|| self.everything.clone())
    }

    /// Opens a conversation. Returns its number, and what tells of lists that may have changed.
    pub(crate) fn enter(&self, principal: &Principal) -> (u64, watch::Receiver<()>) {
        self.recall_all(principal);
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let (changed, changes) = watch::channel(());
        let conversation = OpenConversation { principal: principal.clone(), changed };
        lock(&self.open).insert(number, conversation);
        (number, changes)
    }

    /// Forgets a conversation that is over, and what only it saw.
    pub(crate) fn leave(&self, number: u64) {
        let Some(OpenConversation { principal, .. }) = lock(&self.open).remove(&number) else {
            return;
        };
        let mut gone = vec![Audience::Conversation(number)];
        {
            // Lists of principals are kept for when they come back, but not of any number of principals.
            let open = lock(&self.open);
            let is_alone = !open.values().any(|it| it.principal == principal);
            if is_alone && open.len() >= MANY {
                gone.push(Audience::Principal(principal));
            }
        }
        for audience in gone {
            self.catalogue().forget(&audience);
            self.upstreams().iter().for_each(|it| it.forget(&audience));
        }
    }

    /// Whether there is something at an endpoint for this caller.
    pub(crate) fn serves(&self, caller: &Caller) -> bool {
        let endpoint = &*caller.endpoint;
        endpoint.is_empty()
            || (self.upstream(endpoint).is_some() && self.rights(caller).sees(endpoint))
    }

    pub(crate) fn catalogue(&self) -> MutexGuard<'_, Catalogue> {
        lock(&self.catalogue)
    }

    pub(crate) fn upstreams(&self) -> Vec<Arc<Upstream>> {
        lock(&self.upstreams).clone()
    }

    /// Returns the servers that a caller sees.
    pub(crate) fn seen(&self, view: &View) -> Vec<Arc<Upstream>> {
        let upstreams = lock(&self.upstreams);
        upstreams.iter().filter(|it| view.sees(it.name())).cloned().collect()
    }

    pub(crate) fn upstream(&self, server: &str) -> Option<Arc<Upstream>> {
        lock(&self.upstreams).iter().find(|it| &**it.name() == server).cloned()
    }

    /// Returns the link for a conversation, opened if there is none.
    pub(crate) fn link(
        self: &Arc<Self>,
        upstream: &Arc<Upstream>,
        asker: &Asker,
    ) -> Result<Arc<Link>, String> {
        let (state, of) = (Arc::downgrade(self), Arc::downgrade(upstream));
        let listener = LinkListener { state, upstream: of, owner: upstream.owner(asker) };
        upstream.link(asker, listener)
    }

    /// Takes over what was kept of the servers that this principal does not share with all.
    fn recall_all(&self, principal: &Principal) {
        let own = self.upstreams().into_iter().filter(|it| it.share() != Share::All);
        own.for_each(|it| self.recall(&it, &Audience::Principal(principal.clone())));
    }

    /// Takes over what was kept of a server, if nothing is known of it.
    fn recall(&self, upstream: &Upstream, audience: &Audience) {
        let Some(lists) = &self.lists else { return };
        if !upstream.is_first_recall(audience) {
            return;
        }
        let (server, principal) = (&upstream.settings, audience.principal());
        for kind in ListKind::ALL {
            let is_known = self.catalogue().has_list(&server.name, audience, kind);
            let kept = (!is_known).then(|| lists.read(server, principal, kind)).flatten();
            if let Some(elements) = kept {
                let mut catalogue = self.catalogue();
                let (_, notices) = catalogue.replace(&server.name, audience, kind, &elements);
                drop(catalogue);
                self.keep_names(&notices);
                notices.into_iter().for_each(|notice| self.tell_once(notice));
            }
        }
    }

    /// Keeps for the next process whose names are, if a name has just become contested. That is rare, so the
    /// disk may be waited for.
    fn keep_names(&self, notices: &[Notice]) {
        let is_new = notices.iter().any(|it| matches!(it, Notice::Collision { .. }));
        if let Some(names) = self.names.as_ref().filter(|_| is_new) {
            // The lock orders the writes of two threads.
            let catalogue = self.catalogue();
            names.keep(&catalogue.contested());
        }
    }

    /// Wakes the conversations that may see another list now: those of an audience, or all.
    pub(crate) fn announce(&self, audience: Option<&Audience>) {
        let open = lock(&self.open);
        let wake = |it: &OpenConversation| it.changed.send_replace(());
        match audience {
            Some(Audience::Conversation(number)) => drop(open.get(number).map(wake)),
            Some(Audience::Principal(principal)) => {
                open.values().filter(|it| it.principal == *principal).for_each(wake);
            }
            Some(Audience::Everybody) | None => open.values().for_each(wake),
        }
    }

    fn is_open(&self, number: u64) -> bool {
        lock(&self.open).contains_key(&number)
    }

    /// Sets which definitions of a server's tools are approved.
    pub(crate) fn set_approved(&self, server: &str, approved: Option<Approved>) {
        let notices = self.catalogue().set_approved(server, approved);
        // What was approved is told each time: whoever keeps it must hear of it.
        notices.into_iter().for_each(|notice| (self.tell)(GatewayNews::Catalogue(notice)));
        self.announce(None);
    }

    /// Tells people that a repeat of a call at this server was held.
    pub(crate) fn tell_held(&self, upstream: &Upstream) {
        upstream.held_repeats.fetch_add(1, Ordering::Relaxed);
        (self.tell)(GatewayNews::Held { server: upstream.name().clone() });
    }

    fn tell_once(&self, notice: Notice) {
        let mut told = lock(&self.told);
        if told.len() < MOST_TOLD && told.insert(notice.to_string()) {
            (self.tell)(GatewayNews::Catalogue(notice));
        }
    }

    /// Closes the links to all servers.
    pub(crate) async fn close(&self) {
        let upstreams = std::mem::take(&mut *lock(&self.upstreams));
        futures_util::future::join_all(upstreams.iter().map(|it| it.links.close())).await;
    }
}

/// Hears what concerns a link as a whole.
struct LinkListener {
    state: Weak<GatewayState>,
    upstream: Weak<Upstream>,
    owner: Audience,
}

impl Listener for LinkListener {
    fn list_changed(&self, link: &Arc<Link>, kind: ListKind) {
        if let (Some(state), Some(upstream)) = (self.state.upgrade(), self.upstream.upgrade()) {
            state.list_changed(&upstream, &self.owner, link, kind);
        }
    }

    fn idle(&self, link: &Arc<Link>) {
        if let Some(upstream) = self.upstream.upgrade() {
            upstream.links.let_go(link);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No code panics in the middle of a change, so a poisoned lock is still valid.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How long a list, or a greeting, waits for a server that does not answer.
pub(crate) const PATIENCE: Duration = Duration::from_secs(1);
/// A bound, in case a server invents new tools with each list.
const MOST_TOLD: usize = 1000;
/// How many conversations are open before the lists of principals that have left are forgotten.
const MANY: usize = 1000;
/// How fast large answers are read for each core. With 200 of 1 MB in every second on two cores, calls of a polite
/// client keep within twice their usual time (H1).
const BYTES_PER_SECOND: usize = 128 << 20;
/// How much of them may come at once after a pause.
const BURST: usize = 4 << 20;
