//! The store and the token endpoint, as the grant wants them: one piece of work at a time.

use std::sync::Arc;
use std::time::Duration;

use ridethrough_oauth_core::grant::{Effect, LoginReason, RefreshOutcome, StoreUse};
use ridethrough_oauth_core::store::{GrantRecord, StoredEnd};
use ridethrough_oauth_core::token_answer;
use ridethrough_oauth_core::token_request::TokenRequest;
use ridethrough_oauth_core::{Fetched, Secret};
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::TokenSource;
use super::memory::UnderWay;
use crate::context::as_sent;
use crate::dpop::DpopKey;
use crate::error::LoginFailure;
use crate::store::{StoreLock, Swap};

impl TokenSource {
    /// Works in a task of its own, which ends although nobody may wait for it any more.
    pub(super) fn spawn_work(self: &Arc<Self>, effect: Effect) -> JoinHandle<Effect> {
        let (source, worker) = (self.clone(), self.clone());
        let working = self.at_work.begin();
        tokio::spawn(async move {
            let _working = working;
            // A store of the application's own may panic.
            let worked = tokio::spawn(async move { worker.work(effect).await }).await;
            let effect = worked.unwrap_or_else(|_| source.give_up_work());
            source.tell_ended();
            effect
        })
    }

    /// Reports work that came to no end, so that nobody waits for it.
    fn give_up_work(&self) -> Effect {
        let now = self.context.now();
        let mut memory = self.memory();
        let effect = match memory.under_way.take() {
            Some(UnderWay::Refresh(id)) => {
                memory.grant().handle_refresh(now, id, RefreshOutcome::Lost)
            }
            Some(UnderWay::Store(id)) => memory.grant().handle_store_failure(now, id),
            None => None,
        };
        drop(memory);
        effect.unwrap_or_else(|| self.want_token())
    }

    async fn work(&self, mut effect: Effect) -> Effect {
        let mut lock = None;
        loop {
            let next = match effect {
                Effect::AskStore { id, purpose } => self.ask_store(id, purpose, &mut lock).await,
                Effect::RefreshWith { id, refresh_token, scope } => {
                    self.memory().under_way = Some(UnderWay::Refresh(id));
                    let outcome = self.refresh(&refresh_token, scope.as_deref()).await;
                    let now = self.context.now();
                    let is_replaced = outcome.replaces_refresh_token();
                    let next = self.memory().grant().handle_refresh(now, id, outcome);
                    if is_replaced && next.is_some() {
                        // The old one is worth nothing any more.
                        self.memory().is_unsaved = true;
                        self.save(lock.as_ref()).await;
                    }
                    // Before the lock is given back: whoever has it next must not send the token again.
                    self.note_end(lock.as_ref()).await;
                    next
                }
                Effect::StoreAndUse(tokens) => {
                    self.memory().is_unsaved = true;
                    self.save(lock.as_ref()).await;
                    Some(Effect::UseToken(tokens.access))
                }
                done => return done,
            };
            self.memory().under_way = None;
            // A login came in between and has replaced everything.
            effect = next.unwrap_or_else(|| self.want_token());
        }
    }

    async fn ask_store(
        &self,
        id: u64,
        purpose: StoreUse,
        lock: &mut Option<StoreLock>,
    ) -> Option<Effect> {
        self.memory().under_way = Some(UnderWay::Store(id));
        let read = async {
            match purpose {
                StoreUse::Login => *lock = None,
                StoreUse::Refresh if lock.is_none() => {
                    *lock = Some(self.context.store.lock(&self.context.account).await?);
                }
                StoreUse::Refresh => {}
            }
            self.context.load().await
        };
        let read = read.await;
        let now = self.context.now();
        match read {
            Ok(record) => self.memory().answer_store(now, id, record),
            Err(error) => {
                tracing::warn!(error = crate::error::with_causes(&error), "the store failed");
                self.memory().grant().handle_store_failure(now, id)
            }
        }
    }

    async fn refresh(&self, refresh_token: &Secret, scope: Option<&str>) -> RefreshOutcome {
        let (request, key) = match self.refresh_request(refresh_token, scope) {
            Ok(made) => made,
            Err(error) => return RefreshOutcome::Impossible(crate::error::with_causes(&error)),
        };
        tracing::debug!(refresh_token = refresh_token.fingerprint(), "refreshing");
        // A slow answer makes no token live longer: one that seems new and is refused would cost a login.
        let sent_at = self.context.now();
        let answer = match self.context.post(&request, key.as_ref()).await {
            Fetched::Failure(_) => return RefreshOutcome::Lost,
            Fetched::Answer(answer) => answer,
        };
        match token_answer::read(&answer, request.asked(), sent_at) {
            Err(error) => RefreshOutcome::Answered(Err(error)),
            Ok(tokens) => match as_sent(tokens.clone(), self.sends_id_token()) {
                Some(tokens) => RefreshOutcome::Answered(Ok(tokens)),
                None => RefreshOutcome::Useless {
                    refresh: tokens.refresh,
                    words: LoginFailure::NoIdToken.to_string(),
                },
            },
        }
    }

