//! What all conversations share: the servers, their lists, and who is told when lists change.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use futures_util::future::{FutureExt, ready};
use ridethrough_core::message::{Json, ListKind};
use tokio::sync::{Semaphore, watch};
use tokio::time::{Instant, timeout};

use crate::catalogue::{Catalogue, Member, Notice, Scope};
use crate::news::GatewayNews;
use crate::settings::{GatewaySettings, ListStore, ServerSettings};
use crate::upstreams::{Asker, Link, Listener, Refresh, Upstream, fetch};

/// What all conversations share.
pub(crate) struct GatewayState {
    catalogue: Mutex<Catalogue>,
    upstreams: Mutex<Vec<Arc<Upstream>>>,
    /// The version of each list, for whoever shows lists.
    pub(crate) versions: watch::Sender<BTreeMap<ListKind, u64>>,
    /// Places for processes of local servers.
    pub(crate) children: Arc<Semaphore>,
    /// Where lists are kept from one process to the next.
    lists: Option<Arc<dyn ListStore>>,
    tell: Box<dyn Fn(GatewayNews) + Send + Sync>,
    /// What people were told about the catalogue, so that it is told once.
    told: Mutex<BTreeSet<String>>,
    next: AtomicU64,
}

impl GatewayState {
    pub(crate) fn new(
        servers: Vec<ServerSettings>,
        settings: GatewaySettings,
        tell: impl Fn(GatewayNews) + Send + Sync + 'static,
    ) -> Arc<Self> {
        let state = Self {
            catalogue: Mutex::default(),
            upstreams: Mutex::default(),
            versions: watch::Sender::new(BTreeMap::new()),
            children: Arc::new(Semaphore::new(settings.children)),
            lists: settings.lists,
            tell: Box::new(tell),
            told: Mutex::default(),
            next: AtomicU64::new(1),
        };
        drop(state.set_servers(servers));
        Arc::new(state)
    }

    /// Sets the servers. Links of those that are not touched stay. Returns the servers whose links must be
    /// closed.
    pub(crate) fn set_servers(&self, servers: Vec<ServerSettings>) -> Vec<Arc<Upstream>> {
        let members = servers.iter().map(|it| Member {
            name: it.name.clone(),
            rules: it.rules.clone(),
            approved: it.approved.clone(),
        });
        self.catalogue().set_servers(members.collect());
        let mut upstreams = lock(&self.upstreams);
        let mut old = std::mem::take(&mut *upstreams);
        for settings in servers {
            self.recall(&settings);
            let place = old.iter().position(|it| {
                it.name() == &settings.name && settings.keeps_links_of(&it.settings)
            });
            upstreams.push(match place {
                Some(place) => old.remove(place),
                None => Upstream::new(settings),
            });
        }
        drop(upstreams);
        // Whoever has seen a list that is the same compares versions, and is told nothing.
        self.announce();
        old
    }

    /// Takes over what was kept of a server that is not known yet.
    fn recall(&self, server: &ServerSettings) {
        let Some(lists) = &self.lists else { return };
        for kind in ListKind::ALL {
            let is_known = self.catalogue().knows(&server.name, kind);
            if let Some(elements) = (!is_known).then(|| lists.read(server, kind)).flatten() {
                let (_, notices) = self.catalogue().replace(&server.name, kind, &elements);
                notices.into_iter().for_each(|notice| self.tell_once(notice));
            }
        }
    }

