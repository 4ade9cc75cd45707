//! The codes of JSON-RPC errors that MCP gives a meaning.

/// The message is not JSON.
pub const PARSE_ERROR: i64 = -32700;
/// The message is no request of JSON-RPC.
pub const INVALID_REQUEST: i64 = -32600;
/// There is no such method.
pub const METHOD_NOT_FOUND: i64 = -32601;
/// The params are not what the method wants.
pub const INVALID_PARAMS: i64 = -32602;
/// The server failed.
pub const INTERNAL_ERROR: i64 = -32603;
/// The first code that JSON-RPC leaves to implementations: an error without a code of its own.
pub const SERVER_ERROR: i64 = -32000;
/// What servers of the official SDKs say about a session that they do not know.
pub const SESSION_NOT_FOUND: i64 = -32001;
/// There is no such resource, in the revisions with sessions.
pub const RESOURCE_NOT_FOUND: i64 = -32002;
/// A person must visit a URL first (revision 2025-11-25).
pub const URL_REQUIRED: i64 = -32042;
/// A header of a stateless request does not say what its body says.
pub const HEADER_MISMATCH: i64 = -32020;
/// A stateless request needs something that the client did not declare.
pub const MISSING_CAPABILITY: i64 = -32021;
/// The revision of a stateless request is not spoken.
pub const UNSUPPORTED_VERSION: i64 = -32022;

/// Whether the stateless revision keeps a code for itself.
pub const fn is_modern(code: i64) -> bool {
    matches!(code, -32099..=-32020)
}
