//! The bridge as whoever starts it sees it: what it is made of, how it runs, how it ends.

use std::fmt;
use std::time::Duration;

use ridethrough::Client;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::catalogue::Catalogue;
use crate::gauge::{Ask, Gauge};
use crate::hidden::Hidden;
use crate::lines::Lines;
use crate::manner::Manner;
use crate::news::Detail;
use crate::router::{LINE_LIMIT, Router, Voice};

/// An MCP server for one host, in front of a client.
#[must_use = "a bridge does nothing until it is run"]
pub struct Bridge {
    pub(crate) client: Client,
    pub(crate) hidden: Hidden,
    pub(crate) manner: Manner,
    pub(crate) catalogue: Option<Catalogue>,
    pub(crate) voice: Voice,
    pub(crate) asks: mpsc::UnboundedReceiver<Ask>,
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
        let (hidden, manner) = (Hidden::default(), Manner::default());
        let (asking, asks) = mpsc::unbounded_channel();
        let voice = Voice::default();
        Self { client, hidden, manner, catalogue: None, voice, asks, asking }
    }

    /// Hides these tools from the host.
    pub fn hide(mut self, hidden: Hidden) -> Self {
        self.hidden = hidden;
        self
    }

    /// The time for one call of the host, waits and repeats included; without it, that of the client's
    /// policy. Progress that the host asked for gives a call that much time again.
    pub const fn time_limit(mut self, limit: Duration) -> Self {
        self.manner.limit = Some(limit);
        self
    }

    /// These tools do no harm if they run twice: a call in doubt is sent again.
    pub fn repeatable(mut self, tools: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.manner.repeatable.extend(tools.into_iter().map(Into::into));
        self
    }

    /// Starts from what is kept here if the server is down, and keeps it up to date. Without it, the
    /// host of a server that is down is told that there may be lists later.
    pub fn catalogue(mut self, catalogue: Catalogue) -> Self {
        self.catalogue = Some(catalogue);
        self
    }

    /// Tells people what goes on, a line at a time and safe for a terminal: that it recovers, and that
    /// it is back.
    pub fn tell(mut self, tell: impl FnMut(&str) + Send + 'static) -> Self {
        self.voice.tell = Some(Box::new(tell));
        self
    }

    /// How much of it is told; [`Detail::Summary`] without this.
    pub const fn detail(mut self, detail: Detail) -> Self {
        self.voice.detail = detail;
        self
    }

    /// Reads where the bridge stands, while it runs.
    pub fn gauge(&self) -> Gauge {
        Gauge::new(self.client.clone(), self.asking.clone())
    }

    /// Serves the host until it leaves or `stop` ends, gives the session back and closes the client.
    ///
    /// The end takes less than a second: answers that come within 300 ms are still written to a host
    /// that only closed its own end, so that a script may be piped in.
    pub async fn run<R, W>(self, reader: R, writer: W, stop: impl Future<Output = ()>) -> Ended
    where
        R: AsyncRead + Unpin,
        W: AsyncWrite + Unpin,
    {
        let client = self.client.clone();
        let mut router = Router::new(self, writer);
        let mut lines = Lines::new(reader, LINE_LIMIT);
        let ended = tokio::select! {
            biased;
            () = stop => Ended::Stopped,
            () = router.serve(&mut lines) => Ended::HostLeft,
        };
        if ended == Ended::HostLeft {
            // Whether it is over by then or not, the bridge ends.
            let _ = timeout(LAST_ANSWERS, router.finish()).await;
        }
        // Calls that are dropped are cancelled before the session is given back.
        drop(router);
        let _ = timeout(GOODBYE, client.close()).await;
        ended
    }
}

impl fmt::Debug for Bridge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bridge").field("hidden", &self.hidden).finish_non_exhaustive()
    }
}

const LAST_ANSWERS: Duration = Duration::from_millis(300);
const GOODBYE: Duration = Duration::from_millis(600);
