//! The right to write on an HTTP/1.1 connection, held by the handler that answers a request.

use std::sync::Arc;

use http::HeaderMap;
use http::header::CONNECTION;
use tokio::io::AsyncWriteExt;
use tokio::sync::oneshot;

use super::Half;
use crate::connection::{Connection, UnderWay};

/// The writing half of a connection for the time of one answer.
///
/// A dropped pen goes back to the connection's task, which closes the connection.
pub(crate) struct Pen {
    /// `None` once the answer is over.
    half: Option<Half>,
    back: Option<oneshot::Sender<Returned>>,
    under_way: Option<UnderWay>,
    connection: Arc<Connection>,
    /// What happens to the connection after a proper end.
    fate: Fate,
}

pub(super) struct Returned {
    pub(super) half: Half,
    pub(super) fate: Fate,
}

#[derive(Clone, Copy)]
pub(super) enum Fate {
    Close,
    Keep,
}

impl Pen {
    pub(super) fn new(
        half: Half,
        under_way: UnderWay,
        connection: Arc<Connection>,
        fate: Fate,
    ) -> (Self, oneshot::Receiver<Returned>) {
        let (back, returned) = oneshot::channel();
        let under_way = Some(under_way);
        (Self { half: Some(half), back: Some(back), under_way, connection, fate }, returned)
    }

    /// Makes the connection close after a proper end, if the head of the answer says so.
    pub(crate) fn heed(&mut self, answer: &HeaderMap) {
        if says_close(answer) {
            self.fate = Fate::Close;
        }
    }

    /// Writes everything in one write. Returns false when the client has gone.
    pub(crate) async fn write(&mut self, bytes: &[u8]) -> bool {
        let Some(half) = &mut self.half else { return false };
        let written = async {
            half.write_all(bytes).await?;
            half.flush().await
        };
        written.await.is_ok() && !self.connection.is_hung_up()
    }

    /// Writes the last bytes and gives the connection back.
    pub(crate) async fn finish(mut self, bytes: &[u8]) {
        self.under_way = None;
        // If the client is gone, the connection's task notices by itself.
        self.write(bytes).await;
        self.hand_back(self.fate);
    }

    pub(crate) async fn close(mut self) {
        if let Some(mut half) = self.half.take() {
            // It fails if the client closed first, and then there is nothing left to close.
            let _ = half.shutdown().await;
        }
    }

    pub(crate) fn reset(mut self) {
        self.connection.reset(None);
        self.half = None;
    }

    pub(crate) async fn gone(&self) {
        self.connection.hung_up().await;
    }

    fn hand_back(&mut self, fate: Fate) {
        if let (Some(half), Some(back)) = (self.half.take(), self.back.take()) {
            // After a kill the task is gone, and the half is dropped, as it should be.
            let _ = back.send(Returned { half, fate });
        }
    }
}

impl Drop for Pen {
    fn drop(&mut self) {
        self.hand_back(Fate::Close);
    }
}

pub(super) fn says_close(headers: &HeaderMap) -> bool {
    let mut values = headers.get_all(CONNECTION).iter().filter_map(|value| value.to_str().ok());
    values.any(|value| value.split(',').any(|word| word.trim().eq_ignore_ascii_case("close")))
}
