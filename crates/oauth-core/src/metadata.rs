//! The two documents of discovery: the protected resource (RFC 9728) and the authorization server (RFC 8414,
//! OpenID Connect Discovery).
//!
//! Only the members that we use are kept. A member of the wrong type counts as absent, because servers are
//! careless with members that few clients read; without a required member the text is not such a document.

mod authorization_server;
mod pins;
mod protected_resource;
#[cfg(test)]
mod tests;

pub use authorization_server::{AuthorizationServer, MetadataSource};
pub use pins::{PinnedEndpoints, Swapped};
pub use protected_resource::ProtectedResource;

use crate::address::AddressError;

/// Why a body is not the document that was looked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DocumentError {
    /// A URL in it must not be used.
    #[error("its `{member}` cannot be used: {why}")]
    Address {
        /// The member.
        member: &'static str,
        /// What is wrong with it.
        why: AddressError,
    },
    /// A required member is absent, empty or of the wrong type.
    #[error("it has no `{0}`")]
    Missing(&'static str),
    /// The body is not a JSON object: most often it is a page of a web application.
    #[error("it is no JSON object")]
    NotAnObject,
}
