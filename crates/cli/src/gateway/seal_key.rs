//! The key that seals what callers carry for the gateway: the ids of tasks, and the states of rounds.
//!
//! It is made at the first start and kept in the user's state folder, so that the next gateway knows the tasks
//! that were begun at this one.

use std::path::Path;

use anyhow::Context;
use ridethrough_bridge::disk;
use ridethrough_config::folders;
use ridethrough_server::SealKey;

/// Reads the key, or makes one. Without a folder for it, or with a file that is not ours, the key is for this
/// process only.
///
/// # Errors
///
/// Fails if the operating system has no randomness.
pub(super) fn read_or_make() -> anyhow::Result<SealKey> {
    let path = folders::state().map(|it| it.join(NAME));
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

const NAME: &str = "gateway-key";
const MOST: u64 = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_read_as_it_was_kept_and_one_of_another_length_is_none() {
        let folder = format!("ridethrough-key-{}", std::process::id());
        let folder = std::env::temp_dir().join(folder);
        let path = folder.join(NAME);
        assert_eq!(kept_in(&path).unwrap(), None);

        disk::write(&path, &[7; 32]).unwrap();
        assert_eq!(kept_in(&path).unwrap(), Some([7; 32]));
        disk::write(&path, &[7; 31]).unwrap();
        assert_eq!(kept_in(&path).unwrap(), None);
        std::fs::remove_dir_all(folder).unwrap();
    }
}
