//! The end of the loop: every request that the host still waits for is answered, or ends with an error.
//!
//! ```text
//!   host leaves ──▶ answers that come in time ──▶ the other calls are taken back ──▶ written out
//! ```

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ridethrough::call::Pending;
use ridethrough_core::Outcome;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::Notify;
use tokio::time::timeout;

use super::greet::Greeting;
use super::{Router, Woken};
use crate::fault;
use crate::lines::Lines;

impl<W: AsyncWrite + Unpin> Router<W> {
    /// Waits this long for answers, then ends the other requests with an error that says whether the server
    /// may have run them. Fails if the host reads no more.
    ///
    /// Notifications that the upstream has not taken have that time, too.
    pub(crate) async fn answer_for(&mut self, time: Duration) -> io::Result<()> {
        self.take_all_held();
        self.end_listening();
        let all_said = async {
            self.await_answers().await?;
            self.await_notices().await
        };
        if let Ok(answered) = timeout(time, all_said).await {
            return answered;
        }
        self.ending.begin();
        if let Some(Greeting { id, form, .. }) = self.greeting.take() {
            let unsent = fault::answer(&fault::unsent(form.method()), &self.advice);
            self.outbox.answer(Some(id.json()), &unsent);
        }
        // A call that is cancelled ends at once; it does not wait for the network.
        timeout(AT_ONCE, self.await_answers()).await.unwrap_or(Ok(()))
    }

    /// Writes what is left, for as long as the host reads.
    pub(crate) async fn write_out(&mut self) -> io::Result<()> {
        self.outbox.finish(STALLED).await
    }

    async fn await_answers(&mut self) -> io::Result<()> {
        self.go_on_while(|it| !it.calls.are_none_awaited() || it.greeting.is_some()).await
    }

    async fn await_notices(&mut self) -> io::Result<()> {
        self.go_on_while(|it| !it.notices.is_empty()).await
    }

    async fn go_on_while(&mut self, is_wanted: impl Fn(&Self) -> bool) -> io::Result<()> {
        // Nothing more is read from the host, so only the end of its side can still be seen.
        let mut nothing = Lines::new(Silent, 0);
        while is_wanted(self) {
            match self.wait(&mut nothing).await {
                Woken::Written(Err(error)) => return Err(error),
                woken => self.handle(woken),
            }
        }
        Ok(())
    }
}

/// Returns the outcome of a call. When the bridge ends, the call is cancelled, and the outcome says what is
/// known then.
pub(super) async fn outcome(mut pending: Pending, ending: Ending) -> Outcome {
    tokio::select! {
        biased;
        outcome = &mut pending => return outcome,
        () = ending.begins() => pending.cancel(),
    }
    pending.await.map_err(fault::cut_short)
}

/// Whether the calls that are out must end. Clones share one switch, which is turned once.
///
/// It wakes those who wait in their order. A `watch` channel of tokio wakes them in a random one, and a
/// simulated world could not be repeated.
#[derive(Clone, Debug, Default)]
pub(super) struct Ending(Arc<EndingState>);

#[derive(Debug, Default)]
struct EndingState {
    has_begun: AtomicBool,
    begins: Notify,
}

impl Ending {
    fn begin(&self) {
        self.0.has_begun.store(true, Ordering::Release);
        self.0.begins.notify_waiters();
    }

    pub(super) fn has_begun(&self) -> bool {
        self.0.has_begun.load(Ordering::Acquire)
    }

    pub(super) async fn begins(&self) {
        // It is made before the check, so that a beginning in between is not missed.
        let begins = self.0.begins.notified();
        if !self.has_begun() {
            begins.await;
        }
    }
}

/// A reader that gives no bytes and does not end.
struct Silent;

impl AsyncRead for Silent {
    fn poll_read(
        self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
        _: &mut ReadBuf<'_>,
    ) -> std::task::Poll<io::Result<()>> {
        std::task::Poll::Pending
    }
}

const AT_ONCE: Duration = Duration::from_millis(100);
/// How long a host may take nothing before it counts as not reading.
const STALLED: Duration = Duration::from_millis(350);