    pub(crate) fn next_number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn catalogue(&self) -> MutexGuard<'_, Catalogue> {
        lock(&self.catalogue)
    }

    /// Returns the servers that a caller sees.
    pub(crate) fn seen(&self, scope: &Scope) -> Vec<Arc<Upstream>> {
        let upstreams = lock(&self.upstreams);
        let is_seen = |it: &&Arc<Upstream>| match scope {
            Scope::All => true,
            Scope::One(server) => it.name() == server,
        };
        upstreams.iter().filter(is_seen).cloned().collect()
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
        upstream.link(asker, &self.children, LinkListener { state, upstream: of })
    }

    /// Reads a list again, or joins those who wait for it; one that was just read is not read again.
    pub(crate) fn refresh(
        self: &Arc<Self>,
        upstream: &Arc<Upstream>,
        kind: ListKind,
        asker: &Asker,
    ) -> Refresh {
        let mut lists = lock(&upstream.lists);
        let list = lists.entry(kind).or_default();
        if let Some(running) = &list.running {
            return running.clone();
        }
        let now = Instant::now();
        if let Some((at, is_good)) = list.last.filter(|(at, _)| now - *at < JUST_NOW) {
            return Refresh { began: at, done: ready(is_good).boxed().shared() };
        }
        let open = upstream.open_link(asker.conversation);
        let link = match open.map_or_else(|| self.link(upstream, asker), Ok) {
            Ok(link) => link,
            Err(why) => {
                self.sick(upstream, list.last, why.clone());
                (list.last, list.why) = (Some((now, false)), Some(why));
                return Refresh { began: now, done: ready(false).boxed().shared() };
            }
        };
        let running = self.read(upstream, kind, link);
        list.running = Some(running.clone());
        running
    }

    /// Begins to read a list, in a task of its own: whoever waits may give up, and others still want it.
    fn read(
        self: &Arc<Self>,
        upstream: &Arc<Upstream>,
        kind: ListKind,
        link: Arc<Link>,
    ) -> Refresh {
        let (state, upstream) = (self.clone(), upstream.clone());
        let reading = tokio::spawn(async move {
            let known = upstream.described().is_some();
            let fetched = fetch(&link.client, kind).await;
            if !known && fetched.is_ok() {
                upstream.describe(&link).await;
            }
            state.fetched(&upstream, kind, fetched, &link)
        });
        let done = reading.map(|done| done.unwrap_or(false)).boxed().shared();
        Refresh { began: Instant::now(), done }
    }

    fn fetched(
        self: &Arc<Self>,
        upstream: &Arc<Upstream>,
        kind: ListKind,
        fetched: Result<Vec<Json>, String>,
        link: &Arc<Link>,
    ) -> bool {
        let is_good = fetched.is_ok();
        // The list is put in its place before whoever waits hears of it.
        let why = match fetched {
            Ok(elements) => {
                let (is_changed, notices) =
                    self.catalogue().replace(upstream.name(), kind, &elements);
                notices.into_iter().for_each(|notice| self.tell_once(notice));
                if is_changed {
                    self.announce();
                }
                self.keep(upstream, kind, elements);
                None
            }
            Err(why) => Some(why),
        };
        let mut lists = lock(&upstream.lists);
        let list = lists.entry(kind).or_default();
        let before = list.last.replace((Instant::now(), is_good));
        list.why.clone_from(&why);
        list.running = None;
        if std::mem::take(&mut list.is_outdated) {
            list.running = Some(self.read(upstream, kind, link.clone()));
        }
        drop(lists);
        match why {
            Some(why) => self.sick(upstream, before, why),
            None if before.is_some_and(|(_, was_good)| !was_good) => {
                (self.tell)(GatewayNews::Back { server: upstream.name().clone() });
            }
            None => {}
        }
        is_good
    }

    /// Keeps a list for the next process, in a thread that may wait for a disk.
    fn keep(&self, upstream: &Arc<Upstream>, kind: ListKind, elements: Vec<Json>) {
        let Some(lists) = self.lists.clone() else { return };
        let upstream = upstream.clone();
        tokio::task::spawn_blocking(move || lists.keep(&upstream.settings, kind, &elements));
    }

    /// Whether a list of this server could not be read when it was last tried, or is being read for long.
    pub(crate) fn is_stale(upstream: &Upstream, kind: ListKind) -> bool {
        let lists = lock(&upstream.lists);
        let Some(list) = lists.get(&kind) else { return false };
        let is_slow = |it: &Refresh| it.began.elapsed() >= PATIENCE;
        list.running.as_ref().is_some_and(is_slow) || list.last.is_some_and(|(_, good)| !good)
    }

    /// Returns why a list of this server could not be read the last time, in one line.
    pub(crate) fn why_unread(upstream: &Upstream, kind: ListKind) -> Option<String> {
        lock(&upstream.lists).get(&kind).and_then(|list| list.why.clone())
    }

    /// Waits for the lists of all servers that a caller sees, but for none that is sick longer than a second,
    /// unless the server is alone and nothing can stand in for its list. Returns those whose lists are what was
    /// last known.
    pub(crate) async fn renew(
        self: &Arc<Self>,
        kind: ListKind,
        scope: &Scope,
        asker: &Asker,
    ) -> BTreeSet<Arc<str>> {
        let is_alone = matches!(scope, Scope::One(_));
        let waiting = self.seen(scope).into_iter().map(|upstream| {
            let can = upstream.described().is_none_or(|it| it.can(kind.capability()));
            let is_known = self.catalogue().knows(upstream.name(), kind);
            let refresh = can.then(|| self.refresh(&upstream, kind, asker));
            async move {
                let refresh = refresh?;
                let longest = if is_alone && !is_known {
                    NOTHING_TO_SHOW
                } else {
                    patience(&upstream, is_known)
                };
                let left = (refresh.began + longest).saturating_duration_since(Instant::now());
                let is_good = timeout(left, refresh.done).await.unwrap_or(false);
                (!is_good).then(|| upstream.name().clone())
            }
        });
        let waiting: Vec<_> = waiting.collect();
        futures_util::future::join_all(waiting).await.into_iter().flatten().collect()
    }

    /// The server says that a list has changed.
    fn list_changed(self: &Arc<Self>, upstream: &Arc<Upstream>, kind: ListKind) {
        if !self.catalogue().knows(upstream.name(), kind) {
            // Nobody has seen it.
            return;
        }
        let Some(link) = upstream.open_link(0) else { return };
        let mut lists = lock(&upstream.lists);
        let list = lists.entry(kind).or_default();
        if list.running.is_some() {
            list.is_outdated = true;
        } else {
            list.running = Some(self.read(upstream, kind, link));
        }
    }

    pub(crate) fn announce(&self) {
        let versions: BTreeMap<_, _> = {
            let catalogue = self.catalogue();
            ListKind::ALL.into_iter().map(|kind| (kind, catalogue.version(kind))).collect()
        };
        self.versions.send_replace(versions);
    }

    fn sick(&self, upstream: &Upstream, before: Option<(Instant, bool)>, why: String) {
        // It is told once, not at every attempt.
        if before.is_none_or(|(_, was_good)| was_good) {
            (self.tell)(GatewayNews::Sick { server: upstream.name().clone(), why });
        }
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
        futures_util::future::join_all(upstreams.iter().map(|it| it.close())).await;
    }
}

