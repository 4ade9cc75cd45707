//! The content of the files.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::client::{AuthMethod, Client, ClientKind};
use crate::json::{self, Object};
use crate::secret::Secret;
use crate::timestamp::Timestamp;
use crate::tokens::Tokens;

/// Reads `H_tokens.json`; `written_at` is when the file was written.
///
/// `expires_at` is in milliseconds and not always there. `expires_in` alone counts from when the file was
/// written, and never from when it is read.
pub fn read_tokens(text: &str, written_at: Timestamp) -> Option<Tokens> {
    let object = json::object(text.as_bytes())?;
    let access = Secret::new(json::text(&object, "access_token")?);
    let secret = |name| json::text(&object, name).map(Secret::new);
    let number = |name| object.get(name).and_then(Value::as_f64).filter(|it| *it >= 0.0);
    let life = number("expires_in").map(|seconds| Duration::from_secs_f64(seconds.min(1e10)));
    let absolute =
        object.get("expires_at").and_then(Value::as_u64).map(Timestamp::from_unix_millis);
    let expires_at = absolute.or_else(|| Some(written_at + life?));
    // A file is written a moment after its tokens came; counted from there, a token of two seconds would seem
    // to live for less.
    let came_at = absolute.zip(life).map(|(end, life)| end.minus(life));
    let tokens = Tokens::new(access, came_at.unwrap_or(written_at).min(written_at));
    Some(Tokens {
        refresh: secret("refresh_token"),
        id_token: secret("id_token"),
        scope: json::text(&object, "scope").map(str::to_owned),
        expires_at: expires_at.or(tokens.expires_at),
        ..tokens
    })
}

/// Returns the issuer in the text of `H_tokens.json`, which a refresh by `mcp-remote` may have lost.
pub fn tokens_issuer(text: &str) -> Option<String> {
    json::text(&json::object(text.as_bytes())?, "issuer").map(str::to_owned)
}

/// Returns the text of `H_tokens.json` with these tokens. Its other members are unchanged.
pub fn write_tokens(tokens: &Tokens, text: &str) -> Secret {
    let mut object: Object = json::object(text.as_bytes()).unwrap_or_default();
    let mut set = |name: &str, value: Option<Value>| match value {
        Some(value) => object.insert(name.to_owned(), value),
        None => object.remove(name),
    };
    let secret = |secret: &Option<Secret>| secret.as_ref().map(|it| it.expose().into());
    set("access_token", Some(tokens.access.expose().into()));
    set("token_type", Some("bearer".into()));
    set("refresh_token", secret(&tokens.refresh));
    set("id_token", secret(&tokens.id_token));
    set("scope", tokens.scope.as_deref().map(Into::into));
    let life = tokens.expires_at.map(|end| end.since(tokens.received_at).as_secs().into());
    set("expires_in", life);
    set("expires_at", tokens.expires_at.map(|end| end.unix_millis().into()));
    Secret::new(Value::Object(object).to_string())
}

/// Reads `H_client_info.json`: the client that registered itself, and its issuer if that is known.
pub fn client_info(text: &str) -> Option<Client> {
    let object = json::object(text.as_bytes())?;
    let id = json::text(&object, "client_id")?.to_owned();
    let secret = json::text(&object, "client_secret").map(Secret::new);
    let expiry = object.get("client_secret_expires_at").and_then(Value::as_u64);
    Some(Client {
        secret_expires_at: expiry.filter(|it| *it > 0).map(Timestamp::from_unix_secs),
        method: json::text(&object, "token_endpoint_auth_method").and_then(AuthMethod::named),
        issuer: json::text(&object, "issuer").map(str::to_owned),
        redirect_uris: json::texts(&object, "redirect_uris").unwrap_or_default(),
        ..Client::new(id, secret, ClientKind::Dynamic)
    })
}

/// The content of `H_refresh_in_progress.json`: which process may refresh.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// The process that holds it.
    pub pid: u32,
    /// A value that tells two holders apart: it is read back after writing.
    pub nonce: String,
    /// When the lease was taken, in milliseconds.
    pub at: Timestamp,
}

impl Lease {
    /// Creates a lease of this process from now on. The random bytes become a UUID, as in `mcp-remote`.
    pub fn new(pid: u32, random: [u8; 16], now: Timestamp) -> Self {
        Self { pid, nonce: uuid(random), at: now }
    }

    /// Reads a lease; `None` if the text is not one, which counts as stale.
    pub fn read(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// Returns the text to write into a new file.
    pub fn write(&self) -> String {
        // Two numbers and a text can always be written.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Whether the holder of the lease may still be at work. A stale lease is removed, once.
    ///
    /// A lease from the future means that the clock was set back.
    pub fn is_live(&self, now: Timestamp, holder: Holder) -> bool {
        holder == Holder::Running && self.at <= now && now.since(self.at) < LEASE
    }
}

/// Whether the process that holds a lease runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holder {
    /// It has ended.
    Gone,
    /// It runs.
    Running,
}

fn uuid(mut random: [u8; 16]) -> String {
    random[6] = random[6] & 0x0f | 0x40;
    random[8] = random[8] & 0x3f | 0x80;
    let hex: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

const LEASE: Duration = Duration::from_secs(30);
