//! The sockets through which running bridges and gateways are asked for their state: a Unix socket each, in a
//! folder that only its owner can enter.
//!
//! A host may start a bridge with few environment variables, while a person has many. So a bridge takes the
//! first folder that it can use, and the asker looks in all of them.

use std::env;
use std::ffi::OsString;
use std::fs::{self, DirBuilder, Metadata, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use ridethrough_bridge::Snapshot;
use ridethrough_config::settings::Origin;
use ridethrough_gateway::UpstreamStatus;
use rustix::process::geteuid;
use serde::{Deserialize, Serialize};
use tokio::net::UnixStream;
use tokio::time::timeout;

/// A bridge's reply.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct StatusReply {
    pub(crate) pid: u32,
    pub(crate) version: String,
    /// The address of the server, without values that may be secrets.
    pub(crate) upstream: String,
    /// The sources of its settings.
    pub(crate) settings: Vec<Origin>,
    #[serde(flatten)]
    pub(crate) snapshot: Snapshot,
}

/// A gateway's reply.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct GatewayReply {
    pub(crate) pid: u32,
    pub(crate) version: String,
    /// Where clients find it; `stdio` for the gateway of one host.
    pub(crate) gateway: String,
    pub(crate) up_since_ms: u64,
    pub(crate) upstreams: Vec<UpstreamStatus>,
}

/// The program that a socket belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SocketOwner {
    Bridge,
    Gateway,
}

impl SocketOwner {
    const fn prefix(self) -> &'static str {
        match self {
            Self::Bridge => "bridge-",
            Self::Gateway => "gateway-",
        }
    }
}

/// Returns the folders where sockets may be, the best first.
pub(crate) fn places() -> Vec<PathBuf> {
    places_from(|name| env::var_os(name))
}

fn places_from(variable: impl Fn(&str) -> Option<OsString>) -> Vec<PathBuf> {
    let folder = |name| variable(name).map(PathBuf::from).filter(|it| it.is_absolute());
    let run = folder("XDG_RUNTIME_DIR").map(|it| it.join("ridethrough"));
    let caches = [folder("XDG_CACHE_HOME"), folder("HOME").map(|it| it.join(".cache"))];
    let below_caches = caches.into_iter().flatten().map(|it| it.join("ridethrough/run"));
    let mut places: Vec<_> = run.into_iter().chain(below_caches).collect();
    places.dedup();
    places
}

/// Makes a folder that no other user can enter; a folder of another user is refused.
pub(crate) fn make_private(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let found = fs::symlink_metadata(folder)?;
    if !is_own(&found) {
        return Err(io::Error::other("it belongs to somebody else"));
    }
    if found.mode() & 0o077 != 0 {
        fs::set_permissions(folder, Permissions::from_mode(0o700))?;
    }
    Ok(())
}

fn is_own(found: &Metadata) -> bool {
    found.is_dir() && found.uid() == geteuid().as_raw()
}

/// Returns the socket of the bridge or gateway with this process number.
pub(crate) fn path(folder: &Path, owner: SocketOwner, pid: u32) -> PathBuf {
    folder.join(format!("{}{pid}.sock", owner.prefix()))
}

/// Returns the socket's path until it accepts connections.
pub(crate) fn draft(folder: &Path, owner: SocketOwner, pid: u32) -> PathBuf {
    // Not shorter than the final name: the system bounds the length of both.
    folder.join(format!("{}{pid}.sock.new", owner.prefix()))
}

/// Returns the sockets in a folder, with the process numbers of their owners.
pub(crate) fn sockets(folder: &Path) -> Vec<(u32, PathBuf)> {
    found(folder, ".sock")
}

/// Returns the files of bridges and gateways whose names end with `end`. Returns none if other users could
/// have put them there.
fn found(folder: &Path, end: &str) -> Vec<(u32, PathBuf)> {
    let is_safe = |it: Metadata| is_own(&it) && it.mode() & 0o022 == 0;
    if !fs::symlink_metadata(folder).is_ok_and(is_safe) {
        return Vec::new();
    }
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let number = |name: OsString| {
        let name = name.into_string().ok()?;
        let prefixes = [SocketOwner::Bridge, SocketOwner::Gateway].map(SocketOwner::prefix);
        let rest = prefixes.iter().find_map(|it| name.strip_prefix(it))?;
        rest.strip_suffix(end)?.parse().ok()
    };
    entries.filter_map(|entry| Some((number(entry.file_name())?, entry.path()))).collect()
}

