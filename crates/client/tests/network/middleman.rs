//! A proxy of the tests' own, at the other end of pipes: it opens tunnels to a server of the lab, or fails in
//! a chosen way.

use std::sync::{Arc, Mutex, MutexGuard};

use futures_util::future::BoxFuture;
use ridethrough::ClientBuilder;
use ridethrough::machine::{Cause, Failure};
use ridethrough::transport::{Connection, Dial, Endpoint, Peek};
use ridethrough_lab::{Authority, Control, Pipe, Server, pipe};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadHalf, WriteHalf};
use tokio_rustls::TlsAcceptor;

use crate::rig::Rig;

/// Dials a proxy. Clones share one proxy.
#[derive(Clone)]
pub(crate) struct Middleman {
    server: Server,
    state: Arc<Mutex<State>>,
}

/// What a proxy does with a request for a tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// It closes the connection instead of an answer.
    Closes,
    /// It cannot be dialed.
    Down,
    /// It resets the connection instead of an answer.
    Resets,
    /// It answers with this text, and sends nothing more.
    Says(&'static str),
    /// It reads the request and sends nothing.
    Silent,
    /// It answers with this status.
    Status(u16),
    /// It opens the tunnel; it answers 502 while the server is down.
    Tunnels,
}

struct State {
    way: Way,
    tls: Option<TlsAcceptor>,
    /// The addresses that clients dialed.
    dialed: Vec<String>,
    /// The heads of their requests.
    asked: Vec<String>,
    /// All bytes that went through tunnels towards the server.
    carried: Vec<u8>,
    /// How many certificates clients presented to the proxy itself.
    certificates_shown: usize,
    /// The clients' connections.
    open: Vec<Control>,
}

impl Middleman {
    pub(crate) fn before(server: &Server) -> Self {
        let state = State {
            way: Way::Tunnels,
            tls: None,
            dialed: Vec::new(),
            asked: Vec::new(),
            carried: Vec::new(),
            certificates_shown: 0,
            open: Vec::new(),
        };
        Self { server: server.clone(), state: Arc::new(Mutex::new(state)) }
    }

    /// Makes the proxy speak TLS as `proxy.test`, and accept a certificate from clients that have one.
    pub(crate) fn over_tls(self, authority: &Authority) -> Self {
        let config = authority.curious_server_config(&["proxy.test"], &[b"http/1.1"]);
        self.state().tls = Some(config.into());
        self
    }

    /// Returns the builder of a client of this rig's server whose connections lead through this proxy.
    pub(crate) fn builder(&self, rig: &Rig) -> ClientBuilder {
        rig.builder().dial(self.clone()).proxy(URL)
    }

    pub(crate) fn goes(&self, way: Way) {
        self.state().way = way;
    }

    /// Ends the proxy: every tunnel is reset, and it cannot be dialed.
    pub(crate) fn dies(&self) {
        self.goes(Way::Down);
        self.breaks();
    }

    /// Resets every tunnel.
    pub(crate) fn breaks(&self) {
        std::mem::take(&mut self.state().open).iter().for_each(Control::reset);
    }

    pub(crate) fn certificates_shown(&self) -> usize {
        self.state().certificates_shown
    }

    pub(crate) fn dialed(&self) -> Vec<String> {
        self.state().dialed.clone()
    }

    pub(crate) fn asked(&self) -> Vec<String> {
        self.state().asked.clone()
    }

    /// Whether this text went through a tunnel in a form that the proxy can read.
    pub(crate) fn has_seen(&self, text: &str) -> bool {
        self.state().carried.windows(text.len()).any(|window| window == text.as_bytes())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    async fn serve(self, theirs: Pipe) {
        let control = theirs.control();
        let tls = self.state().tls.clone();
        let answered = match tls {
            Some(tls) => match tls.accept(theirs).await {
                Ok(stream) => {
                    let shown = stream.get_ref().1.peer_certificates().map_or(0, <[_]>::len);
                    self.state().certificates_shown += shown;
                    self.answer(stream, &control).await
                }
                Err(_) => None,
            },
            None => self.answer(theirs, &control).await,
        };
        if answered.is_none() {
            control.reset();
        }
    }

    /// Answers one connection; `None` if it is to be reset.
    async fn answer(&self, mut io: impl Stream, control: &Control) -> Option<()> {
        let head = read_head(&mut io).await?;
        self.state().asked.push(head);
        let way = self.state().way;
        match way {
            Way::Closes => return io.shutdown().await.ok(),
            Way::Down | Way::Silent => std::future::pending::<()>().await,
            Way::Resets => return None,
            Way::Says(words) => {
                io.write_all(words.as_bytes()).await.ok()?;
                std::future::pending::<()>().await;
            }
            Way::Status(status) => return refuse(io, status).await,
            Way::Tunnels => {}
        }
        let Ok(server) = self.server.dial().await else { return refuse(io, 502).await };
        io.write_all(b"HTTP/1.1 200 Connection established\r\nVia: lab\r\n\r\n").await.ok()?;
        self.relay(io, control, server).await;
        Some(())
    }

    async fn relay(&self, io: impl Stream, control: &Control, server: Pipe) {
        let far = server.control();
        let (from_client, to_client) = tokio::io::split(io);
        let (from_server, to_server) = tokio::io::split(server);
        let up = pump(from_client, to_server, far, |bytes| {
            self.state().carried.extend_from_slice(bytes);
        });
        let down = pump(from_server, to_client, control.clone(), |_| {});
        tokio::join!(up, down);
    }
}

impl Dial for Middleman {
    fn dial<'a>(&'a self, to: &'a Endpoint) -> BoxFuture<'a, Result<Connection, Failure>> {
        Box::pin(async {
            self.state().dialed.push(to.origin());
            if self.state().way == Way::Down {
                return Err(Failure::not_sent(Cause::ConnectRefused));
            }
            let (ours, theirs) = pipe(64 << 10);
            self.state().open.push(theirs.control());
            tokio::spawn(self.clone().serve(theirs));
            let look = Look(ours.peek());
            Ok(Connection::new(ours, look))
        })
    }
}

trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

struct Look(ridethrough_lab::Peek);

impl Peek for Look {
    fn is_quiet(&self) -> bool {
        self.0.is_quiet()
    }
}

async fn read_head(io: &mut impl Stream) -> Option<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(io.read_u8().await.ok()?);
    }
    String::from_utf8(head).ok()
}

async fn refuse(mut io: impl Stream, status: u16) -> Option<()> {
    let answer = format!("HTTP/1.1 {status} No\r\nContent-Length: 6\r\n\r\nsorry\n");
    io.write_all(answer.as_bytes()).await.ok()?;
    io.shutdown().await.ok()
}

/// Carries bytes one way; an end and a reset arrive as such.
async fn pump<A: Stream, B: Stream>(
    mut from: ReadHalf<A>,
    mut to: WriteHalf<B>,
    far: Control,
    mut see: impl FnMut(&[u8]),
) {
    let mut bytes = vec![0; 16 << 10];
    loop {
        match from.read(&mut bytes).await {
            Err(_) => return far.reset(),
            // A side that has closed its end need not learn that the other could not be told.
            Ok(0) => return drop(to.shutdown().await),
            Ok(count) => {
                see(&bytes[..count]);
                if to.write_all(&bytes[..count]).await.is_err() {
                    return;
                }
            }
        }
    }
}

/// The URL of the proxy, with the name and password of the tests.
pub(crate) const URL: &str = "http://us3r:s3cret@proxy.test:3128";
