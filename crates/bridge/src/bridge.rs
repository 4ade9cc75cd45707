//! The public type of this crate: how a bridge is configured, how it runs and how it ends.

use std::fmt;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ridethrough::Client;
use ridethrough::error::CallError;
use ridethrough_core::hints::OperatorHints;
use ridethrough_core::{DoubtForm, DoubtRepeat};
use ridethrough_oauth::Account;
use ridethrough_upstream::fault::Advice;
use ridethrough_upstream::{Asks, Catalogue, Detail, Gauge, Hidden, LoginAdvice, Settings};
use ridethrough_wire::secrets::Secrets;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Instant, timeout_at};

use crate::lines::Source;
use crate::outbox::Sink;
use crate::router::Router;

/// An MCP server for one host, in front of a client.
#[must_use = "a bridge does nothing until it is run"]
pub struct Bridge {
    settings: Settings,
    gauge: Gauge,
    asks: Asks,
}

/// Why a bridge ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The host closed its end, or stopped reading.
    HostLeft,
    /// The bridge was asked to stop.
    Stopped,
}

impl Bridge {
    /// Creates a bridge to the server of this client.
    ///
    /// The client must not have connected yet, because the host decides what it says of itself. The bridge
    /// takes the client's inbox, and closes the client at its end.
    pub fn new(client: Client) -> Self {
        let (gauge, asks) = Gauge::new(client.clone());
        Self { settings: Settings::new(client), gauge, asks }
    }

    /// Hides these tools from the host.
    pub fn hide(mut self, hidden: Hidden) -> Self {
        self.settings.hidden = hidden;
        self
    }

    /// Sets the time for one call of the host, waits and repeats included.
    ///
    /// Without it, the client's policy decides. Progress that the host asked for starts the time again.
    pub const fn time_limit(mut self, limit: Duration) -> Self {
        self.settings.manner.limit = Some(limit);
        self
    }

    /// Says which tools can run twice, whatever they say of themselves: a call of one that is in doubt is sent again,
    /// or never.
    pub fn hints(mut self, hints: OperatorHints) -> Self {
        self.settings.manner.hints = hints;
        self
    }

    /// Sets how the host is told that a call of a tool may have run; the default is a result.
    ///
    /// A host that repeats errors would run the tool a second time.
    pub const fn doubt(mut self, form: DoubtForm) -> Self {
        self.settings.manner.doubt = form;
        self
    }

    /// Sets what becomes of a call that is equal to one that may have run; by default it is answered with that doubt
    /// for 30 s, unless the host has called another tool or read a resource meanwhile.
    pub const fn doubt_repeat(mut self, repeat: DoubtRepeat) -> Self {
        self.settings.manner.repeat = repeat;
        self
    }

    /// Starts from this catalogue if the server is down, and keeps it up to date.
    ///
    /// Without one, the host of a server that is down is told that there may be lists later.
    pub fn catalogue(mut self, catalogue: Catalogue) -> Self {
        self.settings.catalogue = Some(catalogue);
        self
    }

    /// Lets the host know when a person must log in, and asks it to show the login if it can.
    ///
    /// The account must be the client's credentials, without a person. Until a person has logged in, here or
    /// in another process, calls end with an error that holds the advice, and nothing is sent. A host that
    /// can show a page (URL elicitation) is asked to show that of the login, one at a time.
    pub fn account(mut self, account: Account, advice: LoginAdvice) -> Self {
        self.settings.account(account, advice);
        self
    }

    /// Sets the function that shows people what goes on: that the bridge recovers, and that it is connected
    /// again.
    ///
    /// It gets one line at a time, safe for a terminal.
    pub fn tell(mut self, tell: impl FnMut(&str) + Send + 'static) -> Self {
        self.settings.tell = Some(Box::new(tell));
        self
    }

    /// Sets the function that adds advice to the error of a call that ended without an answer.
    ///
    /// The host and people read it, in one line.
    pub fn advise(
        mut self,
        next_step: impl Fn(&CallError) -> Option<String> + Send + 'static,
    ) -> Self {
        self.settings.advice = Advice::new(next_step);
        self
    }

    /// Sets what is shown to the upstream and must reach no one else: tokens, values of headers, the query of
    /// its URL.
    ///
    /// Where the upstream repeats one in an error or in its log, the host reads `...`, and so do people in
    /// everything they are shown. Results pass byte for byte.
    pub fn secrets(mut self, secrets: Secrets) -> Self {
        self.settings.masker.configured = secrets;
        self
    }

    /// Sets how much people are told; the default is [`Detail::Summary`].
    pub const fn detail(mut self, detail: Detail) -> Self {
        self.settings.detail = detail;
        self
    }

    /// Returns a gauge that reads the bridge's state while it runs.
    pub fn gauge(&self) -> Gauge {
        self.gauge.clone()
    }

    /// Serves the host until it leaves or `stop` completes, then ends the session and closes the client.
    ///
    /// Every request that has no answer by then gets one. A host that only closed its own end, as a script
    /// that is piped in does, is still written the answers that come within half a second, and an error for
    /// every other request. That takes less than a second. If the host reads slowly it takes longer: until
    /// the host has read everything, stops reading, or `stop` completes.
    pub fn run<'a>(
        self,
        reader: impl AsyncRead + Send + Unpin + 'static,
        writer: impl AsyncWrite + Send + Unpin + 'static,
        stop: impl Future<Output = ()> + Send + 'a,
    ) -> BoxFuture<'a, Ended> {
        self.run_boxed(Box::new(reader), Box::new(writer), stop.boxed())
    }

    /// Boxes the whole, so that the loop is compiled in this crate and not in that of the caller.
    fn run_boxed<'a>(
        self,
        reader: Source,
        writer: Sink,
        stop: BoxFuture<'a, ()>,
    ) -> BoxFuture<'a, Ended> {
        self.served(reader, writer, stop).boxed()
    }

    async fn served(self, reader: Source, writer: Sink, stop: BoxFuture<'_, ()>) -> Ended {
        let client = self.settings.client.clone();
        let mut router = Router::new(self.settings, self.asks, reader, writer);
        let mut stop = stop.fuse();
        let (ended, served) = tokio::select! {
            biased;
            () = &mut stop => (Ended::Stopped, Ok(())),
            served = router.serve() => (Ended::HostLeft, served),
        };
        let left = Instant::now();
        // A host that does not read gets no more answers.
        let answered = match (served, ended) {
            (Err(error), _) => Err(error),
            (Ok(()), Ended::HostLeft) => router.answer_for(LAST_ANSWERS).await,
            (Ok(()), Ended::Stopped) => router.answer_for(Duration::ZERO).await,
        };
        let longest = left + if ended == Ended::HostLeft { LONGEST } else { GOODBYE };
        let writing = async {
            if answered.is_ok() {
                // What cannot be written in time has no reader, so the error does not matter.
                let _ = timeout_at(longest, router.write_out()).await;
            }
            // Dropping the router cancels the calls that have not ended.
            drop(router);
        };
        let writing = async {
            tokio::select! { biased; () = &mut stop => {}, () = writing => {} }
        };
        // The bridge ends at this time in any case; whether the close was complete does not matter.
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
/// How long the bridge writes to a host that reads slowly; most hosts kill a bridge sooner.
const LONGEST: Duration = Duration::from_secs(10);
/// The time for closing, counted from the end of the host, so that the whole end takes less than a second.
const GOODBYE: Duration = Duration::from_millis(900);
