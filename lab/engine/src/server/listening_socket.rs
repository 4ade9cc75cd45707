//! The listening socket of a server, which may be shut for a while without losing its port.

use std::io;
use std::net::{Ipv4Addr, Shutdown, SocketAddr};
use std::task::{Context, Poll};

use socket2::SockRef;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::AbortHandle;

/// ```text
/// None --reserve--> Shut <--shut / open--> Open
///                     ^                      |
///                     +--open-- Lost <-------+  (the port could not be kept, or not be listened on)
/// ```
pub(super) enum ListeningSocket {
    /// The port was ours, and must be again.
    Lost(SocketAddr),
    /// Only pipes lead to this server.
    None,
    /// Clients may connect.
    Open { listener: TcpListener, accepting: AbortHandle },
    /// The port is bound but not listened on: the kernel refuses connections, and gives the port to no other
    /// process.
    Shut(TcpSocket),
}

impl ListeningSocket {
    /// Reserves a port, this one if there was none (0 is any), and returns its address.
    pub(super) fn reserve(&mut self, port: u16) -> io::Result<SocketAddr> {
        match self {
            Self::Lost(address) => Ok(*address),
            Self::None => {
                let socket = bound(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))?;
                let address = socket.local_addr()?;
                *self = Self::Shut(socket);
                Ok(address)
            }
            Self::Open { listener, .. } => listener.local_addr(),
            Self::Shut(socket) => socket.local_addr(),
        }
    }

    /// Listens, if the socket is shut. `accept` starts the task that accepts connections.
    pub(super) fn open(&mut self, accept: impl FnOnce() -> AbortHandle) -> io::Result<()> {
        let socket = match std::mem::replace(self, Self::None) {
            Self::Lost(address) => {
                *self = Self::Lost(address);
                bound(address)?
            }
            Self::Shut(socket) => {
                *self = Self::Lost(socket.local_addr()?);
                socket
            }
            as_it_was => {
                *self = as_it_was;
                return Ok(());
            }
        };
        *self = Self::Open { listener: socket.listen(BACKLOG)?, accepting: accept() };
        Ok(())
    }

    /// Stops listening at once, if the socket is open.
    pub(super) fn shut(&mut self) -> io::Result<()> {
        let Self::Open { listener, accepting } = self else { return Ok(()) };
        let address = listener.local_addr()?;
        accepting.abort();
        // A process that is just being started holds a copy of the listener until it runs, so dropping ours
        // would not end it. If this fails, ours is most likely the only one.
        let _ = SockRef::from(&*listener).shutdown(Shutdown::Both);
        // The listener must be dropped first: a port that is listened on cannot be bound again.
        *self = Self::Lost(address);
        *self = Self::Shut(bound(address)?);
        Ok(())
    }

    /// Accepts a connection. `None` when the socket is not open.
    pub(super) fn poll_accept(
        &self,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<TcpStream>>> {
        let Self::Open { listener, .. } = self else { return Poll::Ready(None) };
        listener.poll_accept(context).map(|accepted| Some(accepted.map(|(stream, _)| stream)))
    }
}

fn bound(address: SocketAddr) -> io::Result<TcpSocket> {
    let socket = TcpSocket::new_v4()?;
    // Connections that a killed server leaves behind must not block its port.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    Ok(socket)
}

const BACKLOG: u32 = 1024;

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;

    /// A child that is forked and not executed yet holds every file of its parent.
    #[tokio::test]
    async fn a_socket_can_be_shut_while_a_child_still_holds_a_copy_of_the_listener() {
        let mut socket = ListeningSocket::None;
        let address = socket.reserve(0).unwrap();
        socket.open(accept).unwrap();
        let ListeningSocket::Open { listener, .. } = &socket else { panic!() };
        let copy = listener.as_fd().try_clone_to_owned().unwrap();

        socket.shut().unwrap();

        let refused = TcpStream::connect(address).await.unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
        socket.open(accept).unwrap();
        TcpStream::connect(address).await.unwrap();
        drop(copy);
    }

    fn accept() -> AbortHandle {
        tokio::spawn(async {}).abort_handle()
    }
}
