//! All sessions: how one begins, is found and is removed, and how many there may be.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, oneshot};
use tokio::time::{Instant, sleep, timeout};

use crate::backend::{Backend, Caller, Unavailable};
use crate::budget::MemoryBudget;
use crate::by_last_use::ByLastUse;
use crate::connections::Connections;
use crate::drain::Drain;
use crate::host::{HostSide, Presence, Voice};
use crate::life::Life;
use crate::news::SessionNews;
use crate::repeats::Repeats;
use crate::session::{Common, Session};
use crate::settings::Settings;
use crate::token::random_id;

/// The sessions of a server.
pub(crate) struct Sessions {
    backend: Arc<dyn Backend>,
    settings: Settings,
    tell: Arc<dyn Fn(SessionNews) + Send + Sync>,
    table: Mutex<SessionTable>,
    /// The memory for messages of conversations that clients have not read yet.
    store: Arc<MemoryBudget>,
    connections: Arc<Connections>,
    /// One permit for each conversation that may be open.
    places: Arc<Semaphore>,
    counter: AtomicU64,
    repeats: Repeats,
    pub(crate) drain: Drain,
    is_closing: AtomicBool,
}

#[derive(Default)]
struct SessionTable {
    by_id: BTreeMap<String, Arc<Session>>,
    by_last_use: ByLastUse<Arc<Session>>,
}

impl Sessions {
    pub(crate) fn new(
        backend: Arc<dyn Backend>,
        settings: Settings,
        tell: Arc<dyn Fn(SessionNews) + Send + Sync>,
        connections: Arc<Connections>,
    ) -> Self {
        Self {
            backend,
            places: Arc::new(Semaphore::new(settings.sessions)),
            repeats: Repeats::new(settings.doubt_repeat),
            settings,
            tell,
            table: Mutex::default(),
            store: Arc::default(),
            connections,
            counter: AtomicU64::new(1),
            drain: Drain::default(),
            is_closing: AtomicBool::new(false),
        }
    }

    /// Begins a session with a conversation of its own.
    pub(crate) async fn begin(
        self: &Arc<Self>,
        caller: &Caller,
    ) -> Result<Arc<Session>, Unavailable> {
        self.check_begins()?;
        let place = self.place().await?;
        let id = random_id().map_err(|error| unavailable(error.to_string(), FULL))?;
        let (outbox, letters) = mpsc::channel(1);
        let (open, closing) = oneshot::channel();
        let number = self.counter.fetch_add(1, Ordering::Relaxed);
        let (of, share, presence) = (caller.clone(), self.store.share(), Presence::default());
        let outward = (outbox, presence.clone());
        let session = Session::new(id, number, of, share, outward, self.common());
        let voice = Voice::new(session.clone(), presence);
        let host = HostSide { letters, closing, voice };
        let conversation = Some(self.backend.open(caller, host).await?);
        self.table().insert(&session);
        (self.tell)(SessionNews::Began { session: session.number });
        let (name, idle) = (self.backend.name().to_owned(), self.settings.idle);
        let life = Life { session: session.clone(), name, idle, conversation, open };
        tokio::spawn(self.clone().live(session.clone(), life, place));
        // `close` may have read the table just before this session was added.
        if self.is_closing.load(Ordering::Relaxed) {
            session.end(CLOSING);
        }
        Ok(session)
    }

    /// Returns what all sessions share.
    fn common(self: &Arc<Self>) -> Common {
        let all = Arc::downgrade(self);
        Common {
            drain: self.drain.clone(),
            doubt: self.settings.doubt,
            repeats: self.repeats.clone(),
            tell: self.tell.clone(),
            connections: self.connections.clone(),
            all: Arc::new(move || all.upgrade().map(|all| all.all()).unwrap_or_default()),
        }
    }

    /// Refuses what is new if the server is being stopped.
    pub(crate) fn check_begins(&self) -> Result<(), Unavailable> {
        if self.drain.has_begun() || self.is_closing.load(Ordering::Relaxed) {
            return Err(unavailable(CLOSING.to_owned(), FULL));
        }
        Ok(())
    }

    /// The session of this id, if it belongs to this caller; also one that is over, for a while.
    pub(crate) fn find(&self, id: &str, caller: &Caller) -> Option<Arc<Session>> {
        self.table().by_id.get(id).filter(|session| session.caller == *caller).cloned()
    }

