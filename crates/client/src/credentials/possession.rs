//! The seam for tokens that are of no use without a key: a proof for each request.

use http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};

/// Proves with each request that its sender has the key that the token is bound to (DPoP, RFC 9449).
///
/// It is part of a [`Token`](super::Token): see [`Token::dpop`](super::Token::dpop).
pub trait ProofOfPossession: Send + Sync + 'static {
    /// Makes the value of the header `DPoP` for one request. It is called anew for each, also for one that is
    /// sent again. `None` sends the request without a proof, which the server then refuses.
    fn prove(&self, method: &Method, url: &Uri) -> Option<HeaderValue>;

    /// Looks at the head of each answer, in which the server may give the nonce of later proofs, and says
    /// what became of the proof.
    fn judge(&self, status: StatusCode, headers: &HeaderMap) -> ProofVerdict;
}

/// What an answer says about the proof of its request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProofVerdict {
    /// Nothing, or nothing that another proof would change.
    Settled,
    /// The server refused the request only because its proof had no nonce, or an old one, and has given the
    /// right one. The request is sent once more.
    WantsNonce,
}
