//! The results that a server allowed the client to keep, until their time is over or they have changed.
//!
//! The cache never asks and never waits. A result that was on its way when a change was announced is not
//! kept, because it may be from before the change.
//!
//! The pages of a list belong together. When the first page is fetched again, the later ones are dropped: the
//! machine learns the tools from the pages that arrive, and begins with the first.

mod key;
#[cfg(test)]
mod tests;

pub(super) use key::Key;

use std::collections::BTreeMap;
use std::time::Duration;

use ridethrough_core::{Era, Event, ExchangeId, Lifetime, Moment, Scope};
use ridethrough_wire::message::Json;
use ridethrough_wire::message::notification;
use serde::Deserialize;

use crate::cache::Cache;

use key::Of;

/// The results that are kept for one client.
pub(super) struct ResponseCache {
    settings: Cache,
    entries: BTreeMap<Key, CacheEntry>,
    /// The size of all entries, keys included.
    bytes: usize,
    /// The number of the next entry; lower numbers are older.
    next: u64,
    /// The calls that are out and whose result may be kept.
    awaited: BTreeMap<ExchangeId, OpenCall>,
    /// How often the credentials have changed.
    credentials: u64,
    /// How long the computer has slept in all: the link's clock stands still meanwhile, the server's does
    /// not.
    asleep: Duration,
}

struct CacheEntry {
    number: u64,
    result: Json,
    size: usize,
    arrived: Moment,
    lifetime: Lifetime,
}

/// A kept result that is returned again.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct KeptResult {
    pub(super) result: Json,
    pub(super) age: Duration,
}

/// Which results a call accepts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Accepts {
    /// Only a new one from the server.
    Fresh,
    /// A kept one, too.
    #[default]
    Kept,
}

/// A call that is out.
#[derive(Debug)]
pub(super) struct OpenCall {
    pub(super) key: Key,
    accepts: Accepts,
    /// Whether it has headers of its own, which may change the result.
    is_apart: bool,
    /// Whether a change was announced meanwhile.
    is_void: bool,
    credentials: u64,
}

impl ResponseCache {
    pub(super) const fn new(settings: Cache) -> Self {
        Self {
            settings,
            entries: BTreeMap::new(),
            bytes: 0,
            next: 0,
            awaited: BTreeMap::new(),
            credentials: 0,
            asleep: Duration::ZERO,
        }
    }

    pub(super) const fn is_off(&self) -> bool {
        self.settings.is_off()
    }

    /// Returns a kept result whose time is not over.
    pub(super) fn fresh(&self, now: Moment, key: &Key) -> Option<KeptResult> {
        let (age, entry) = self.aged(now, key)?;
        (age < entry.lifetime.time).then(|| KeptResult { result: entry.result.clone(), age })
    }

    /// Returns a kept result whose time is over, but not for too long.
    pub(super) fn stale(&self, now: Moment, awaited: &OpenCall) -> Option<KeptResult> {
        if awaited.is_apart || awaited.accepts == Accepts::Fresh {
            return None;
        }
        let (age, entry) = self.aged(now, &awaited.key)?;
        let end = entry.lifetime.time;
        let is_stale = (end..end.saturating_add(self.settings.stale_if_error)).contains(&age);
        is_stale.then(|| KeptResult { result: entry.result.clone(), age })
    }

    /// Notes that a call goes out whose result may be kept.
    pub(super) fn expect(
        &mut self,
        exchange: ExchangeId,
        key: Key,
        accepts: Accepts,
        is_apart: bool,
    ) {
        let credentials = self.credentials;
        let awaited = OpenCall { key, accepts, is_apart, is_void: false, credentials };
        self.awaited.insert(exchange, awaited);
    }

    /// Takes out a call that is over.
    pub(super) fn ended(&mut self, exchange: ExchangeId) -> Option<OpenCall> {
        self.awaited.remove(&exchange)
    }

    /// Drops what was kept for a call, because the server answered it with an error.
    pub(super) fn refuted(&mut self, awaited: &OpenCall) {
        if !awaited.is_apart {
            self.remove(&awaited.key);
        }
    }

