//! The bridge as whoever starts it sees it: what it is made of, how it runs, how it ends.

use std::fmt;
use std::pin::pin;
use std::time::Duration;

use futures_util::FutureExt;
use ridethrough::Client;
use ridethrough::error::CallError;
use ridethrough_core::secrets::Secrets;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

use crate::advice::Advice;
use crate::catalogue::Catalogue;
use crate::gauge::{Ask, Gauge};
use crate::hidden::Hidden;
use crate::lines::Lines;
use crate::news::Detail;
use crate::router::{LINE_LIMIT, Router, Settings};

/// An MCP server for one host, in front of a client.
#[must_use = "a bridge does nothing until it is run"]
pub struct Bridge {
    settings: Settings,
    asking: mpsc::UnboundedSender<Ask>,
}

/// Why a bridge ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The host closed its end, or reads no more.
    HostLeft,
    /// It was asked to stop.
    Stopped,
}

impl Bridge {
    /// A bridge to the server of this client, which must not have connected yet: who it is, is for the
    /// host to say. The bridge takes its inbox and closes it.
    pub fn new(client: Client) -> Self {
        let (asking, asks) = mpsc::unbounded_channel();
        Self { settings: Settings::new(client, asks), asking }
    }

    /// Hides these tools from the host.
    pub fn hide(mut self, hidden: Hidden) -> Self {
        self.settings.hidden = hidden;
        self
    }

    /// The time for one call of the host, waits and repeats included; without it, that of the client's
    /// policy. Progress that the host asked for gives a call that much time again.
    pub const fn time_limit(mut self, limit: Duration) -> Self {
        self.settings.manner.limit = Some(limit);
        self
    }

    /// These tools do no harm if they run twice: a call in doubt is sent again.
    pub fn repeatable(mut self, tools: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.settings.manner.repeatable.extend(tools.into_iter().map(Into::into));
        self
    }

    /// Starts from what is kept here if the server is down, and keeps it up to date. Without it, the
    /// host of a server that is down is told that there may be lists later.
    pub fn catalogue(mut self, catalogue: Catalogue) -> Self {
        self.settings.catalogue = Some(catalogue);
        self
    }

    /// Tells people what goes on, a line at a time and safe for a terminal: that it recovers, and that
    /// it is back.
    pub fn tell(mut self, tell: impl FnMut(&str) + Send + 'static) -> Self {
        self.settings.voice.tell = Some(Box::new(tell));
        self
    }

    /// What to do about a call that ended without an answer, beyond what its error says: told to the host
    /// and to people, in one line.
    pub fn advise(
        mut self,
        next_step: impl Fn(&CallError) -> Option<String> + Send + 'static,
    ) -> Self {
        self.settings.advice = Advice::new(next_step);
        self
    }

    /// What the upstream is shown of us and nobody else may be: tokens, values of headers, the query of its
    /// URL. Where the upstream repeats one in an error or in its log, the host reads `...`, and so do people
    /// in all that they are told. Results pass byte for byte.
    pub fn secrets(mut self, secrets: Secrets) -> Self {
        self.settings.voice.secrets = secrets;
        self
    }

    /// How much of it is told; [`Detail::Summary`] without this.
    pub const fn detail(mut self, detail: Detail) -> Self {
        self.settings.voice.detail = detail;
        self
    }

    /// Reads where the bridge stands, while it runs.
    pub fn gauge(&self) -> Gauge {
        Gauge::new(self.settings.client.clone(), self.asking.clone())
    }

    /// Serves the host until it leaves or `stop` ends, gives the session back and closes the client.
    ///
    /// Every request that has no answer by then has its end: a host that only closed its own end is still
    /// written the answers that come within half a second, so that a script may be piped in, and an error
    /// for each of the others. All that takes less than a second, or longer for a host that reads slowly:
    /// until it has read everything, stops reading, or `stop` ends.
    pub async fn run<R, W>(self, reader: R, writer: W, stop: impl Future<Output = ()>) -> Ended
    where
        R: AsyncRead + Unpin,
        W: AsyncWrite + Unpin,
    {
        let client = self.settings.client.clone();
        let mut router = Router::new(self.settings, writer);
        let mut lines = Lines::new(reader, LINE_LIMIT);
        let mut stop = pin!(stop.fuse());
        let (ended, served) = tokio::select! {
            biased;
            () = &mut stop => (Ended::Stopped, Ok(())),
            served = router.serve(&mut lines) => (Ended::HostLeft, served),
        };
        let left = Instant::now();
        // A host that reads no more is owed nothing.
        let answered = match (served, ended) {
            (Err(error), _) => Err(error),
            (Ok(()), Ended::HostLeft) => router.answer_for(LAST_ANSWERS).await,
            (Ok(()), Ended::Stopped) => router.answer_for(Duration::ZERO).await,
        };
        let longest = left + if ended == Ended::HostLeft { LONGEST } else { GOODBYE };
        let writing = async {
            if answered.is_ok() {
                // What cannot be written in time has no reader.
                let _ = timeout_at(longest, router.write_out()).await;
            }
            // Calls that have not ended are cancelled by this.
            drop(router);
        };
        let writing = async {
            tokio::select! { biased; () = &mut stop => {}, () = writing => {} }
        };
        // Whether all is said by then or not, the bridge ends.
        let goodbye = timeout_at(left + GOODBYE, client.close());
        let _ = tokio::join!(writing, goodbye);
        ended
    }
}

impl fmt::Debug for Bridge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bridge").field("hidden", &self.settings.hidden).finish_non_exhaustive()
    }
}

const LAST_ANSWERS: Duration = Duration::from_millis(500);
/// A host that reads slowly but reads is written to for so long; most kill a bridge sooner.
const LONGEST: Duration = Duration::from_secs(10);
/// From the end of the host, so that all of it takes less than a second.
const GOODBYE: Duration = Duration::from_millis(900);
