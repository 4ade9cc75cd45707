//! Where work in proportion to the size of a body is done, so that it delays no other request.

/// Does this work: here if it is small, else on a thread for it. `None` if the runtime shuts down, and then no
/// request is answered.
pub(crate) async fn aside<T: Send + 'static>(
    bytes: usize,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    if bytes <= LARGE {
        return Some(work());
    }
    tokio::task::spawn_blocking(work).await.ok()
}

/// A body of this size is parsed in a fraction of a millisecond.
const LARGE: usize = 64 * 1024;
