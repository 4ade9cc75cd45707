//! The tokens of a world: the server accepts one at a time, and the vault gives out that one.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use ridethrough::credentials::{Credentials, NoCredentials, Refused, Token};
use ridethrough::transport::BoxFuture;
use ridethrough_lab::Mcp;

/// The vault. Clones share one vault.
#[derive(Clone, Debug, Default)]
pub(crate) struct Vault(Arc<AtomicU64>);

impl Vault {
    /// Makes the server accept the next token only.
    pub(crate) fn expire(&self, mcp: &Mcp) {
        self.0.fetch_add(1, Ordering::Relaxed);
        mcp.require_bearer(Some(&self.current()));
    }

    fn current(&self) -> String {
        format!("token-{}", self.0.load(Ordering::Relaxed))
    }
}

impl Credentials for Vault {
    fn token<'a>(
        &'a self,
        refused: Option<Refused<'a>>,
    ) -> BoxFuture<'a, Result<Option<Token>, NoCredentials>> {
        Box::pin(async move {
            if refused.is_some() {
                tokio::time::sleep(Duration::from_millis(30)).await;
            }
            let token = Token::bearer(self.current());
            token.map(Some).map_err(|error| NoCredentials::because(error.to_string()))
        })
    }
}
