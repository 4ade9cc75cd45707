//! All sessions: how one begins, is found and is removed, and how many there may be.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep, timeout};

use crate::budget::MemoryBudget;
use crate::child::Start;
use crate::connections::Connections;
use crate::fault::Over;
use crate::life::{Ears, Life};
use crate::news::News;
use crate::pace::Pace;
use crate::reserve::Reserve;
use crate::session::Session;
use crate::settings::Settings;
use crate::token::random_hex;

/// The sessions of an exposed server.
pub(crate) struct Sessions {
    start: Box<dyn Start>,
    settings: Settings,
    tell: Arc<dyn Fn(News) + Send + Sync>,
    table: Mutex<BTreeMap<String, Arc<Session>>>,
    pace: Mutex<Pace>,
    /// The memory for what children wrote and clients have not read yet.
    store: Arc<MemoryBudget>,
    connections: Arc<Connections>,
    /// One permit for each child that may run.
    places: Arc<Semaphore>,
    counter: AtomicU64,
    is_closing: AtomicBool,
}

/// Why no session can begin now, and when to try again.
#[derive(Debug)]
pub(crate) struct Unavailable {
    pub(crate) what: String,
    pub(crate) retry_after: Duration,
}

impl Sessions {
    pub(crate) fn new(
        start: impl Start,
        settings: Settings,
        tell: Arc<dyn Fn(News) + Send + Sync>,
        connections: Arc<Connections>,
    ) -> Self {
        Self {
            start: Box::new(start),
            places: Arc::new(Semaphore::new(settings.sessions)),
            settings,
            tell,
            table: Mutex::default(),
            pace: Mutex::default(),
            store: Arc::default(),
            connections,
            counter: AtomicU64::new(1),
            is_closing: AtomicBool::new(false),
        }
    }

    /// Begins a session with a child of its own.
    pub(crate) async fn begin(self: &Arc<Self>) -> Result<Arc<Session>, Unavailable> {
        if self.is_closing.load(Ordering::Relaxed) {
            return Err(unavailable("the server is being stopped".to_owned(), FULL));
        }
        let place = self.place().await?;
        self.keep_pace().await?;
        let id = random_hex::<16>().map_err(|error| unavailable(error.to_string(), FULL))?;
        let child = self.start.start().await.map_err(|error| {
            let what = format!("`{}` could not be started: {error}", self.start.name());
            (self.tell)(News::NotStarted { what: what.clone() });
            self.tell_pause(self.died(Duration::ZERO));
            unavailable(what, self.wait())
        })?;
        let number = self.counter.fetch_add(1, Ordering::Relaxed);
        let (session, inbox) = Session::new(id, number, self.store.share());
        self.table().insert(session.id.clone(), session.clone());
        (self.tell)(News::Began { session: session.number });
        let (name, tell) = (self.start.name().to_owned(), self.tell.clone());
        let all = Arc::downgrade(self);
        let forget = Box::new(move || all.upgrade().is_some_and(|all| all.forget_something()));
        let room =
            Reserve { session: session.clone(), connections: self.connections.clone(), forget };
        let ears = Ears { session: session.clone(), name, tell, room };
        let life = Life::new(ears, self.settings.idle, child, inbox);
        tokio::spawn(self.clone().live(session.clone(), life, place));
        // `close` may have read the table just before this session was added.
        if self.is_closing.load(Ordering::Relaxed) {
            session.end(CLOSING);
        }
        Ok(session)
    }

    /// The session of this id; also one that is over, for a while.
    pub(crate) fn find(&self, id: &str) -> Option<Arc<Session>> {
        self.table().get(id).cloned()
    }

    /// The name of the exposed server that clients may see.
    pub(crate) fn name(&self) -> &str {
        self.start.name()
    }

    /// How long the next start has to wait.
    pub(crate) fn wait(&self) -> Duration {
        self.pace().wait(Instant::now())
    }

    /// Ends all sessions, and waits until their children have ended.
    pub(crate) async fn close(&self) {
        self.is_closing.store(true, Ordering::Relaxed);
        self.table().values().for_each(|session| session.end(CLOSING));
        let all = u32::try_from(self.settings.sessions).expect("bounded by the settings");
        // It fails only if the semaphore is closed, which never happens.
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
        let table = self.table();
        let unused = table.values().filter_map(|session| Some((session.unused_since()?, session)));
        let (since, longest) = unused.min_by_key(|(since, _)| *since)?;
        (since.elapsed() >= UNUSED).then(|| longest.clone())
    }

    /// Waits out a short pause; for a long one, the client is told when to come again.
    async fn keep_pace(&self) -> Result<(), Unavailable> {
        loop {
            let wait = self.wait();
            if wait.is_zero() {
                return Ok(());
            }
            if wait > PATIENCE {
                let what = format!("`{}` keeps dying soon after its start", self.start.name());
                return Err(unavailable(what, wait));
            }
            sleep(wait).await;
        }
    }

    async fn live(
        self: Arc<Self>,
        session: Arc<Session>,
        mut life: Life,
        place: OwnedSemaphorePermit,
    ) {
        let born = Instant::now();
        let over = life.listen().await;
        // Set before clients hear of the end, and begin a new session.
        let pause = match &over {
            Over::Closed(_) => {
                self.pace().did_well();
                Duration::ZERO
            }
            Over::Died { .. } => self.died(born.elapsed()),
        };
        life.is_over(over);
        self.tell_pause(pause);
        life.bury().await;
        drop(place);
        sleep(GRAVE).await;
        self.table().remove(&session.id);
    }

    /// Drops something, of any session, that no connection reads. Returns whether there was anything.
    fn forget_something(&self) -> bool {
        self.table().values().any(|session| session.lock().streams.forget_something())
    }

    /// Records a child that died, and returns how long the next start has to wait.
    fn died(&self, lived: Duration) -> Duration {
        let now = Instant::now();
        let mut pace = self.pace();
        pace.died(now, lived);
        pace.wait(now)
    }

    fn tell_pause(&self, pause: Duration) {
        if pause > PATIENCE {
            (self.tell)(News::Paused { pause });
        }
    }

    fn table(&self) -> MutexGuard<'_, BTreeMap<String, Arc<Session>>> {
        // No code panics in the middle of a change, so a poisoned lock is still valid.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn pace(&self) -> MutexGuard<'_, Pace> {
        self.pace.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

const fn unavailable(what: String, retry_after: Duration) -> Unavailable {
    Unavailable { what, retry_after }
}

const CLOSING: &str = "the server is being stopped";
/// The longest pause that `initialize` waits out: not every client knows how to come again.
const PATIENCE: Duration = Duration::from_secs(1);
/// The `Retry-After` when there is no place.
const FULL: Duration = Duration::from_secs(5);
/// How long a session must have been unused before its place is given away.
const UNUSED: Duration = Duration::from_secs(10);
/// How long to wait for the end of such a session's child. A supervisor needs three seconds at most.
const FAREWELL: Duration = Duration::from_secs(5);
/// How long the streams of a session that is over can be resumed.
const GRAVE: Duration = Duration::from_secs(60);
