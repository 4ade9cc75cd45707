//! Where work in proportion to the size of a body is done, so that it delays no other request.

use std::sync::LazyLock;
use std::thread::available_parallelism;

use tokio::sync::Semaphore;

/// Does this work: here if it is small, else on a thread for it. `None` if the runtime shuts down, and then no
/// request is answered.
pub(crate) async fn aside<T: Send + 'static>(
    bytes: usize,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    if bytes <= LARGE {
        return Some(work());
    }
    let place = PLACES.acquire().await.ok()?;
    let work = move || {
        let _place = place;
        work()
    };
    tokio::task::spawn_blocking(work).await.ok()
}

/// Places for large work. It may take half of the cores that this process has, whoever asks for it: the others are
/// for small requests.
static PLACES: LazyLock<Semaphore> =
    LazyLock::new(|| Semaphore::new(available_parallelism().map_or(1, |it| it.get() / 2).max(1)));

/// A body of this size is parsed in a fraction of a millisecond.
const LARGE: usize = 64 * 1024;
