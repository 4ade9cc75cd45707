//! `--socket PATH`: a way in for programs of the owner, without a token.
//!
//! The socket is readable and writable by its owner alone, and who connects must be the owner: the system
//! says who that is.

use std::convert::Infallible;
use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream as BlockingStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ridethrough_server::{Principal, Server};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio::time::sleep;

use crate::expose::threads::ServingThreads;
use crate::misuse::Misuse;
use crate::safe;

/// A socket that is listened on. Its file is removed when this is dropped.
pub(super) struct OwnersSocket {
    listener: UnixListener,
    path: PathBuf,
    /// The user whose programs may connect.
    owner: u32,
}

impl OwnersSocket {
    /// Listens on a socket at this path. A socket that was left behind by another process is replaced; any
    /// other file is not.
    pub(super) fn bind(path: &Path) -> Result<Self, Misuse> {
        Self::try_bind(path).map_err(|error| Misuse {
            what: format!("`{}` cannot be listened on: {error}", safe::path(path)),
            tried: "no server was started".to_owned(),
            hint: "name a path in a folder of yours where no file is".to_owned(),
        })
    }

    fn try_bind(path: &Path) -> io::Result<Self> {
        if let Ok(there) = fs::symlink_metadata(path) {
            if !there.file_type().is_socket() {
                return Err(io::Error::other("there is a file, and it is no socket"));
            }
            if BlockingStream::connect(path).is_ok() {
                return Err(io::Error::other("another process listens on it"));
            }
            fs::remove_file(path)?;
        }
        let listener = UnixListener::bind(path)?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
        let owner = fs::symlink_metadata(path)?.uid();
        Ok(Self { listener, path: path.to_owned(), owner })
    }

    /// Serves everybody who connects and is the owner.
    pub(super) async fn accept(&self, server: &Server, threads: &ServingThreads) -> Infallible {
        let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
        loop {
            let place = places.clone().acquire_owned().await.expect("it is never closed");
            let Ok((connection, _)) = self.listener.accept().await else {
                // The process has too many open files, most likely.
                server.make_room();
                sleep(Duration::from_millis(10)).await;
                continue;
            };
            // Before its mode was set, others may have opened it.
            if !self.is_owners(&connection) {
                continue;
            }
            let Ok(connection) = connection.into_std() else { continue };
            let server = server.clone();
            threads.serve(async move {
                let Ok(connection) = UnixStream::from_std(connection) else { return };
                server.serve_as(Principal::owner(), connection).await;
                drop(place);
            });
        }
    }

    fn is_owners(&self, connection: &UnixStream) -> bool {
        connection.peer_cred().is_ok_and(|peer| peer.uid() == self.owner || peer.uid() == 0)
    }
}

impl Drop for OwnersSocket {
    fn drop(&mut self) {
        // A file that stays behind is replaced at the next start.
        let _ = fs::remove_file(&self.path);
    }
}

/// As many as a person's programs need, and more.
const MOST_CONNECTIONS: usize = 256;
