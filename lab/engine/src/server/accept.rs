//! Turns a byte stream that a client opened into a connection that is served.

use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::net::TcpStream;
use tokio::time::Instant;

use super::{Mood, ServerState, Shared, Visit};
use crate::connection::Connection;
use crate::lock::lock;
use crate::wire::{Fuse, Wire, secure};
use crate::{http1, http2};

impl Shared {
    /// Changes the mood, and listens or not accordingly.
    pub(super) fn change_mood(self: &Arc<Self>, mood: Mood) -> io::Result<()> {
        let mut state = lock(&self.state);
        state.mood = mood;
        match mood {
            Mood::Down => state.socket.shut(),
            _ => self.listen(&mut state),
        }
    }

    pub(super) fn listen(self: &Arc<Self>, state: &mut ServerState) -> io::Result<()> {
        state.socket.open(|| tokio::spawn(self.clone().accept_all()).abort_handle())
    }

    pub(super) fn each(&self, tell: impl Fn(&Connection)) {
        lock(&self.state).open.values().for_each(|connection| tell(connection));
    }

    pub(super) async fn kill(&self) {
        {
            let mut state = lock(&self.state);
            state.mood = Mood::Down;
            // If the port cannot be kept, `restart` fails and says so.
            let _ = state.socket.shut();
            state.swallowed.clear();
            std::mem::take(&mut state.open).values().for_each(|connection| connection.reset(None));
        }
        self.staff.dismiss().await;
    }

    /// Registers a connection, and returns the future that serves it. It must be spawned after the state is
    /// unlocked: a runtime that ends drops it at once, which removes the connection from the state.
    #[must_use = "nobody serves the connection otherwise"]
    pub(super) fn admit(
        self: &Arc<Self>,
        state: &mut ServerState,
        raw: Box<dyn Wire>,
        fuse: Fuse,
    ) -> BoxFuture<'static, ()> {
        state.visits.push(Visit { opened: Instant::now(), closed: None });
        let connection = Arc::new(Connection::new(state.visits.len() as u64, fuse));
        state.open.insert(connection.id, connection.clone());
        let (tls, http2) = (state.tls.clone(), state.http2);
        let open = Open { shared: self.clone(), connection };
        let staff = self.staff.clone();
        Box::pin(async move {
            let connection = open.connection.clone();
            // A client that rejects the certificate is gone, and knows why.
            let Ok(wire) = secure(raw, tls).await else { return };
            if open.shared.protocol.is_http2() {
                http2::serve(wire, http2, connection, staff).await;
            } else {
                http1::serve(wire, connection, staff).await;
            }
        })
    }

    async fn accept_all(self: Arc<Self>) {
        loop {
            match poll_fn(|context| lock(&self.state).socket.poll_accept(context)).await {
                None => return,
                Some(Ok(stream)) => self.take_in(stream),
                // Most likely there are no file descriptors left: there will be some again.
                Some(Err(_)) => tokio::time::sleep(Duration::from_millis(10)).await,
            }
        }
    }

    fn take_in(self: &Arc<Self>, stream: TcpStream) {
        let mut state = lock(&self.state);
        state.dials += 1;
        // It fails only on a socket that is closed already, which the first read reports.
        let _ = stream.set_nodelay(true);
        let Ok(fuse) = Fuse::of_socket(&stream) else { return };
        match state.mood {
            Mood::BlackHole => {
                fuse.spend();
                state.swallowed.push(stream);
            }
            Mood::CloseOnAccept => fuse.spend(),
            // Down: a kill came between the kernel's accept and this one.
            Mood::Down | Mood::ResetOnAccept => fuse.blow(),
            Mood::Up => {
                let work = self.admit(&mut state, Box::new(stream), fuse);
                drop(state);
                self.staff.spawn(work);
            }
        }
    }
}

/// Keeps a connection registered for as long as its task lives.
struct Open {
    shared: Arc<Shared>,
    connection: Arc<Connection>,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.connection.end();
        let mut state = lock(&self.shared.state);
        state.open.remove(&self.connection.id);
        // The number is the position, counted from one.
        if let Some(visit) = state.visits.get_mut(self.connection.id as usize - 1) {
            visit.closed = Some(Instant::now());
        }
    }
}
