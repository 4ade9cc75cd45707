//! The files of `mcp-remote`.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use ridethrough_oauth_core::Timestamp;
use ridethrough_oauth_core::client::Client;
use ridethrough_oauth_core::mcp_remote;
use ridethrough_oauth_core::tokens::Tokens;

use super::McpRemoteStore;
use crate::clock;
use crate::platform;
use crate::store::StoreError;

/// A login of `mcp-remote`.
#[derive(Clone, Debug)]
pub(crate) struct RemoteLogin {
    pub(crate) tokens: Tokens,
    /// The client that registered itself; `None` if it has another.
    pub(crate) client: Option<Client>,
    /// The issuer, as far as the files say.
    pub(crate) issuer: Option<String>,
}

impl McpRemoteStore {
    pub(super) fn tokens_path(&self) -> PathBuf {
        self.folder.join(self.arguments.tokens_file())
    }

    pub(super) fn lease_path(&self) -> PathBuf {
        self.folder.join(self.arguments.lease_file())
    }
}

/// Reads the login, if there is one.
pub(super) fn read(store: &McpRemoteStore) -> Result<Option<RemoteLogin>, StoreError> {
    let Some((text, written_at)) = text(&store.tokens_path())? else { return Ok(None) };
    // A file of another form is not ours to report.
    let Some(tokens) = mcp_remote::read_tokens(&text, written_at) else { return Ok(None) };
    let client = self::text(&store.folder.join(store.arguments.client_file()))?;
    let client = client.and_then(|(text, _)| mcp_remote::client_info(&text));
    let of_client = client.as_ref().and_then(|client| client.issuer.clone());
    let issuer = mcp_remote::tokens_issuer(&text).or(of_client);
    Ok(Some(RemoteLogin { tokens, client, issuer }))
}

/// Writes renewed tokens in the form of `mcp-remote`. A file that is gone stays gone: it was removed on
/// purpose.
pub(super) fn write(store: &McpRemoteStore, tokens: &Tokens) -> Result<(), StoreError> {
    let path = store.tokens_path();
    let Some((old, _)) = text(&path)? else { return Ok(()) };
    let new = mcp_remote::write_tokens(tokens, &old);
    let chance = u64::from_be_bytes(clock::random());
    let unfinished = path.with_extension(format!("{chance:016x}.tmp"));
    let written = platform::create_private(&unfinished).and_then(|mut file| {
        file.write_all(new.expose().as_bytes())?;
        file.sync_all()?;
        fs::rename(&unfinished, &path)
    });
    written.map_err(|source| {
        // It may not exist; a leftover holds no more than the file itself would have.
        let _ = fs::remove_file(&unfinished);
        StoreError::Io { path, doing: "written", source }
    })
}

/// Deletes the tokens, after they were revoked.
pub(super) fn remove(store: &McpRemoteStore) -> Result<(), StoreError> {
    let path = store.tokens_path();
    match fs::remove_file(&path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            Err(StoreError::Io { path, doing: "deleted", source })
        }
        _ => Ok(()),
    }
}

/// Returns the text of a file that only its owner can read, and when it was written.
fn text(path: &Path) -> Result<Option<(String, Timestamp)>, StoreError> {
    let failed = |source| StoreError::Io { path: path.to_owned(), doing: "read", source };
    let file = match platform::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(failed(source)),
    };
    let found = file.metadata().map_err(failed)?;
    let not_private = |why| StoreError::NotPrivate { path: path.to_owned(), why };
    if !found.is_file() {
        return Err(not_private("it is no regular file"));
    }
    platform::check_private(&found).map_err(not_private)?;
    let written_at = timestamp(found.modified().map_err(failed)?);
    let text = read_text(file).map_err(failed)?;
    Ok(Some((text, written_at)))
}

fn read_text(file: File) -> io::Result<String> {
    let mut text = String::new();
    file.take(LONGEST).read_to_string(&mut text)?;
    Ok(text)
}

fn timestamp(time: SystemTime) -> Timestamp {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_unix_millis(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// The most bytes of a file; tokens have a few kilobytes.
const LONGEST: u64 = 1 << 20;
