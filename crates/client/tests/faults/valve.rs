//! Pipes with a valve in them: a test decides what becomes of the bytes that a client writes.
//!
//! The valve is at the client's end, below TLS. A write is accepted, blocked, lost or failed at a moment that
//! the test chooses. New connections are open unless a test says otherwise.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};

use futures_util::future::BoxFuture;
use ridethrough::machine::{Cause, Failure};
use ridethrough::transport::{Connection, Dial, Endpoint, Peek};
use ridethrough_lab::{Pipe, Server};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Dials a server of the lab. Clones share one valve.
#[derive(Clone)]
pub(crate) struct Valve {
    server: Server,
    state: Arc<Mutex<State>>,
}

/// What becomes of the bytes that a client writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Up {
    /// No write is accepted.
    Blocked,
    /// So many writes are accepted; those after them fail.
    FailsAfter(usize),
    #[default]
    Flows,
    /// Every write is accepted, and nothing arrives.
    Lost,
    /// Bytes pass up to the end of the first head of an HTTP/1.1 request; then writes are blocked.
    UntilHead,
}

/// What a look at an idle connection reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sight {
    /// Nothing waits to be read, whether that is true or not: as with a runtime that has not polled its
    /// sockets for a while.
    Blind,
    True,
}

struct State {
    sight: Sight,
    dials: usize,
    failing: Option<Cause>,
    next: Up,
    flows: Vec<Arc<Mutex<Flow>>>,
}

impl Valve {
    pub(crate) fn to(server: &Server) -> Self {
        Self::with_sight(server, Sight::True)
    }

    pub(crate) fn with_sight(server: &Server, sight: Sight) -> Self {
        let state = State { sight, dials: 0, failing: None, next: Up::Flows, flows: Vec::new() };
        Self { server: server.clone(), state: Arc::new(Mutex::new(state)) }
    }

    /// Sets the valve of every connection that was made so far.
    pub(crate) fn turn(&self, up: Up) {
        self.each(|flow| flow.up = up);
    }

    /// Makes every connection that was made so far read an end; what is written still arrives.
    pub(crate) fn half_close(&self) {
        self.each(|flow| flow.is_ended = true);
    }

    /// Hides what arrives on every connection that was made so far until the client writes on it, as
    /// with a runtime that polls its sockets too late; what it then writes is lost, as on a socket
    /// that the server has closed. A look at the connection shows the truth all along.
    pub(crate) fn go_stale(&self) {
        self.each(|flow| flow.is_stale = true);
    }

    /// Sets the valve of the next connection that is made, and of no other.
    pub(crate) fn turn_next(&self, up: Up) {
        self.state().next = up;
    }

    /// Makes dials fail for this cause, or succeed again.
    pub(crate) fn fail_dials(&self, cause: Option<Cause>) {
        self.state().failing = cause;
    }

    pub(crate) fn dials(&self) -> usize {
        self.state().dials
    }

    fn each(&self, change: impl Fn(&mut Flow)) {
        for flow in &self.state().flows {
            let mut flow = flow.lock().unwrap();
            change(&mut flow);
            flow.wakers.drain(..).for_each(Waker::wake);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// Notes a dial, and returns the valve of its connection, or the failure.
    fn begin(&self) -> Result<(Arc<Mutex<Flow>>, Sight), Failure> {
        let mut state = self.state();
        state.dials += 1;
        if let Some(cause) = state.failing {
            return Err(Failure::not_sent(cause));
        }
        let up = std::mem::replace(&mut state.next, Up::Flows);
        let flow = Arc::new(Mutex::new(Flow { up, ..Flow::default() }));
        state.flows.push(flow.clone());
        Ok((flow, state.sight))
    }
}

impl Dial for Valve {
    fn dial<'a>(&'a self, _: &'a Endpoint) -> BoxFuture<'a, Result<Connection, Failure>> {
        Box::pin(async {
            let (flow, sight) = self.begin()?;
            let pipe = self.server.dial().await.map_err(|error| {
                Failure::not_sent(Cause::ConnectRefused).with_detail(error.to_string())
            })?;
            let look = Look { sight, peek: pipe.peek() };
            Ok(Connection::new(Valved { pipe, flow }, look))
        })
    }
}

struct Look {
    sight: Sight,
    peek: ridethrough_lab::Peek,
}

impl Peek for Look {
    fn is_quiet(&self) -> bool {
        self.sight == Sight::Blind || self.peek.is_quiet()
    }
}

#[derive(Default)]
struct Flow {
    up: Up,
    /// Whether the client reads an end.
    is_ended: bool,
    /// Whether the client reads nothing until it writes.
    is_stale: bool,
    wakers: Vec<Waker>,
}

struct Valved {
    pipe: Pipe,
    flow: Arc<Mutex<Flow>>,
}

impl AsyncRead for Valved {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let mut flow = this.flow.lock().unwrap();
        if flow.is_ended {
            return Poll::Ready(Ok(()));
        }
        flow.wakers.push(context.waker().clone());
        if flow.is_stale {
            return Poll::Pending;
        }
        Pin::new(&mut this.pipe).poll_read(context, buffer)
    }
}

impl AsyncWrite for Valved {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let mut flow = this.flow.lock().unwrap();
        if std::mem::take(&mut flow.is_stale) {
            flow.up = Up::Lost;
            flow.wakers.drain(..).for_each(Waker::wake);
        }
        let pipe = Pin::new(&mut this.pipe);
        match flow.up {
            Up::Blocked => {
                flow.wakers.push(context.waker().clone());
                Poll::Pending
            }
            Up::FailsAfter(0) => Poll::Ready(Err(io::ErrorKind::ConnectionReset.into())),
            Up::FailsAfter(writes) => {
                flow.up = Up::FailsAfter(writes - 1);
                pipe.poll_write(context, bytes)
            }
            Up::Flows => pipe.poll_write(context, bytes),
            Up::Lost => Poll::Ready(Ok(bytes.len())),
            Up::UntilHead => {
                let end = bytes.windows(4).position(|four| four == b"\r\n\r\n");
                if end.is_some() {
                    flow.up = Up::Blocked;
                }
                pipe.poll_write(context, &bytes[..end.map_or(bytes.len(), |end| end + 4)])
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().pipe).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().pipe).poll_shutdown(context)
    }
}
