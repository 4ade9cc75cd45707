//! The codes of JSON-RPC errors that mean something to whoever recovers.

/// There is no such method.
pub const METHOD_NOT_FOUND: i64 = -32601;
/// The params are not what the method wants.
pub const INVALID_PARAMS: i64 = -32602;
/// The server failed.
pub const INTERNAL_ERROR: i64 = -32603;
/// A header of a stateless request does not say what its body says.
pub const HEADER_MISMATCH: i64 = -32020;
/// A stateless request needs something that the client did not declare.
pub const MISSING_CAPABILITY: i64 = -32021;
/// The revision of a stateless request is not spoken.
pub const UNSUPPORTED_VERSION: i64 = -32022;

/// Whether the stateless revision keeps a code for itself.
pub(crate) const fn is_modern(code: i64) -> bool {
    matches!(code, -32099..=-32020)
}
