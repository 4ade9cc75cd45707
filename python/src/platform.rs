//! What differs by platform: the pair of sockets that wakes an event loop.

use std::io::{self, Read, Write};

#[cfg(unix)]
use std::os::{fd::AsRawFd, unix::net::UnixStream as Stream};

#[cfg(windows)]
use std::{
    net::{Ipv4Addr, TcpListener, TcpStream as Stream},
    os::windows::io::AsRawSocket,
};

/// Two connected sockets, neither of which ever blocks: a byte in one makes the other readable.
pub(crate) struct WakePair {
    bell: Stream,
    ear: Stream,
}

impl WakePair {
    pub(crate) fn new() -> io::Result<Self> {
        let (bell, ear) = pair()?;
        bell.set_nonblocking(true)?;
        ear.set_nonblocking(true)?;
        Ok(Self { bell, ear })
    }

    /// Makes the socket of [`fileno`](Self::fileno) readable.
    pub(crate) fn ring(&self) {
        // A full socket is already readable, and nothing else can fail while this process holds both ends.
        let _ = (&self.bell).write(&[1]);
    }

    /// Takes the bytes that made the socket readable.
    pub(crate) fn hush(&self) {
        let mut rung = [0; 16];
        // The socket is empty when a read fails or is short.
        while matches!((&self.ear).read(&mut rung), Ok(count) if count == rung.len()) {}
    }

    /// Returns the number of the socket to wait for.
    #[cfg(unix)]
    pub(crate) fn fileno(&self) -> i64 {
        self.ear.as_raw_fd().into()
    }

    /// Returns the number of the socket to wait for.
    #[cfg(windows)]
    pub(crate) fn fileno(&self) -> i64 {
        i64::try_from(self.ear.as_raw_socket()).unwrap_or(-1)
    }
}

#[cfg(unix)]
fn pair() -> io::Result<(Stream, Stream)> {
    Stream::pair()
}

#[cfg(windows)]
fn pair() -> io::Result<(Stream, Stream)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let bell = Stream::connect(listener.local_addr()?)?;
    let (ear, from) = listener.accept()?;
    if from != bell.local_addr()? {
        return Err(io::Error::other("another program connected to the socket for waking"));
    }
    bell.set_nodelay(true)?;
    Ok((bell, ear))
}
