//! The end of the loop: every request that the host still waits for is answered, or ends with an error.
//!
//! ```text
//!   host leaves ──▶ answers that come in time ──▶ the other calls are taken back ──▶ written out
//! ```

use std::io;
use std::time::Duration;

use ridethrough_upstream::fault;
use tokio::time::timeout;

use super::{Router, Woken};
use crate::greeting::Greeting;

impl Router {
    /// Waits this long for answers, then ends the other requests with an error that says whether the server
    /// may have run them. Fails if the host reads no more.
    ///
    /// Notifications that the upstream has not taken have that time, too.
    pub(crate) async fn answer_for(&mut self, time: Duration) -> io::Result<()> {
        self.has_host_left = true;
        // They wait for room no longer.
        self.take_held(None);
        self.end_listening();
        let all_said = async {
            self.await_answers().await?;
            self.go_on_while(|it| !it.held.notices.is_empty()).await
        };
        if let Ok(answered) = timeout(time, all_said).await {
            return answered;
        }
        self.upstream.end_calls();
        if let Some(Greeting { id, form, .. }) = self.greeting.take() {
            let unsent = self.upstream.refusal(&fault::unsent(form.method()));
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

    async fn go_on_while(&mut self, is_wanted: impl Fn(&Self) -> bool) -> io::Result<()> {
        while is_wanted(self) {
            match self.wait().await {
                Woken::Written(Err(error)) => return Err(error),
                woken => self.handle(woken),
            }
        }
        Ok(())
    }
}

const AT_ONCE: Duration = Duration::from_millis(100);
/// How long a host may take nothing before it counts as not reading.
const STALLED: Duration = Duration::from_millis(350);
