//! What Unix has: signals, owners and modes of files, terminals, and sockets by which bridges are seen.

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::Path;

use futures_util::future::select_all;
use rustix::termios::{QueueSelector, tcflush};
use tokio::signal::unix::{SignalKind, signal};

pub(crate) use crate::status::StatusServer;

/// Ends when a signal comes, with the exit code that shells give to it. Listens from this call on.
pub(crate) fn asked() -> impl Future<Output = u8> {
    let kinds = [
        SignalKind::hangup(),
        SignalKind::interrupt(),
        SignalKind::quit(),
        SignalKind::terminate(),
    ];
    let heard = kinds.into_iter().filter_map(|kind| {
        // One that cannot be heard does what it does by default.
        let mut signal = signal(kind).ok()?;
        Some(Box::pin(async move {
            signal.recv().await;
            u8::try_from(128 + kind.as_raw_value()).unwrap_or(u8::MAX)
        }))
    });
    let heard: Vec<_> = heard.collect();
    async move {
        if heard.is_empty() { std::future::pending().await } else { select_all(heard).await.0 }
    }
}

/// Has a file that these options make read and written by its owner only.
pub(crate) fn for_owner_only(options: &mut OpenOptions) {
    options.mode(0o600);
}

/// Gives a file of ours to the owner of its model.
pub(crate) fn keep_owner(file: &File, model: &Metadata) -> io::Result<()> {
    let own = file.metadata()?;
    if (own.uid(), own.gid()) == (model.uid(), model.gid()) {
        return Ok(());
    }
    fchown(file, Some(model.uid()), Some(model.gid()))
        .map_err(|error| io::Error::new(error.kind(), format!("its owner cannot be kept: {error}")))
}

/// Lets a rename in this folder outlive a power cut, where that can be done.
pub(crate) fn sync_folder(folder: &Path) {
    // The file itself is on the disk; a disk that cannot do this has done what it can.
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
}

/// Throws away what was typed so far.
pub(crate) fn discard_typed() {
    // Where it is no terminal there is nothing to discard.
    let _ = tcflush(io::stdin(), QueueSelector::IFlush);
}

/// Whether this file may be started by somebody.
pub(crate) fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|it| it.permissions().mode() & 0o111 != 0)
}
