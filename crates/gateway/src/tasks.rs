//! Which tasks a principal has begun, so that it can list them.
//!
//! A server knows the gateway and not its callers: its own list would show one principal the tasks of another.
//! The record is behind an interface, because gateways that serve one door together must share it. An id leads
//! to its server without it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt, ready};
use ridethrough::Json;
use ridethrough_server::Principal;
use tokio::time::Instant;

/// Keeps which tasks principals have begun.
pub trait TaskStore: Send + Sync + 'static {
    /// Keeps a task of this principal, in place of what was known of it.
    fn keep<'a>(&'a self, principal: &'a Principal, task: KeptTask) -> BoxFuture<'a, ()>;

    /// Forgets a task that its server does not have any more.
    fn forget<'a>(
        &'a self,
        principal: &'a Principal,
        server: &'a str,
        id: &'a str,
    ) -> BoxFuture<'a, ()>;

    /// Returns the tasks of this principal and of no other, the oldest first.
    fn of<'a>(&'a self, principal: &'a Principal) -> BoxFuture<'a, Vec<KeptTask>>;
}

/// A task of a server.
#[derive(Clone, PartialEq, Eq)]
pub struct KeptTask {
    /// The server.
    pub server: Arc<str>,
    /// The id that the server gave it. It may be enough to read the result, and is never printed.
    pub id: String,
    /// What the server last said of it.
    pub last: Json,
    /// How long it is kept from now on; a day at most.
    pub kept_for: Option<Duration>,
}

/// Keeps tasks in this process.
#[derive(Clone, Default)]
pub struct MemoryTasks {
    tasks: Arc<Mutex<TaskTable>>,
}

/// The tasks of each principal, and until when each is kept.
type TaskTable = BTreeMap<Principal, Vec<(Instant, KeptTask)>>;

impl MemoryTasks {
    fn lock(&self) -> MutexGuard<'_, TaskTable> {
        // No code panics in the middle of a change, so a poisoned lock is still valid.
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TaskStore for MemoryTasks {
    fn keep<'a>(&'a self, principal: &'a Principal, task: KeptTask) -> BoxFuture<'a, ()> {
        let mut tasks = self.lock();
        let now = Instant::now();
        if !tasks.contains_key(principal) && tasks.len() >= MOST_PRINCIPALS {
            tasks.retain(|_, all| all.iter().any(|(until, _)| *until > now));
        }
        let has_room = tasks.contains_key(principal) || tasks.len() < MOST_PRINCIPALS;
        if has_room && task.last.as_bytes().len() <= LONGEST {
            let until = now + task.kept_for.unwrap_or(LONGEST_KEPT).min(LONGEST_KEPT);
            let all = tasks.entry(principal.clone()).or_default();
            all.retain(|(until, _)| *until > now);
            match all.iter_mut().find(|(_, it)| it.server == task.server && it.id == task.id) {
                Some(known) => *known = (until, task),
                None => all.push((until, task)),
            }
            let surplus = all.len().saturating_sub(MOST);
            drop(all.drain(..surplus));
        }
        ready(()).boxed()
    }

    fn forget<'a>(
        &'a self,
        principal: &'a Principal,
        server: &'a str,
        id: &'a str,
    ) -> BoxFuture<'a, ()> {
        let mut tasks = self.lock();
        if let Some(all) = tasks.get_mut(principal) {
            all.retain(|(_, it)| &*it.server != server || it.id != id);
            if all.is_empty() {
                tasks.remove(principal);
            }
        }
        ready(()).boxed()
    }

    fn of<'a>(&'a self, principal: &'a Principal) -> BoxFuture<'a, Vec<KeptTask>> {
        let now = Instant::now();
        let tasks = self.lock();
        let all = tasks.get(principal).map(Vec::as_slice).unwrap_or_default();
        let all = all.iter().filter(|(until, _)| *until > now).map(|(_, it)| it.clone());
        ready(all.collect()).boxed()
    }
}

impl fmt::Debug for KeptTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeptTask").field("server", &self.server).finish_non_exhaustive()
    }
}

impl fmt::Debug for MemoryTasks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryTasks").finish_non_exhaustive()
    }
}

/// The most tasks of one principal; older ones are not listed any more.
const MOST: usize = 1000;
const MOST_PRINCIPALS: usize = 10_000;
/// Of what a server says of a task, in bytes.
const LONGEST: usize = 16 * 1024;
/// A server may keep a task for ever; the record of it is kept while it is asked about each day.
const LONGEST_KEPT: Duration = Duration::from_secs(24 * 60 * 60);

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_principal_has_its_own_tasks_until_their_time_is_over() {
        let store = MemoryTasks::default();
        let (ada, bob) = (Principal::new("ada"), Principal::new("bob"));
        store.keep(&ada, task("a", "1", Some(60))).await;
        store.keep(&ada, task("b", "1", None)).await;
        store.keep(&bob, task("a", "2", None)).await;
        store.keep(&ada, task("a", "1", Some(60))).await;

        assert_eq!(store.of(&ada).await, [task("a", "1", Some(60)), task("b", "1", None)]);
        tokio::time::advance(Duration::from_secs(60)).await;
        assert_eq!(store.of(&ada).await, [task("b", "1", None)]);
        store.forget(&ada, "b", "1").await;
        assert_eq!(store.of(&ada).await, []);
        assert_eq!(store.of(&bob).await.len(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_principal_that_begins_tasks_without_end_does_not_fill_the_memory() {
        let store = MemoryTasks::default();
        let ada = Principal::new("ada");
        for number in 0..=MOST {
            store.keep(&ada, task("a", &number.to_string(), None)).await;
        }

        let kept = store.of(&ada).await;

        assert_eq!((kept.len(), &*kept[0].id), (MOST, "1"));
    }

    fn task(server: &str, id: &str, secs: Option<u64>) -> KeptTask {
        let kept_for = secs.map(Duration::from_secs);
        KeptTask { server: server.into(), id: id.to_owned(), last: Json::empty_object(), kept_for }
    }
}
