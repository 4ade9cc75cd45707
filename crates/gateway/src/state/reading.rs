//! Reading the lists of servers: once for all who share a link, and for no one else.
//!
//! A conversation that has no link of its own to a server, where each has its own, reads over one of its
//! principal, so that a list costs no process.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{FutureExt, ready};
use ridethrough_server::Principal;
use ridethrough_wire::message::{Json, ListKind};
use tokio::time::{Instant, sleep, timeout};

use super::{GatewayState, PATIENCE, lock};
use crate::catalogue::{Audience, Scope, Share, View};
use crate::news::GatewayNews;
use crate::upstreams::{Asker, Link, Refresh, Upstream, fetch};

impl GatewayState {
    /// Connects to a server that was never reached for this principal, or joins those who wait for that.
    pub(crate) fn reach(self: &Arc<Self>, upstream: &Arc<Upstream>, asker: &Asker) -> Refresh {
        let mut reaching = lock(&upstream.reaching);
        if let Some(running) = reaching.get(&asker.principal) {
            return running.clone();
        }
        let began = Instant::now();
        let Ok((_, link)) = self.link_to_read(upstream, asker) else {
            return Refresh { began, done: ready(false).boxed().shared() };
        };
        let (of, principal) = (upstream.clone(), asker.principal.clone());
        let task = tokio::spawn(async move {
            of.describe(&link).await;
            lock(&of.reaching).remove(&principal);
            true
        });
        let done = task.map(|done| done.unwrap_or(false)).boxed().shared();
        let running = Refresh { began, done };
        reaching.insert(asker.principal.clone(), running.clone());
        running
    }

    /// Reads a list again, or joins those who wait for it; one that was just read is not read again.
    pub(crate) fn refresh(
        self: &Arc<Self>,
        upstream: &Arc<Upstream>,
        kind: ListKind,
        asker: &Asker,
    ) -> Refresh {
        let now = Instant::now();
        let open = upstream.link_to_read(asker);
        let owner = open.map_or_else(|| upstream.owner(asker), |(owner, _)| owner);
        // What could not be read for want of a login is read again as soon as there is one.
        let is_lasting = !upstream.has_logins || upstream.needs_login(&asker.principal);
        let is_current =
            |(at, good): &(Instant, bool)| now - *at < JUST_NOW && (*good || is_lasting);
        {
            let mut lists = lock(&upstream.lists);
            let list = lists.entry((owner, kind)).or_default();
            if let Some(running) = &list.running {
                return running.clone();
            }
            if let Some((at, is_good)) = list.last.filter(is_current) {
                return Refresh { began: at, done: ready(is_good).boxed().shared() };
            }
        }
        match self.link_to_read(upstream, asker) {
            Ok((owner, link)) => self.begin_to_read(upstream, &owner, kind, &link),
            Err(why) => {
                self.settle(upstream, &upstream.owner(asker), &asker.principal, kind, Err(why));
                Refresh { began: now, done: ready(false).boxed().shared() }
            }
        }
    }

    /// Returns a link to read over, and whose it is.
    fn link_to_read(
        self: &Arc<Self>,
        upstream: &Arc<Upstream>,
        asker: &Asker,
    ) -> Result<(Audience, Arc<Link>), String> {
        match upstream.link_to_read(asker) {
            Some(open) => Ok(open),
            None => Ok((upstream.owner(asker), self.link(upstream, asker)?)),
        }
    }

    /// Begins to read a list, if nobody does, in a task of its own: whoever waits may give up, and others
    /// still want it.
    fn begin_to_read(
        self: &Arc<Self>,
        upstream: &Arc<Upstream>,
        owner: &Audience,
        kind: ListKind,
        link: &Arc<Link>,
    ) -> Refresh {
        let mut lists = lock(&upstream.lists);
        let list = lists.entry((owner.clone(), kind)).or_default();
        if let Some(running) = &list.running {
            return running.clone();
        }
        let (state, of, link) = (self.clone(), upstream.clone(), link.clone());
        let reader = owner.clone();
        let reading = tokio::spawn(async move {
            let fetched = fetch(&link.client, kind).await;
            if of.described(&link.principal).is_none() && fetched.is_ok() {
                of.describe(&link).await;
            }
            state.fetched(&of, &reader, kind, fetched, &link)
        });
        let done = reading.map(|done| done.unwrap_or(false)).boxed().shared();
        let running = Refresh { began: Instant::now(), done };
        list.running = Some(running.clone());
        running
    }

