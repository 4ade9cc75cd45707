//! The extension of a client's builder that adds a login.

use ridethrough::ClientBuilder;

use crate::error::SettingsError;
use crate::settings::OAuth;

/// Adds [`oauth`](Self::oauth) to the builder of a client.
pub trait ClientBuilderExt: Sized {
    /// Takes tokens from this login. Call it after everything that concerns the network: proxies, trusted
    /// roots and a dial apply to the authorization server, too.
    ///
    /// ```
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// use ridethrough::Client;
    /// use ridethrough_oauth::{ClientBuilderExt, OAuth};
    ///
    /// let client = Client::builder("https://example.com/mcp").oauth(OAuth::new("my app"))?.build()?;
    /// # Ok(()) }
    /// ```
    fn oauth(self, oauth: OAuth) -> Result<Self, SettingsError>;
}

impl ClientBuilderExt for ClientBuilder {
    fn oauth(self, oauth: OAuth) -> Result<Self, SettingsError> {
        let account = oauth.account(&self)?;
        Ok(self.credentials(account))
    }
}