    pub(crate) fn backend(&self) -> &dyn Backend {
        &*self.backend
    }

    /// Whether there is something at the endpoint for this caller.
    pub(crate) fn serves(&self, caller: &Caller) -> bool {
        self.backend.serves(caller)
    }

    /// Ends the sessions of callers that are not let in any more.
    pub(crate) fn end_where(&self, is_out: impl Fn(&Caller) -> bool) {
        let all = self.all();
        let out = all.iter().filter(|session| is_out(&session.caller));
        out.for_each(|session| session.end("its client is not let in any more"));
    }

    /// Whether new requests are answered.
    pub(crate) fn is_ready(&self) -> bool {
        !self.drain.has_begun() && self.backend.is_ready()
    }

    /// Whether the backend understands requests of the stateless revision.
    pub(crate) fn understands_stateless(&self) -> bool {
        self.backend.understands_stateless()
    }

    /// Returns the name of the backend, which clients may see.
    pub(crate) fn name(&self) -> &str {
        self.backend.name()
    }

    /// Whether a client of any session is at work.
    pub(crate) fn is_at_work(&self) -> bool {
        let now = Instant::now();
        self.table().by_id.values().any(|session| session.is_at_work(now))
    }

    /// Ends all sessions, and waits until their conversations have ended.
    pub(crate) async fn close(&self) {
        self.is_closing.store(true, Ordering::Relaxed);
        self.all().iter().for_each(|session| session.end(CLOSING));
        let all = u32::try_from(self.settings.sessions).expect("bounded by the settings");
        // This fails only if the semaphore is closed, which never happens.
        let _ = self.places.acquire_many(all).await;
    }

    /// Takes a place for one more session. If there is none, ends the session that was unused for longest:
    /// many clients leave without `DELETE`, and one that comes back begins a new session.
    async fn place(&self) -> Result<OwnedSemaphorePermit, Unavailable> {
        if let Ok(place) = self.places.clone().try_acquire_owned() {
            return Ok(place);
        }
        if let Some(unused) = self.unused() {
            unused.end("another client needed its place");
            if let Ok(Ok(place)) = timeout(FAREWELL, self.places.clone().acquire_owned()).await {
                return Ok(place);
            }
        }
        let most = self.settings.sessions;
        Err(unavailable(format!("all {most} sessions are taken"), FULL))
    }

    fn unused(&self) -> Option<Arc<Session>> {
        let latest = Instant::now().checked_sub(UNUSED)?;
        self.table().by_last_use.longest_unused(latest, |it| it.unused_since()).cloned()
    }

    async fn live(
        self: Arc<Self>,
        session: Arc<Session>,
        mut life: Life,
        place: OwnedSemaphorePermit,
    ) {
        life.go_on().await;
        life.bury().await;
        drop(place);
        sleep(GRAVE).await;
        self.table().remove(&session);
    }

    /// Returns all sessions, the oldest first: the order of their ids would be another in each run.
    fn all(&self) -> Vec<Arc<Session>> {
        let mut all: Vec<_> = self.table().by_id.values().cloned().collect();
        all.sort_unstable_by_key(|session| session.number);
        all
    }

    fn table(&self) -> MutexGuard<'_, SessionTable> {
        // No code panics in the middle of a change, so a poisoned lock is still valid.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SessionTable {
    fn insert(&mut self, session: &Arc<Session>) {
        self.by_id.insert(session.id.clone(), session.clone());
        self.by_last_use.insert(session.number, session.clone());
    }

    fn remove(&mut self, session: &Session) {
        self.by_id.remove(&session.id);
        self.by_last_use.remove(session.number);
    }
}

const fn unavailable(what: String, retry_after: Duration) -> Unavailable {
    Unavailable { what, retry_after }
}

const CLOSING: &str = "the server is being stopped";
/// The `Retry-After` when there is no place.
const FULL: Duration = Duration::from_secs(5);
/// How long a session must have been unused before its place is given away.
const UNUSED: Duration = Duration::from_secs(10);
/// How long to wait for the end of such a session's conversation.
const FAREWELL: Duration = Duration::from_secs(5);
/// How long the streams of a session that is over can be resumed.
const GRAVE: Duration = Duration::from_secs(60);
