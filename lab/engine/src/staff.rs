//! Runs the service and the connections of one server as tasks, so that a kill can end them all.

use std::future::Future;
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use tokio::task::JoinSet;

use crate::lock::lock;
use crate::turn::Turn;

/// Answers requests, one [`Turn`] each. Any `Fn(Turn) -> Future` is a service.
///
/// ```
/// use bytes::Bytes;
/// use ridethrough_lab::{Protocol, Server, Turn};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let server = Server::new(Protocol::Http1, |turn: Turn| async move {
///     let hello = http::Response::new(Bytes::from_static(b"hello"));
///     turn.reply.respond(hello).await;
/// });
/// # drop(server);
/// # }
/// ```
pub trait Service: Send + Sync + 'static {
    /// Answers one request. The future runs in a task of its own; a kill of the server aborts it.
    fn serve(&self, turn: Turn) -> BoxFuture<'static, ()>;
}

impl<F, Answering> Service for F
where
    F: Fn(Turn) -> Answering + Send + Sync + 'static,
    Answering: Future<Output = ()> + Send + 'static,
{
    fn serve(&self, turn: Turn) -> BoxFuture<'static, ()> {
        Box::pin(self(turn))
    }
}

/// The tasks of one server.
#[derive(Clone)]
pub(crate) struct Staff {
    service: Arc<dyn Service>,
    tasks: Arc<Mutex<JoinSet<()>>>,
}

impl Staff {
    pub(crate) fn new(service: impl Service) -> Self {
        Self { service: Arc::new(service), tasks: Arc::default() }
    }

    pub(crate) fn serve(&self, turn: Turn) {
        self.spawn(self.service.serve(turn));
    }

    pub(crate) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = lock(&self.tasks);
        // A join set keeps finished tasks until they are joined. A panic of one was printed by then; the
        // client sees a request without an answer.
        while tasks.try_join_next().is_some() {}
        tasks.spawn(work);
    }

    /// Aborts all tasks, and waits until everything that they held was dropped.
    pub(crate) async fn dismiss(&self) {
        let mut tasks = std::mem::take(&mut *lock(&self.tasks));
        tasks.shutdown().await;
    }
}
