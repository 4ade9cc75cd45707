//! The gateway's own token, made at its first start and readable by its owner only.

use std::path::PathBuf;

use ridethrough_bridge::disk;
use ridethrough_config::folders;
use ridethrough_core::answer::words::harmless;
use ridethrough_server::Token;

use crate::misuse::Misuse;

/// The token, and the file that it is kept in.
pub(crate) struct KeptToken {
    pub(crate) token: Token,
    pub(crate) path: PathBuf,
}

/// Reads the token, or makes one.
pub(crate) fn read_or_make() -> Result<KeptToken, Misuse> {
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

const NAME: &str = "gateway-token";
const MOST: u64 = 4096;
