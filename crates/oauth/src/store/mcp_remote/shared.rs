//! Our store and that of `mcp-remote` as one.

use std::sync::Arc;

use ridethrough::transport::BoxFuture;
use ridethrough_oauth_core::store::{AccountKey, GrantRecord};

use super::McpRemoteStore;
use super::files::{self, RemoteLogin};
use super::lease::HeldLease;
use crate::store::file::off_the_runtime;
use crate::store::{GrantStore, StoreError, StoreLock, Swap};

/// Our store and, for records that were taken over, that of `mcp-remote`.
pub(crate) struct SharedStore {
    ours: Arc<dyn GrantStore>,
    theirs: McpRemoteStore,
}

impl SharedStore {
    pub(crate) fn new(ours: Arc<dyn GrantStore>, theirs: McpRemoteStore) -> Self {
        Self { ours, theirs }
    }

    async fn load_newest(&self, account: &AccountKey) -> Result<Option<GrantRecord>, StoreError> {
        let Some(record) = self.ours.load(account).await? else { return Ok(None) };
        if !self.is_shared(&record) {
            return Ok(Some(record));
        }
        // If theirs cannot be read it is not used: ours has all that it had.
        let theirs = self.theirs.read().await.unwrap_or_default();
        Ok(Some(match theirs {
            Some(login) => newest(record, login),
            None => record,
        }))
    }

    fn is_shared(&self, record: &GrantRecord) -> bool {
        record.mcp_remote.as_deref() == Some(&*self.theirs.arguments().hash())
    }

    async fn swap(
        &self,
        lock: &StoreLock,
        expected: Option<&GrantRecord>,
        new: Option<&GrantRecord>,
    ) -> Result<Swap, StoreError> {
        let found = self.load_newest(lock.account()).await?;
        if found.as_ref() != expected {
            return Ok(Swap::Conflict(found.map(Box::new)));
        }
        // Theirs first: if this process ends in between, the newer tokens are where both programs look. If
        // theirs cannot be written, new tokens must still reach ours.
        if let Some(found) = found.filter(|record| self.is_shared(record))
            && let Err(error) = self.write_theirs(&found, new).await
        {
            tracing::warn!(%error, "new tokens could not be written into the store of mcp-remote");
        }
        let ours = self.ours.load(lock.account()).await?;
        self.ours.compare_and_swap(lock, ours.as_ref(), new).await
    }

    /// Writes to the store of `mcp-remote`. A login of our own is not shared, and leaves theirs unchanged.
    async fn write_theirs(
        &self,
        found: &GrantRecord,
        new: Option<&GrantRecord>,
    ) -> Result<(), StoreError> {
        let tokens = match new {
            Some(record) if !self.is_shared(record) => return Ok(()),
            Some(record) => record.tokens.clone(),
            None => None,
        };
        if tokens.is_some() && tokens == found.tokens {
            return Ok(());
        }
        let theirs = self.theirs.clone();
        off_the_runtime(move || match tokens {
            Some(tokens) => files::write(&theirs, &tokens),
            None => files::remove(&theirs),
        })
        .await
    }
}

impl GrantStore for SharedStore {
    fn load<'a>(
        &'a self,
        account: &'a AccountKey,
    ) -> BoxFuture<'a, Result<Option<GrantRecord>, StoreError>> {
        Box::pin(self.load_newest(account))
    }

    fn lock<'a>(&'a self, account: &'a AccountKey) -> BoxFuture<'a, Result<StoreLock, StoreError>> {
        Box::pin(async {
            let ours = self.ours.lock(account).await?;
            let record = self.ours.load(account).await?;
            if !record.is_some_and(|record| self.is_shared(&record)) {
                return Ok(ours);
            }
            let theirs = HeldLease::take(&self.theirs).await?;
            Ok(StoreLock::new(account.clone(), (theirs, ours)))
        })
    }

    fn compare_and_swap<'a>(
        &'a self,
        lock: &'a StoreLock,
        expected: Option<&'a GrantRecord>,
        new: Option<&'a GrantRecord>,
    ) -> BoxFuture<'a, Result<Swap, StoreError>> {
        Box::pin(self.swap(lock, expected, new))
    }
}

/// Returns the record with the tokens of the store that was written last.
fn newest(mut record: GrantRecord, login: RemoteLogin) -> GrantRecord {
    let is_same = record.tokens.as_ref().is_some_and(|it| it.access == login.tokens.access);
    let received = record.tokens.as_ref().map(|it| it.received_at);
    let is_newer = !is_same && received.is_none_or(|at| login.tokens.received_at >= at);
    let issuer = record.endpoints.issuer();
    let is_of_issuer = login.issuer.as_deref().is_none_or(|it| it == issuer);
    if is_newer && is_of_issuer {
        if let Some(client) = login.client.filter(|client| client.id != record.client.id) {
            record.key.client_id.clone_from(&client.id);
            record.client = client.of_issuer(record.endpoints.issuer().to_owned());
        }
        record.tokens = Some(login.tokens);
        record.end = None;
    }
    record
}