    fn fetched(
        self: &Arc<Self>,
        upstream: &Arc<Upstream>,
        owner: &Audience,
        kind: ListKind,
        fetched: Result<Vec<Json>, String>,
        link: &Arc<Link>,
    ) -> bool {
        let is_good = fetched.is_ok();
        // The list is put in its place before whoever waits hears of it.
        self.settle(upstream, owner, &link.principal, kind, fetched);
        let is_outdated = {
            let mut lists = lock(&upstream.lists);
            let list = lists.entry((owner.clone(), kind)).or_default();
            list.running = None;
            std::mem::take(&mut list.is_outdated)
        };
        if is_outdated {
            self.read_again(upstream, owner, kind, link);
        }
        is_good
    }

    /// Records what became of a reading, for all who share the link that it was read over. What a
    /// conversation saw stands in for others of its principal that have no link.
    fn settle(
        &self,
        upstream: &Arc<Upstream>,
        owner: &Audience,
        principal: &Principal,
        kind: ListKind,
        fetched: Result<Vec<Json>, String>,
    ) {
        let wide = match upstream.share() {
            Share::All => Audience::Everybody,
            Share::Session | Share::User => Audience::Principal(principal.clone()),
        };
        let is_own = match owner {
            Audience::Conversation(number) => wide != Audience::Everybody && self.is_open(*number),
            Audience::Everybody | Audience::Principal(_) => false,
        };
        let concerned = [Some(wide.clone()), is_own.then(|| owner.clone())];
        let concerned: Vec<_> = concerned.into_iter().flatten().collect();
        if let Ok(elements) = &fetched {
            for audience in &concerned {
                self.put(upstream, audience, kind, elements);
                if kind == ListKind::Tools {
                    upstream.learn_hints(principal, audience, elements);
                }
            }
        }
        let is_good = fetched.is_ok();
        let before = {
            let mut lists = lock(&upstream.lists);
            let mut last = |audience: &Audience| {
                let list = lists.entry((audience.clone(), kind)).or_default();
                list.why = fetched.as_ref().err().cloned();
                list.last.replace((Instant::now(), is_good))
            };
            let mut before = None;
            for audience in &concerned {
                let was = last(audience);
                if *audience == wide {
                    before = was;
                }
            }
            before
        };
        // That a person must log in for one principal says nothing about the server.
        if !upstream.needs_login(principal) {
            self.tell_health(upstream, before, fetched.as_ref().err());
        }
        if let Ok(elements) = fetched {
            self.keep(upstream, wide, kind, elements);
        }
    }

    fn put(&self, upstream: &Upstream, audience: &Audience, kind: ListKind, elements: &[Json]) {
        let (is_changed, notices) =
            self.catalogue().replace(upstream.name(), audience, kind, elements);
        self.keep_names(&notices);
        notices.into_iter().for_each(|notice| self.tell_once(notice));
        if is_changed {
            self.announce(Some(audience));
        }
    }

    /// Tells people once that a server is sick, and when it is back; not at every attempt.
    fn tell_health(
        &self,
        upstream: &Upstream,
        before: Option<(Instant, bool)>,
        why: Option<&String>,
    ) {
        let was_good = before.map(|(_, was_good)| was_good);
        let server = upstream.name().clone();
        match why {
            Some(why) if was_good != Some(false) && upstream.turn_sick() => {
                (self.tell)(GatewayNews::Sick { server, why: why.clone() });
            }
            None if was_good == Some(false) && upstream.turn_well() => {
                (self.tell)(GatewayNews::Back { server });
            }
            _ => {}
        }
    }

    /// Keeps a list for the next process, in a thread that may wait for a disk.
    fn keep(
        &self,
        upstream: &Arc<Upstream>,
        audience: Audience,
        kind: ListKind,
        elements: Vec<Json>,
    ) {
        let Some(lists) = self.lists.clone() else { return };
        let upstream = upstream.clone();
        tokio::task::spawn_blocking(move || {
            lists.keep(&upstream.settings, audience.principal(), kind, &elements);
        });
    }

