//! How calls begin and end.
//!
//! Some are answered from the cache, because the server allowed the client to keep its result; and where one
//! fails, the caller may accept an old result instead.

use std::sync::Arc;

use ridethrough_core::{CallName, Event, ExchangeId, Kind, Lifetime, Moment, Outcome, Request};
use ridethrough_wire::message::Answer;
use ridethrough_wire::message::code::INTERNAL_ERROR;

use super::response_cache::{Accepts, KeptResult, Key, OpenCall};
use super::{Caller, Driver, Ended};
use crate::error::result;
use crate::source::Source;

impl Driver {
    /// Answers a call from the cache, or sends it to the server.
    pub(super) fn send(&mut self, now: Moment, caller: Caller, request: Request, accepts: Accepts) {
        let key = Some(&request).filter(|_| !self.cache.is_off()).and_then(Key::of);
        let is_apart = !request.options.headers.is_empty();
        if let Some(key) = &key
            && accepts == Accepts::Kept
            && !is_apart
            && let Some(KeptResult { result, age }) = self.fresh(now, key)
        {
            let source = Source::Kept { age };
            // The caller may be gone, and then needs no answer.
            let _ = caller.reply.send(Ended { outcome: Ok(Answer::Result(result)), source });
            return;
        }
        let exchange = self.link.send(now, request);
        self.callers.insert(exchange, caller);
        if let Some(key) = key {
            self.cache.expect(exchange, key, accepts, is_apart);
        }
    }

    /// Hands over an outcome, and keeps a result that may be kept.
    pub(super) fn finish(
        &mut self,
        exchange: ExchangeId,
        outcome: Outcome,
        lifetime: Option<Lifetime>,
    ) {
        let Some(awaited) = self.cache.ended(exchange) else {
            return self.callers.finish(exchange, outcome.into());
        };
        let now = self.clock.now();
        let ended = match outcome {
            Ok(Answer::Result(result)) => {
                self.cache.take_in(now, awaited, &result, lifetime);
                Ok(Answer::Result(result)).into()
            }
            failed if is_failure(&failed) => self.instead(now, exchange, &awaited, failed),
            outcome => {
                if is_no(&outcome) {
                    self.cache.refuted(&awaited);
                }
                outcome.into()
            }
        };
        self.callers.finish(exchange, ended);
    }

    /// Returns a kept result whose time is not over. A sleep of the computer counts as time.
    fn fresh(&mut self, now: Moment, key: &Key) -> Option<KeptResult> {
        self.cache.fresh(now, key)?;
        self.ask_about_sleep();
        self.cache.fresh(now, key)
    }

    /// Returns an old result in place of a failure, if there is one that the caller accepts.
    fn instead(
        &mut self,
        now: Moment,
        exchange: ExchangeId,
        awaited: &OpenCall,
        failed: Outcome,
    ) -> Ended {
        let Some(KeptResult { result: old, age }) = self.cache.stale(now, awaited) else {
            return failed.into();
        };
        let kind = failed.as_ref().err().map(|error| error.kind);
        let call = CallName { method: awaited.key.method().into(), tool: None };
        self.observers.tell(now, Event::StaleServed { exchange, call, age, kind });
        let source = match result(failed) {
            Ok(_) => Source::Server,
            Err(error) => Source::Stale { age, error: Arc::new(error) },
        };
        Ended { outcome: Ok(Answer::Result(old)), source }
    }
}

/// Whether the server could not be asked, or could not answer. An answer such as "no such resource", or a
/// refusal of the credentials, is no failure: an old result must not hide it.
fn is_failure(outcome: &Outcome) -> bool {
    match outcome {
        Ok(answer) => answer.error().is_some_and(|error| error.code == INTERNAL_ERROR),
        Err(error) => match error.kind {
            Kind::BreakerOpen
            | Kind::DeadlinePassed
            | Kind::Exhausted
            | Kind::Interrupted
            | Kind::PeerMisbehaved
            | Kind::SessionLost
            | Kind::TooLarge
            | Kind::Unreachable => true,
            Kind::Rejected { status } => status == 429 || status >= 500,
            _ => false,
        },
    }
}

/// Whether the server has refused the request, by an error or by a status. A deferral (408, 425, 429) is no
/// refusal.
fn is_no(outcome: &Outcome) -> bool {
    match outcome.as_ref().map_err(|error| error.kind) {
        Ok(_) | Err(Kind::Unauthorized) => true,
        Err(Kind::Rejected { status }) => {
            (400..500).contains(&status) && !matches!(status, 408 | 425 | 429)
        }
        Err(_) => false,
    }
}
