//! The last known lists of servers, in the user's cache: one file for each server and list.
//!
//! Neither a URL nor a credential is in a file or in its name; a digest of both is in the name.

use std::path::PathBuf;

use ridethrough::Json;
use ridethrough_bridge::disk;
use ridethrough_config::folders;
use ridethrough_gateway::{ListKind, ListStore, ServerSettings};
use ridethrough_server::Principal;

/// Lists below the user's cache.
pub(super) struct KeptLists {
    folder: PathBuf,
}

impl KeptLists {
    /// Returns the lists of this user; `None` if the user has no folder for them.
    pub(super) fn of_user() -> Option<Self> {
        Some(Self { folder: folders::catalogues()?.join("gateway") })
    }

    fn path(
        &self,
        server: &ServerSettings,
        principal: Option<&Principal>,
        kind: ListKind,
    ) -> PathBuf {
        // What one principal saw is read for no other.
        let identity = format!("{}\n{}\n{principal:?}", server.name, server.connect.fingerprint());
        let name = &disk::digest(identity.as_bytes())[..32];
        self.folder.join(format!("{name}-{}.json", kind.key()))
    }
}

impl ListStore for KeptLists {
    fn read(
        &self,
        server: &ServerSettings,
        principal: Option<&Principal>,
        kind: ListKind,
    ) -> Option<Vec<Json>> {
        let text = disk::read(&self.path(server, principal, kind), MOST).ok()??;
        Json::new(text).ok()?.elements()
    }

    fn keep(
        &self,
        server: &ServerSettings,
        principal: Option<&Principal>,
        kind: ListKind,
        elements: &[Json],
    ) {
        let text = ridethrough_wire::message::splice::array(elements);
        let path = self.path(server, principal, kind);
        let is_kept =
            disk::read(&path, MOST).is_ok_and(|it| it.as_deref() == Some(text.as_bytes()));
        if !is_kept {
            // Without it, the server has no entries if it is down at the next start.
            let _ = disk::write(&path, text.as_bytes());
        }
    }
}

/// More than a list may have.
const MOST: u64 = 16 << 20;
