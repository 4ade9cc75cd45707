//! A server's end of one connection, whatever carries it, and the means to reset it from outside.

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustls::ServerConfig;
use socket2::{SockRef, Socket};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;

use crate::lock::lock;
use crate::pipe::{Control, Pipe};

/// Bytes in, bytes out: a pipe or a socket, with or without TLS.
pub(crate) trait Wire: AsyncRead + AsyncWrite + Send + Sync + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Sync + Unpin> Wire for T {}

/// Takes the raw stream's side of a TLS handshake, if there is one to do.
pub(crate) async fn secure(
    raw: Box<dyn Wire>,
    tls: Option<Arc<ServerConfig>>,
) -> io::Result<Box<dyn Wire>> {
    match tls {
        Some(config) => Ok(Box::new(TlsAcceptor::from(config).accept(raw).await?)),
        None => Ok(raw),
    }
}

/// Resets a connection while somebody else, perhaps TLS, owns its stream.
///
/// A pipe is reset at once. A socket is only prepared (`SO_LINGER` of zero): the reset leaves as
/// soon as its owner drops it, so whoever blows a fuse also sees to that.
#[derive(Clone, Debug)]
pub(crate) struct Fuse(WireKind);

#[derive(Clone, Debug)]
enum WireKind {
    Pipe(Control),
    /// A duplicate of the descriptor. While it exists the kernel keeps the socket open, so it is
    /// given up when the fuse blows or [`spend`](Fuse::spend) is called.
    Socket(Arc<Mutex<Option<Socket>>>),
}

impl Fuse {
    pub(crate) fn of_pipe(pipe: &Pipe) -> Self {
        Self(WireKind::Pipe(pipe.control()))
    }

    pub(crate) fn of_socket(stream: &TcpStream) -> io::Result<Self> {
        let duplicate = SockRef::from(stream).try_clone()?;
        Ok(Self(WireKind::Socket(Arc::new(Mutex::new(Some(duplicate))))))
    }

    pub(crate) fn blow(&self) {
        match &self.0 {
            WireKind::Pipe(control) => control.reset(),
            WireKind::Socket(socket) => {
                if let Some(socket) = lock(socket).take() {
                    // It fails only on a socket that is closed already, where nothing is to reset.
                    let _ = socket.set_linger(Some(Duration::ZERO));
                }
            }
        }
    }

    /// Makes a black hole of a pipe.
    pub(crate) fn stall(&self) {
        if let WireKind::Pipe(control) = &self.0 {
            control.stall();
        }
    }

    /// Lets go of the connection, so that dropping its stream closes it.
    pub(crate) fn spend(&self) {
        if let WireKind::Socket(socket) = &self.0 {
            lock(socket).take();
        }
    }
}
