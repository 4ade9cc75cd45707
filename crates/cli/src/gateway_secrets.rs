//! The gateway's own secrets, made at its first start and readable by its owner only: the token that clients show, and
//! the key that seals what callers carry for it, the ids of tasks and the states of rounds. The next gateway knows what
//! was sealed by this one.

use std::path::{Path, PathBuf};

use anyhow::Context;
use ridethrough_bridge::disk;
use ridethrough_config::folders;
use ridethrough_core::answer::words::harmless;
use ridethrough_server::{SealKey, Token};

use crate::misuse::Misuse;

/// The token, and the file that it is kept in.
pub(crate) struct KeptToken {
    pub(crate) token: Token,
    pub(crate) path: PathBuf,
}

/// Reads the token, or makes one.
pub(crate) fn token() -> Result<KeptToken, Misuse> {
    let path = folders::state()
        .map(|it| it.join(NAME))
        .ok_or_else(|| wrong("this user has no folder of its own to keep a token in".to_owned()))?;
    let shown = harmless(&path.to_string_lossy());
    let kept = disk::read(&path, MOST).map_err(|why| wrong(format!("`{shown}`: {why}")))?;
    if let Some(text) = kept {
        let text = String::from_utf8(text).unwrap_or_default();
        let token = Token::new(text.trim()).map_err(|why| wrong(format!("`{shown}`: {why}")))?;
        return Ok(KeptToken { token, path });
    }
    let token = Token::random().map_err(|why| wrong(format!("no token can be made: {why}")))?;
    let text = format!("{}\n", token.reveal());
    disk::write(&path, text.as_bytes()).map_err(|why| wrong(format!("`{shown}`: {why}")))?;
    Ok(KeptToken { token, path })
}

fn wrong(what: String) -> Misuse {
    Misuse {
        what,
        tried: "nothing was started".to_owned(),
        hint: "name a token with `--token-env VAR`, or delete the file for a new one".to_owned(),
    }
}

/// Reads the key, or makes one. Without a folder for it, or with a file that is not ours, the key is for this
/// process only.
///
/// # Errors
///
/// Fails if the operating system has no randomness.
pub(crate) fn seal_key() -> anyhow::Result<SealKey> {
    let path = folders::state().map(|it| it.join(KEY_NAME));
    let secret = match path.as_deref().map(|path| (path, kept_in(path))) {
        Some((_, Ok(Some(secret)))) => secret,
        Some((path, Ok(None))) => {
            let secret = made()?;
            // Without it, the next gateway does not know what this one has sealed.
            let _ = disk::write(path, &secret);
            // Another gateway may have started at this moment: one key must be used by both.
            kept_in(path).ok().flatten().unwrap_or(secret)
        }
        Some((_, Err(_))) | None => made()?,
    };
    Ok(SealKey::new(&secret))
}

type Secret = [u8; SealKey::LENGTH];

fn made() -> anyhow::Result<Secret> {
    SealKey::random().context("no key can be made")
}

/// Returns the key in a file; `None` if there is none.
fn kept_in(path: &Path) -> Result<Option<Secret>, disk::Unfit> {
    let kept = disk::read(path, MOST)?;
    Ok(kept.and_then(|bytes| bytes.try_into().ok()))
}

const NAME: &str = "gateway-token";
const MOST: u64 = 4096;
const KEY_NAME: &str = "gateway-key";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_read_as_it_was_kept_and_one_of_another_length_is_none() {
        let folder = format!("ridethrough-key-{}", std::process::id());
        let folder = std::env::temp_dir().join(folder);
        let path = folder.join(KEY_NAME);
        assert_eq!(kept_in(&path).unwrap(), None);

        disk::write(&path, &[7; 32]).unwrap();
        assert_eq!(kept_in(&path).unwrap(), Some([7; 32]));
        disk::write(&path, &[7; 31]).unwrap();
        assert_eq!(kept_in(&path).unwrap(), None);
        std::fs::remove_dir_all(folder).unwrap();
    }
}