/// Hears what concerns a link as a whole.
struct LinkListener {
    state: Weak<GatewayState>,
    upstream: Weak<Upstream>,
}

impl Listener for LinkListener {
    fn list_changed(&self, kind: ListKind) {
        if let (Some(state), Some(upstream)) = (self.state.upgrade(), self.upstream.upgrade()) {
            state.list_changed(&upstream, kind);
        }
    }

    fn idle(&self, link: &Arc<Link>) {
        if let Some(upstream) = self.upstream.upgrade() {
            upstream.let_go(link);
        }
    }
}

/// How long a list waits for a server.
fn patience(upstream: &Upstream, is_known: bool) -> Duration {
    // A process that was never seen must be started first, and there is nothing to stand in for its list.
    if !is_known && upstream.settings.connect.is_local() { FIRST_START } else { PATIENCE }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No code panics in the middle of a change, so a poisoned lock is still valid.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How long a list, or a greeting, waits for a server that does not answer.
pub(crate) const PATIENCE: Duration = Duration::from_secs(1);
/// How long the list of a server that is alone waits for it, if there is nothing to show instead: as long as a
/// call waits for a server that is down, and a little longer.
const NOTHING_TO_SHOW: Duration = Duration::from_secs(40);
/// How long a list waits for a process to start, if there is nothing to show instead.
const FIRST_START: Duration = Duration::from_secs(10);
/// A list that was read within this time is not read again.
const JUST_NOW: Duration = Duration::from_secs(1);
/// A bound, in case a server invents new tools with each list.
const MOST_TOLD: usize = 1000;
