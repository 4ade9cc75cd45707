//! A server's end of one connection, over a pipe or a socket, and the means to reset it from outside.

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use socket2::{SockRef, Socket};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

use crate::lock::lock;
use crate::pipe::{Control, Pipe};
use crate::tls::{self, TlsSettings};

/// A byte stream: a pipe or a socket, with or without TLS.
pub(crate) trait Wire: AsyncRead + AsyncWrite + Send + Sync + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Sync + Unpin> Wire for T {}

/// Carries out the TLS handshake of the server, if there is TLS.
pub(crate) async fn secure(
    raw: Box<dyn Wire>,
    settings: Option<Arc<TlsSettings>>,
) -> io::Result<Box<dyn Wire>> {
    match settings {
        Some(settings) => Ok(Box::new(tls::handshake(raw, settings).await?)),
        None => Ok(raw),
    }
}

/// Resets a connection whose stream another task, perhaps TLS, owns.
///
/// A pipe is reset at once. A socket is only prepared (`SO_LINGER` of zero): the reset is sent when its owner
/// drops it, so the caller must make the owner do that.
#[derive(Clone, Debug)]
pub(crate) struct Fuse(WireKind);

#[derive(Clone, Debug)]
enum WireKind {
    Pipe(Control),
    /// A duplicate of the descriptor. While it exists the kernel keeps the socket open, so it is dropped when
    /// the fuse blows or [`spend`](Fuse::spend) is called.
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
                    // It fails only on a socket that is closed already, and then there is nothing to reset.
                    let _ = socket.set_linger(Some(Duration::ZERO));
                }
            }
        }
    }

    /// Turns a pipe into a black hole.
    pub(crate) fn stall(&self) {
        if let WireKind::Pipe(control) = &self.0 {
            control.stall();
        }
    }

    /// Drops the duplicate, so that dropping the stream closes the connection.
    pub(crate) fn spend(&self) {
        if let WireKind::Socket(socket) = &self.0 {
            lock(socket).take();
        }
    }
}
