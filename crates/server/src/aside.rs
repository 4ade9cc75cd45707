//! Where work in proportion to the size of a body is done, so that it delays no other request.

use std::sync::LazyLock;
use std::thread::available_parallelism;

use tokio::sync::Semaphore;

use crate::body_size::BodySize;

/// Does this work: here if it is small, else on a thread for it. `None` if the runtime shuts down, and then no
/// request is answered.
pub(crate) async fn aside<T: Send + 'static>(
    bytes: usize,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let places = match BodySize::of(bytes) {
        BodySize::Small => return Some(work()),
        BodySize::Large => &LARGE,
        BodySize::Huge => &HUGE,
    };
    let place = places.acquire().await.ok()?;
    let work = move || {
        let _place = place;
        work()
    };
    tokio::task::spawn_blocking(work).await.ok()
}

/// How many pieces of work of one size may be done at once: half of the cores that this process has, whoever asks for
/// it.
pub(crate) fn places() -> usize {
    available_parallelism().map_or(1, |it| it.get() / 2).max(1)
}

static LARGE: LazyLock<Semaphore> = LazyLock::new(|| Semaphore::new(places()));
static HUGE: LazyLock<Semaphore> = LazyLock::new(|| Semaphore::new(places()));