    /// Whether a list of this server could not be read when it was last tried, or is being read for long.
    pub(crate) fn is_stale(upstream: &Upstream, kind: ListKind, view: &View) -> bool {
        let is_slow = |it: &Refresh| it.began.elapsed() >= PATIENCE;
        let is_stale = upstream.list_state(kind, view, |list| {
            list.running.as_ref().is_some_and(is_slow) || list.last.is_some_and(|(_, good)| !good)
        });
        is_stale.unwrap_or(false)
    }

    /// Whether a list of this server could not be read, or is still being read.
    pub(crate) fn is_unread(upstream: &Upstream, kind: ListKind, view: &View) -> bool {
        let is_unread = upstream.list_state(kind, view, |list| {
            list.running.is_some() || list.last.is_none_or(|(_, good)| !good)
        });
        is_unread.unwrap_or(true)
    }

    /// Returns why a list of this server could not be read the last time, in one line.
    pub(crate) fn why_unread(upstream: &Upstream, kind: ListKind, view: &View) -> Option<String> {
        let lists = lock(&upstream.lists);
        view.audiences(upstream.share()).find_map(|it| lists.get(&(it, kind))?.why.clone())
    }

    /// Waits for the lists of all servers that a caller sees, but for none that is sick longer than a second,
    /// unless the server is alone and nothing can stand in for its list. Returns those whose lists are what was
    /// last known.
    pub(crate) async fn renew(
        self: &Arc<Self>,
        kind: ListKind,
        view: &View,
        asker: &Asker,
    ) -> BTreeSet<Arc<str>> {
        let is_alone = matches!(view.scope, Scope::One(_));
        let waiting = self.seen(view).into_iter().map(|upstream| {
            let said = upstream.described(&view.principal);
            let can = said.is_none_or(|it| it.can(kind.capability()));
            let is_known = self.catalogue().knows(upstream.name(), kind, view);
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

    /// The server says over a link that a list has changed.
    pub(super) fn list_changed(
        self: &Arc<Self>,
        upstream: &Arc<Upstream>,
        owner: &Audience,
        link: &Arc<Link>,
        kind: ListKind,
    ) {
        let of_principal = Audience::Principal(link.principal.clone());
        let seen = [owner, &of_principal];
        if !seen.iter().any(|it| self.catalogue().has_list(upstream.name(), it, kind)) {
            // No caller has seen it.
            return;
        }
        self.read_again(upstream, owner, kind, link);
    }

    /// Reads a list again over a link: at once or, if it was just read, a little later, so that a server whose lists
    /// change without end is not read without end. If it is being read, it is read once more after that.
    pub(super) fn read_again(
        self: &Arc<Self>,
        upstream: &Arc<Upstream>,
        owner: &Audience,
        kind: ListKind,
        link: &Arc<Link>,
    ) {
        let wait = {
            let mut lists = lock(&upstream.lists);
            let list = lists.entry((owner.clone(), kind)).or_default();
            if list.running.is_some() {
                list.is_outdated = true;
                return;
            }
            if list.is_planned {
                return;
            }
            let read = list.last.map(|(at, _)| at.elapsed());
            let wait = read.map_or(Duration::ZERO, |read| JUST_NOW.saturating_sub(read));
            list.is_planned = !wait.is_zero();
            wait
        };
        if wait.is_zero() {
            self.begin_to_read(upstream, owner, kind, link);
            return;
        }
        let (state, of, link) = (self.clone(), upstream.clone(), Arc::downgrade(link));
        let owner = owner.clone();
        tokio::spawn(async move {
            sleep(wait).await;
            lock(&of.lists).entry((owner.clone(), kind)).or_default().is_planned = false;
            if let Some(link) = link.upgrade() {
                state.begin_to_read(&of, &owner, kind, &link);
            }
        });
    }
}

/// How long a list waits for a server.
fn patience(upstream: &Upstream, is_known: bool) -> Duration {
    // A process that was never seen must be started first, and there is nothing to stand in for its list.
    let is_started = !is_known && upstream.settings.connect.is_local();
    if is_started { FIRST_START } else { PATIENCE }
}

/// How long the list of a server that is alone waits for it, if there is nothing to show instead: as long as a
/// call waits for a server that is down, and a little longer.
const NOTHING_TO_SHOW: Duration = Duration::from_secs(40);
/// How long a list waits for a process to start, if there is nothing to show instead.
const FIRST_START: Duration = Duration::from_secs(10);
/// A list that was read within this time is not read again.
const JUST_NOW: Duration = Duration::from_secs(1);
