//! What a gateway keeps of its servers: the last known lists, in the user's cache, and whose the names are that two
//! servers want, in the user's state folder.
//!
//! Neither a URL nor a credential is in a file of a list or in its name; a digest of both is in the name.

use std::path::{Path, PathBuf};

use ridethrough::Json;
use ridethrough_bridge::disk;
use ridethrough_config::folders;
use ridethrough_gateway::{ListKind, ListStore, NameStore, OwnedName, ServerSettings};
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

/// The names of one config file.
pub(super) struct KeptNames {
    path: PathBuf,
}

impl KeptNames {
    /// Returns the names for a config file; `None` if the user has no folder for them.
    pub(super) fn of(config: &Path) -> Option<Self> {
        let whole = config.canonicalize().unwrap_or_else(|_| config.to_owned());
        let name = &disk::digest(whole.as_os_str().as_encoded_bytes())[..32];
        Some(Self { path: folders::state()?.join("names").join(format!("{name}.json")) })
    }
}

impl NameStore for KeptNames {
    fn read(&self) -> Vec<OwnedName> {
        let text = disk::read(&self.path, MOST).ok().flatten().unwrap_or_default();
        let kept: Vec<[String; 4]> = serde_json::from_slice(&text).unwrap_or_default();
        let owned = |[kind, name, server, original]: [String; 4]| {
            let kind = ListKind::ALL.into_iter().find(|it| it.key() == kind)?;
            Some(OwnedName { kind, name, server, original })
        };
        kept.into_iter().filter_map(owned).collect()
    }

    fn keep(&self, names: &[OwnedName]) {
        let rows = names.iter().map(|it| [it.kind.key(), &it.name, &it.server, &it.original]);
        let rows: Vec<_> = rows.collect();
        if let Ok(text) = serde_json::to_vec(&rows) {
            // Without it, a name may be the other server's after the next start.
            let _ = disk::write(&self.path, &text);
        }
    }
}

/// More than a list may have.
const MOST: u64 = 16 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_were_kept_and_anything_else_is_none() {
        let folder = format!("ridethrough-names-{}", std::process::id());
        let folder = std::env::temp_dir().join(folder);
        let kept = KeptNames { path: folder.join("names").join("a.json") };
        let owned = |kind, name: &str| OwnedName {
            kind,
            name: name.to_owned(),
            server: "a b".to_owned(),
            original: "x\"y".to_owned(),
        };
        let names = [owned(ListKind::Prompts, "p"), owned(ListKind::Tools, "t")];
        assert_eq!(kept.read(), []);

        kept.keep(&names);
        assert_eq!(kept.read(), names);
        disk::write(&kept.path, br#"[["tools","t"],"x"]"#).unwrap();
        assert_eq!(kept.read(), []);
        std::fs::remove_dir_all(folder).unwrap();
    }
}
