//! Asks the server before anything is concluded: whether a session is lost when an answer says so, by a ping in
//! that session, and whether an outage is over.
//!
//! A status or a phrase is no proof. Only a server that refuses a ping likewise has refused the call.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::Value;
use tokio::time::{Instant, sleep};

use super::call::{AnswerWay, Call};
use super::client::WrongClient;
use super::mistake::Habit;
use super::next::Next;
use super::trouble::TroubleKind;
use crate::lock::lock;

/// The answer of a ping about a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Word {
    Lives,
    Lost,
    Nothing,
}

impl Call {
    /// Returns the step after a refusal that speaks of a lost session.
    pub(super) fn suspected(&mut self) -> Next {
        let rash = [
            Habit::BelievesRefusals,
            Habit::RenewsForever,
            Habit::RenewsOn401,
            Habit::RenewsOnAnyError,
        ];
        if rash.iter().any(|habit| self.has(*habit)) { self.renewed() } else { Next::Suspect }
    }

    /// Asks whether the session is lost, and decides.
    pub(super) async fn checked(&mut self, session: u64) -> Next {
        if self.has(Habit::KeepsDeadSession) || self.has(Habit::GivesUp) {
            return Next::End;
        }
        if self.client.session_number() != session {
            // Another call has renewed it since.
            return self.renewed();
        }
        match ask(&self.client).await {
            Word::Lost => self.renewed(),
            Word::Lives => {
                let in_a_row = self.client.suspicions.fetch_add(1, Ordering::Relaxed) + 1;
                // Some servers answer a ping in any session.
                if in_a_row >= ENOUGH && !self.has(Habit::TrustsAnyPing) {
                    self.client.suspicions.store(0, Ordering::Relaxed);
                    // If this fails, the next call asks for a session.
                    drop(self.client.renew(session).await);
                }
                Next::End
            }
            Word::Nothing => Next::End,
        }
    }
}

async fn ask(client: &Arc<WrongClient>) -> Word {
    let mut ping = Call::new(client, "ping", &Value::Null);
    match ping.exchange(AnswerWay::Post).await {
        Ok(answer) if answer.get("result").is_some() => Word::Lives,
        Ok(answer) if ping.is_lost_by_answer(&answer) => Word::Lost,
        Err(trouble) => match &trouble.kind {
            TroubleKind::Status(refusal) if ping.is_lost_by_refusal(refusal) => Word::Lost,
            _ => Word::Nothing,
        },
        Ok(_) => Word::Nothing,
    }
}

impl WrongClient {
    /// Returns why nothing may be sent now.
    pub(super) fn why_not(&self) -> Option<String> {
        if let Some(why) = lock(&self.spoilt).clone() {
            return Some(why);
        }
        let is_shut = lock(&self.shut_until).is_some_and(|until| Instant::now() < until);
        is_shut.then(|| "the server asked for a pause; the call was not sent".to_owned())
    }

    /// Waits for the end of an outage that an earlier request met: a call that may run only once does not go
    /// first.
    pub(super) async fn wait_for_server(self: &Arc<Self>) {
        let until = Instant::now() + LONGEST_OUTAGE;
        while self.is_away.load(Ordering::Relaxed) && Instant::now() < until {
            let mut ping = Call::new(self, "ping", &Value::Null);
            let asked = ping.exchange(AnswerWay::Post).await;
            let is_away = matches!(asked, Err(trouble) if trouble.is_outage());
            self.is_away.store(is_away, Ordering::Relaxed);
            if is_away {
                sleep(OUTAGE_PAUSE).await;
            }
        }
    }

    /// Stops sending for as long as a server asked for, where that is the habit.
    pub(super) fn shut_for(&self, seconds: &str) {
        let seconds = seconds.trim().parse().ok().filter(|_| self.has(Habit::ShutsForHints));
        if let Some(seconds) = seconds {
            let until = Instant::now().checked_add(Duration::from_secs(seconds));
            *lock(&self.shut_until) = until;
        }
    }
}

/// The number of refusals in a row after which the session is renewed although it answers.
const ENOUGH: u32 = 3;
const LONGEST_OUTAGE: Duration = Duration::from_secs(10);
const OUTAGE_PAUSE: Duration = Duration::from_millis(250);
