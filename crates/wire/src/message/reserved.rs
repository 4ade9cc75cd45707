//! The keys of `_meta` that 2026-07-28 reserves, and our own.

use memchr::memmem;

use super::Json;

/// The revision of a request.
pub const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// What the client of a request can do.
pub const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// What the client of a request says of itself.
pub const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
/// The level from which on the client of a request wants the log.
pub const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
/// What the server of a result says of itself.
pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
/// The request that a notification belongs to.
pub const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";
/// A list of ours that is what was last known, because the server could not be asked.
pub const LAST_KNOWN: &str = "ridethrough/lastKnown";

/// Returns the `_meta` of these params if it may have a reserved key. A search in the bytes is enough for most
/// requests of an older revision.
pub fn likely_meta(params: Option<&Json>) -> Option<Json> {
    let is_likely = |params: &&Json| memmem::find(params.as_bytes(), RESERVED).is_some();
    params.filter(is_likely)?.member("_meta")
}

/// The beginning of all reserved keys. The slash behind it may be escaped.
const RESERVED: &[u8] = b"io.modelcontextprotocol";