    /// As it was said at the login, or is set here.
    fn sends_id_token(&self) -> bool {
        let is_recorded = self.memory().record.as_ref().is_some_and(|it| it.sends_id_token);
        is_recorded || self.context.oauth.uses_id_token
    }

    /// To the endpoint of the login, whatever documents say by now.
    fn refresh_request(
        &self,
        refresh_token: &Secret,
        scope: Option<&str>,
    ) -> Result<(TokenRequest, Option<DpopKey>), LoginFailure> {
        let record = self.memory().record.clone();
        let record = record.ok_or(LoginFailure::Needed(LoginReason::NoGrant))?;
        let server = record.server()?;
        record.endpoints.check(&server)?;
        self.context.fetch.allow_near_for(&record);
        let requests = self.context.requests(&server, &record.client)?;
        let requests = requests.for_resource(record.resource_parameter.as_deref());
        let key = record.dpop_key.as_ref().map(DpopKey::read).transpose()?;
        Ok((requests.refresh(refresh_token, scope), key))
    }

    /// Writes the tokens that are held. They are used whether or not that succeeds, and written later if it
    /// does not.
    async fn save(&self, lock: Option<&StoreLock>) {
        let Some(lock) = lock else { return self.write_unsaved().await };
        let (record, mut found) = {
            let memory = self.memory();
            (memory.to_store(), memory.stored.clone())
        };
        let Some(record) = record else { return };
        for pause in PAUSES {
            sleep(pause).await;
            match self.context.store.compare_and_swap(lock, found.as_ref(), Some(&record)).await {
                Ok(Swap::Done) => return self.saved(record),
                Ok(Swap::Conflict(other)) => {
                    found = other.map(|other| *other);
                    if self.is_overtaken(found.as_ref()) {
                        return;
                    }
                }
                Err(error) => {
                    let error = crate::error::with_causes(&error);
                    tracing::warn!(error, "new tokens could not be stored");
                }
            }
        }
    }

    /// Writes tokens that could not be written before, in a task of its own: a wait that is dropped must not
    /// give the lock back in the middle of a write.
    pub(super) async fn save_unsaved(self: &Arc<Self>) {
        if !self.memory().is_unsaved {
            return;
        }
        let (source, working) = (self.clone(), self.at_work.begin());
        let writing = tokio::spawn(async move {
            let _working = working;
            source.write_unsaved().await;
        });
        // A store of the application's own may panic; the tokens are written later.
        let _ = writing.await;
    }

    async fn write_unsaved(&self) {
        let Ok(lock) = self.context.store.lock(&self.context.account).await else { return };
        let Ok(found) = self.context.load().await else { return };
        if self.is_overtaken(found.as_ref()) {
            return;
        }
        let record = self.memory().to_store();
        let Some(record) = record else { return };
        if self.context.replace(&lock, found, &record).await.is_ok() {
            self.saved(record);
        }
    }

    /// Whether there is something else in the store by now than when it was last read: a login of another
    /// process or a logout counts more than a refresh. Then nothing is left to be written.
    fn is_overtaken(&self, found: Option<&GrantRecord>) -> bool {
        let mut memory = self.memory();
        let is_overtaken = !memory.is_store_unchanged(found);
        memory.is_unsaved &= !is_overtaken;
        is_overtaken
    }

    fn saved(&self, record: GrantRecord) {
        let mut memory = self.memory();
        memory.is_unsaved = false;
        memory.stored = Some(record.clone());
        memory.record = Some(record);
    }

    /// Stores that the refresh token is not used any more, if it is not: other processes do not send it, and
    /// people can be told without asking anybody.
    async fn note_end(&self, lock: Option<&StoreLock>) {
        let Some(lock) = lock else { return };
        let end = self.memory().grant().stopped().and_then(StoredEnd::of);
        let Some(end) = end else { return };
        let record = self.memory().record.clone();
        let Some(record) = record.filter(|record| record.end != Some(end)) else { return };
        let mut ended = record.clone();
        ended.end = Some(end);
        // Another record is another login, which has not ended.
        let swap = self.context.store.compare_and_swap(lock, Some(&record), Some(&ended)).await;
        if matches!(swap, Ok(Swap::Done)) {
            self.saved(ended);
        }
    }
}

/// A full disk or a network file system may recover at once.
const PAUSES: [Duration; 3] =
    [Duration::ZERO, Duration::from_millis(50), Duration::from_millis(250)];
