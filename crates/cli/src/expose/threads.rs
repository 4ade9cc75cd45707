//! The threads that serve connections. A connection stays on one of them, and so does what its requests begin: a
//! session, its conversation, and the links of that to servers.
//!
//! A call passes through several tasks, one after the other. Where threads share tasks, each of these steps wakes a
//! second thread, which finds nothing to do; that cost more than the call itself (`docs/evidence/benchmarks.md`, G3).

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use tokio::runtime::{self, Handle};
use tokio::sync::oneshot;

/// Threads with a runtime each, which end when this is dropped.
pub(crate) struct ServingThreads {
    handles: Vec<Handle>,
    next: AtomicUsize,
    _until: Vec<oneshot::Sender<()>>,
}

impl ServingThreads {
    /// Starts as many threads as this process may use at once.
    pub(crate) fn start() -> io::Result<Self> {
        let count = thread::available_parallelism().map_or(1, usize::from);
        let (mut handles, mut until) = (Vec::new(), Vec::new());
        for number in 1..=count {
            let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
            let (keeper, dropped) = oneshot::channel();
            handles.push(runtime.handle().clone());
            until.push(keeper);
            thread::Builder::new().name(format!("serve-{number}")).spawn(move || {
                // It is sent nothing: the other side is dropped.
                let _ = runtime.block_on(dropped);
                runtime.shutdown_background();
            })?;
        }
        Ok(Self { handles, next: AtomicUsize::new(0), _until: until })
    }

    /// Serves a connection on one of the threads, each in its turn.
    pub(crate) fn serve(&self, serving: impl Future<Output = ()> + Send + 'static) {
        let turn = self.next.fetch_add(1, Ordering::Relaxed);
        if let Some(thread) = self.handles.get(turn % self.handles.len().max(1)) {
            thread.spawn(serving);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn what_a_connection_begins_stays_on_its_thread() {
        let threads = ServingThreads::start().unwrap();
        let (told, names) = mpsc::channel();
        for _ in 0..4 * threads.handles.len() {
            let told = told.clone();
            threads.serve(async move {
                let served_by = thread::current().id();
                let began_by = tokio::spawn(async { thread::current().id() }).await.unwrap();
                told.send((served_by, began_by)).unwrap();
            });
        }
        drop(told);
        let served: Vec<_> = names.iter().collect();
        assert_eq!(served.len(), 4 * threads.handles.len());
        assert!(served.iter().all(|(served_by, began_by)| served_by == began_by));
        let mut used: Vec<_> = served.iter().map(|(thread, _)| format!("{thread:?}")).collect();
        used.sort_unstable();
        used.dedup();
        assert_eq!(used.len(), threads.handles.len(), "each has its turn");
    }
}
