//! The codes of JSON-RPC errors that MCP gives a meaning.

/// The message is not JSON.
pub const PARSE_ERROR: i64 = -32700;
/// The message is no JSON-RPC request.
pub const INVALID_REQUEST: i64 = -32600;
/// The method does not exist.
pub const METHOD_NOT_FOUND: i64 = -32601;
/// The params are not valid for the method.
pub const INVALID_PARAMS: i64 = -32602;
/// The server failed.
pub const INTERNAL_ERROR: i64 = -32603;
/// An error without a more specific code: the first code that JSON-RPC leaves to implementations.
pub const SERVER_ERROR: i64 = -32000;
/// The session is unknown, as servers of the official SDKs report it.
pub const SESSION_NOT_FOUND: i64 = -32001;
/// The resource does not exist, in the revisions with sessions.
pub const RESOURCE_NOT_FOUND: i64 = -32002;
/// A person must visit a URL first (revision 2025-11-25).
pub const URL_REQUIRED: i64 = -32042;
/// A header of a stateless request contradicts its body.
pub const HEADER_MISMATCH: i64 = -32020;
/// A stateless request needs a capability that the client did not declare.
pub const MISSING_CAPABILITY: i64 = -32021;
/// The server does not speak the revision of a stateless request.
pub const UNSUPPORTED_VERSION: i64 = -32022;
/// Our own word that a call may have run. No framework that was examined sends a call again for this number,
/// as some do for [`SERVER_ERROR`] and [`SESSION_NOT_FOUND`].
pub const MAY_HAVE_RUN: i64 = -32050;

/// Whether the stateless revision reserves this code. [`MAY_HAVE_RUN`] is ours, in every revision: it is no sign of
/// the era of a server.
pub const fn is_modern(code: i64) -> bool {
    matches!(code, -32099..=-32020) && code != MAY_HAVE_RUN
}