/// Connects to a socket. A socket without a listener is removed: its bridge was killed.
pub(crate) async fn connect(path: &Path) -> io::Result<UnixStream> {
    let connected = UnixStream::connect(path).await;
    if connected.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused) {
        // Another process may have removed it first.
        let _ = fs::remove_file(path);
    }
    connected
}

/// Removes what killed bridges left behind.
pub(crate) async fn sweep(folder: &Path) {
    for (_, path) in found(folder, ".sock") {
        // A socket with a listener is left alone, whether it answers or not.
        let _ = timeout(PATIENCE, connect(&path)).await;
    }
    for (_, path) in found(folder, ".sock.new") {
        let age =
            fs::symlink_metadata(&path).ok().and_then(|it| it.modified().ok()?.elapsed().ok());
        // A draft exists for a moment only, so the bridge of an old one was killed in that moment.
        if age.is_some_and(|age| age > BIRTH) {
            let _ = fs::remove_file(&path);
        }
    }
}

/// The request to a bridge.
pub(crate) const ASK: &[u8] = b"status\n";
const PATIENCE: Duration = Duration::from_secs(1);
const BIRTH: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn whoever_asks_looks_also_where_a_bridge_with_fewer_variables_is() {
        let all = [("XDG_RUNTIME_DIR", "/run/me"), ("XDG_CACHE_HOME", "/c"), ("HOME", "/me")];
        let few = [("HOME", "/me"), ("XDG_RUNTIME_DIR", "not/absolute")];
        let places = |known: &[(&str, &str)]| {
            places_from(|name| known.iter().find(|(it, _)| *it == name).map(|(_, at)| at.into()))
        };

        let asked = places(&all);

        assert_eq!(asked[0], Path::new("/run/me/ridethrough"));
        assert_eq!(places(&few), [Path::new("/me/.cache/ridethrough/run")]);
        assert!(asked.contains(&places(&few)[0]));
    }

    #[test]
    fn a_folder_is_the_users_own_and_nobody_elses() {
        let folder = scratch("own");

        make_private(&folder).unwrap();
        assert_eq!(fs::metadata(&folder).unwrap().mode() & 0o777, 0o700);
        fs::set_permissions(&folder, Permissions::from_mode(0o777)).unwrap();
        fs::write(path(&folder, SocketOwner::Bridge, 7), "").unwrap();
        assert!(sockets(&folder).is_empty(), "anybody could have put it there");
        make_private(&folder).unwrap();

        assert_eq!(fs::metadata(&folder).unwrap().mode() & 0o777, 0o700);
        assert_eq!(sockets(&folder), [(7, path(&folder, SocketOwner::Bridge, 7))]);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_folder_that_is_only_a_link_is_refused() {
        let (folder, link) = (scratch("real"), scratch("link"));
        make_private(&folder).unwrap();
        std::os::unix::fs::symlink(&folder, &link).unwrap();

        let refused = make_private(&link);

        assert!(refused.is_err());
        fs::remove_file(&link).unwrap();
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn only_sockets_of_bridges_are_looked_at() {
        let folder = scratch("names");
        make_private(&folder).unwrap();
        for name in ["bridge-12.sock", "bridge-x.sock", "bridge-1.sock.new", "12.sock"] {
            fs::write(folder.join(name), "").unwrap();
        }

        let found = sockets(&folder);

        assert_eq!(found, [(12, path(&folder, SocketOwner::Bridge, 12))]);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[tokio::test]
    async fn what_a_killed_bridge_left_is_removed_and_what_listens_stays() {
        let folder = scratch("sweep");
        make_private(&folder).unwrap();
        let (dead, alive) =
            (path(&folder, SocketOwner::Gateway, 1), path(&folder, SocketOwner::Gateway, 2));
        drop(std::os::unix::net::UnixListener::bind(&dead).unwrap());
        let listener = std::os::unix::net::UnixListener::bind(&alive).unwrap();
        let (unborn, newborn) =
            (draft(&folder, SocketOwner::Gateway, 3), draft(&folder, SocketOwner::Gateway, 4));
        let long_ago = SystemTime::now() - 2 * BIRTH;
        fs::File::create(&unborn).unwrap().set_modified(long_ago).unwrap();
        fs::File::create(&newborn).unwrap();

        sweep(&folder).await;

        assert_eq!((dead.exists(), alive.exists()), (false, true));
        assert_eq!((unborn.exists(), newborn.exists()), (false, true));
        drop(listener);
        fs::remove_dir_all(&folder).unwrap();
    }

    fn scratch(name: &str) -> PathBuf {
        env::temp_dir().join(format!("ridethrough-socket-{}-{name}", std::process::id()))
    }
}
