//! The secrets that are sent to the upstream and must reach no one else: those that were configured, and the
//! tokens of a login, which change while the bridge runs.

use std::borrow::Cow;

use ridethrough_oauth::Account;
use ridethrough_wire::secrets::Secrets;

/// The secrets of a bridge.
#[derive(Clone, Default)]
pub(crate) struct Masker {
    pub(crate) configured: Secrets,
    pub(crate) account: Option<Account>,
}

impl Masker {
    /// Returns the secrets at this moment.
    pub(crate) fn secrets(&self) -> Cow<'_, Secrets> {
        let tokens = self.account.as_ref().map(Account::tokens_in_use).unwrap_or_default();
        if tokens.is_empty() {
            return Cow::Borrowed(&self.configured);
        }
        let mut secrets = self.configured.clone();
        tokens.iter().for_each(|token| secrets.keep(token.expose()));
        Cow::Owned(secrets)
    }
}