    /// Keeps the result of a call for the time that the server allows.
    pub(super) fn take_in(
        &mut self,
        now: Moment,
        awaited: OpenCall,
        result: &Json,
        lifetime: Option<Lifetime>,
    ) {
        let OpenCall { key, is_apart, is_void, credentials, .. } = awaited;
        if key.of.is_list() && !key.is_later_page {
            self.forget(|each| each.of == key.of && (each.is_later_page || is_apart));
        }
        if is_apart {
            return;
        }
        self.remove(&key);
        let is_ours = |it: &Lifetime| it.scope == Scope::Public || credentials == self.credentials;
        let size = key.size() + size_of::<CacheEntry>() + result.as_bytes().len();
        let fits = !self.is_off() && size <= self.settings.most_bytes;
        if let Some(lifetime) = lifetime.filter(|it| fits && !is_void && is_ours(it)) {
            self.make_room(size);
            self.next += 1;
            let (number, arrived) = (self.next, now + self.asleep);
            self.bytes += size;
            let entry = CacheEntry { number, result: result.clone(), size, arrived, lifetime };
            self.entries.insert(key, entry);
        }
    }

    /// Drops what a notification of the server announces as changed.
    pub(super) fn notified(&mut self, method: &str, params: Option<&Json>) {
        #[derive(Deserialize)]
        struct Updated {
            uri: String,
        }

        match method {
            notification::PROMPTS_CHANGED => self.forget(|key| key.of == Of::Prompts),
            notification::RESOURCES_CHANGED => {
                self.forget(|key| matches!(key.of, Of::Resources | Of::Templates));
            }
            notification::RESOURCE_UPDATED => {
                let updated = params.and_then(|params| params.read::<Updated>());
                match updated {
                    Some(Updated { uri }) => self.forget(|key| key.reads(&uri)),
                    None => self.forget(|key| key.of == Of::Resource),
                }
            }
            notification::TOOLS_CHANGED => self.forget(|key| key.of == Of::Tools),
            _ => {}
        }
    }

    /// Drops what an event on the link makes invalid.
    pub(super) fn happened(&mut self, event: &Event) {
        match event {
            Event::CredentialsFailed { .. } => self.forget_private(),
            // Another server or another session. An interruption of the standing stream does not count: the
            // machine itself reports what may have been missed, as notifications of the server.
            Event::EraFound { era: Era::Legacy }
            | Event::ServerChanged
            | Event::SessionLost { .. } => self.forget(|_| true),
            // The answer that shows the change is on its way, and is no older than this event.
            Event::ToolsChanged => self.remove_where(|key, _| key.of == Of::Tools),
            _ => {}
        }
    }

    /// Drops private results, because the client sends other credentials from now on, perhaps of another
    /// person.
    pub(super) fn credentials_changed(&mut self) {
        self.credentials += 1;
        self.forget_private();
    }

    /// Adds a sleep of the computer to the age of all entries.
    pub(super) fn slept(&mut self, gap: Duration) {
        self.asleep = self.asleep.saturating_add(gap);
    }

    /// Drops all results of this method.
    pub(super) fn forget_method(&mut self, method: &str) {
        if let Some(of) = Of::method(method) {
            self.forget(|key| key.of == of);
        }
    }

    /// Drops all results.
    pub(super) fn forget_all(&mut self) {
        self.forget(|_| true);
    }

    /// Keeps nothing from now on.
    pub(super) fn close(&mut self) {
        self.settings = Cache::off();
        self.forget_all();
    }

    fn forget(&mut self, is_meant: impl Fn(&Key) -> bool) {
        for awaited in self.awaited.values_mut() {
            awaited.is_void |= is_meant(&awaited.key);
        }
        self.remove_where(|key, _| is_meant(key));
    }

    fn forget_private(&mut self) {
        self.remove_where(|_, entry| entry.lifetime.scope == Scope::Private);
    }

    fn aged(&self, now: Moment, key: &Key) -> Option<(Duration, &CacheEntry)> {
        let entry = self.entries.get(key)?;
        Some(((now + self.asleep).since(entry.arrived), entry))
    }

    fn make_room(&mut self, size: usize) {
        while self.entries.len() >= self.settings.most_entries
            || self.bytes.saturating_add(size) > self.settings.most_bytes
        {
            let oldest = self.entries.values().map(|entry| entry.number).min();
            let Some(oldest) = oldest else { return };
            self.remove_where(|_, entry| entry.number == oldest);
        }
    }

    fn remove(&mut self, key: &Key) {
        if let Some(entry) = self.entries.remove(key) {
            self.bytes -= entry.size;
        }
    }

    fn remove_where(&mut self, is_meant: impl Fn(&Key, &CacheEntry) -> bool) {
        let bytes = &mut self.bytes;
        self.entries.retain(|key, entry| {
            let is_kept = !is_meant(key, entry);
            *bytes -= if is_kept { 0 } else { entry.size };
            is_kept
        });
    }
}
