//! Who is let in while the gateway runs: tokens that an edit of their file changes.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use futures_util::future::{BoxFuture, FutureExt};
use ridethrough_config::gateway::{GatewayAccess, JwtSettings};
use ridethrough_server::{
    HashedTokens, Identified, JwtVerifier, Principal, Server, TokenRefused, VerifyToken,
};

use super::config::GatewayConfig;
use super::issuer::{self, IssuerKeys};
use super::principals::{self, PrincipalTokens};
use crate::expose::voice::Voice;

/// Who is let in. Clones share one.
#[derive(Clone)]
pub(super) struct LiveTokens(Arc<LiveTokensState>);

struct LiveTokensState {
    hashed: HashedTokens,
    /// The principals that have tokens, and the file that says so.
    known: Mutex<(Vec<Principal>, Option<PathBuf>)>,
    /// Signed tokens, as they were taken at the start.
    jwt: Option<JwtSettings>,
    server: OnceLock<Server>,
}

impl LiveTokens {
    pub(super) fn new(config: &GatewayConfig) -> Self {
        let tokens = Self(Arc::new(LiveTokensState {
            hashed: HashedTokens::default(),
            known: Mutex::default(),
            jwt: config.file.access.jwt.clone(),
            server: OnceLock::new(),
        }));
        tokens.set(&config.file.access, &config.tokens);
        tokens
    }

    /// Returns what knows the tokens of principals.
    pub(super) fn hashed(&self) -> HashedTokens {
        self.0.hashed.clone()
    }

    /// Returns what knows the signed tokens of an issuer.
    pub(super) fn signed(&self, settings: &JwtSettings) -> SignedTokens {
        let verifier = JwtVerifier::new(issuer::rules(settings), IssuerKeys::new(settings));
        SignedTokens { verifier, tokens: self.clone() }
    }

    /// Names the server whose sessions end when their principals are not let in any more.
    pub(super) fn serve_at(&self, server: &Server) {
        // It is named once.
        let _ = self.0.server.set(server.clone());
    }

    /// Returns the file with the hashes of tokens.
    pub(super) fn file(&self) -> Option<PathBuf> {
        self.0.known.lock().unwrap_or_else(PoisonError::into_inner).1.clone()
    }

    /// Takes over what the files say now. Sessions of those who have no token any more end.
    pub(super) fn renew(&self, access: &GatewayAccess, tokens: &PrincipalTokens, voice: &Voice) {
        let gone = self.set(access, tokens);
        if let Some(server) = self.0.server.get() {
            server.end_sessions(|caller| gone.contains(&caller.principal));
        }
        if access.jwt != self.0.jwt {
            voice.tell("`[gateway.access.jwt]` has changed, which is taken over at the next start");
        }
    }

    /// Returns the principals that have no token any more.
    fn set(&self, access: &GatewayAccess, tokens: &PrincipalTokens) -> Vec<Principal> {
        self.0.hashed.set(tokens.hashes());
        let now: Vec<_> = tokens.hashes().into_iter().map(|(_, principal)| principal).collect();
        let file = access.tokens.clone().or_else(|| principals::default_path().ok());
        let mut known = self.0.known.lock().unwrap_or_else(PoisonError::into_inner);
        let (before, _) = std::mem::replace(&mut *known, (now, file));
        before.into_iter().filter(|it| !known.0.contains(it)).collect()
    }
}

/// Knows the signed tokens of an issuer. The issuer cannot make anybody a principal that has a token in the file.
pub(super) struct SignedTokens {
    verifier: JwtVerifier,
    tokens: LiveTokens,
}

impl VerifyToken for SignedTokens {
    fn verify<'a>(&'a self, token: &'a str) -> BoxFuture<'a, Result<Identified, TokenRefused>> {
        let verifying = async move {
            let identified = self.verifier.verify(token).await?;
            let known = self.tokens.0.known.lock().unwrap_or_else(PoisonError::into_inner);
            if known.0.contains(&identified.principal) {
                let what = "the token names a principal that has a token of its own here";
                return Err(TokenRefused::Wrong { what: what.to_owned() });
            }
            Ok(identified)
        };
        verifying.boxed()
    }
}
