//! Calls of a host of the stateless revision whose server asks something first. Such a host is never sent a
//! request: the questions are the answer to its call, and its next request brings the answers.
//!
//! ```text
//!   running ──asked──▶ gathering ──a moment──▶ suspended: the host has the questions, the call goes on
//!      ▲                                           │  └──10 minutes──▶ given up
//!      └──────the host is back with answers────────┘
//! ```
//! The host comes back with a state of 128 random bits, which can be used once and for its own call only.

use std::collections::BTreeMap;
use std::time::Duration;

use aws_lc_rs::rand;
use ridethrough_core::{ExchangeId, QuestionId};
use ridethrough_wire::message::Json;
use ridethrough_wire::stateless;
use serde_json::Value;
use tokio::time::Instant;

use crate::calls::Finished;

/// The calls whose server asks something, by their number.
#[derive(Debug, Default)]
pub(crate) struct Rounds {
    rounds: BTreeMap<u64, Round>,
}

#[derive(Debug)]
struct Round {
    subject: Subject,
    /// The questions without an answer, shown to the host or not.
    questions: Vec<Question>,
    phase: Phase,
}

#[derive(Debug)]
enum Phase {
    /// Waits for further questions.
    Gathering { until: Instant },
    /// The host has the questions.
    Suspended { state: Box<str>, until: Instant, end: Option<Box<Finished>> },
}

/// A question of the server to the host.
#[derive(Debug)]
pub(crate) struct Question {
    pub(crate) id: QuestionId,
    /// The call that it belongs to; `None` if it came on the standing stream.
    pub(crate) exchange: Option<ExchangeId>,
    pub(crate) method: Box<str>,
    pub(crate) params: Option<Json>,
}

/// The identity of a call: its method and params, without what differs from round to round. A state is valid
/// for no other call.
#[derive(Debug)]
pub(crate) struct Subject {
    method: Box<str>,
    params: Json,
}

/// What the router must do about a call.
#[derive(Debug)]
pub(crate) enum Due {
    /// Answer the host with this.
    Ask { call: u64, result: Json },
    /// Give the call up: the host did not come back. These questions have no answer.
    GiveUp { call: u64, unanswered: Vec<QuestionId> },
}

/// The call of a state that the host came back with.
#[derive(Debug)]
pub(crate) enum TakenUp {
    /// The call has ended.
    Ended(Box<Finished>),
    /// The state belongs to another call, which is left as it is.
    OfAnother,
    /// The call goes on.
    Running { call: u64 },
}

impl Question {
    /// Returns the key of the question in `inputRequests`.
    pub(crate) fn key(&self) -> String {
        self.id.number().to_string()
    }
}

impl Subject {
    pub(crate) fn of(method: &str, params: &Json) -> Self {
        let params = params.without(&["_meta", "inputResponses", "requestState"]);
        Self { method: method.into(), params }
    }

    fn is(&self, other: &Self) -> bool {
        // A host may write the members of an object in another order the next time.
        let is_same_value = || {
            let (one, another) = (self.params.read::<Value>(), other.params.read::<Value>());
            one.is_some() && one == another
        };
        self.method == other.method && (self.params == other.params || is_same_value())
    }
}

impl Rounds {
    /// Adds a question of the server to a call. Returns whether there is room for it.
    pub(crate) fn ask(
        &mut self,
        now: Instant,
        call: u64,
        question: Question,
        subject: impl FnOnce() -> Subject,
    ) -> bool {
        if self.rounds.len() >= MOST && !self.rounds.contains_key(&call) {
            return false;
        }
        let round = self.rounds.entry(call).or_insert_with(|| Round {
            subject: subject(),
            questions: Vec::new(),
            phase: Phase::Gathering { until: now + A_MOMENT },
        });
        round.questions.push(question);
        true
    }

    /// Removes a question that the server withdraws.
    pub(crate) fn withdraw(&mut self, question: QuestionId) {
        self.rounds.retain(|_, round| {
            round.questions.retain(|it| it.id != question);
            // A call without questions goes on as before. A host that was shown some comes back.
            !round.questions.is_empty() || matches!(round.phase, Phase::Suspended { .. })
        });
    }

    /// Returns when the next step is due.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.rounds.values().map(|round| round.phase.until()).min()
    }

    /// Takes the steps that are due.
    pub(crate) fn take_due(&mut self, now: Instant) -> Vec<Due> {
        let is_due = |(call, round): (&u64, &Round)| (round.phase.until() <= now).then_some(*call);
        let calls: Vec<u64> = self.rounds.iter().filter_map(is_due).collect();
        let mut due = Vec::new();
        for call in calls {
            let Some(mut round) = self.rounds.remove(&call) else { continue };
            due.push(match round.phase {
                Phase::Gathering { .. } => {
                    let state = unguessable();
                    let result = round.input_required(&state);
                    let until = now + PATIENCE;
                    round.phase = Phase::Suspended { state: state.into(), until, end: None };
                    self.rounds.insert(call, round);
                    Due::Ask { call, result }
                }
                Phase::Suspended { .. } => {
                    Due::GiveUp { call, unanswered: round.take_unanswered() }
                }
            });
        }
        due
    }

    /// Uses up the state that the host came back with; `None` if it is unknown.
    pub(crate) fn take_up(
        &mut self,
        now: Instant,
        state: &str,
        subject: impl FnOnce() -> Subject,
    ) -> Option<TakenUp> {
        let (call, round) = self.rounds.iter().find(|(_, round)| round.phase.has(state))?;
        let call = *call;
        if !round.subject.is(&subject()) {
            return Some(TakenUp::OfAnother);
        }
        let mut round = self.rounds.remove(&call)?;
        if let Phase::Suspended { end: Some(end), .. } = round.phase {
            return Some(TakenUp::Ended(end));
        }
        // Questions that are not answered now are asked again, with those that came meanwhile.
        round.phase = Phase::Gathering { until: now };
        self.rounds.insert(call, round);
        Some(TakenUp::Running { call })
    }

    /// Takes the question that the host answers under this key.
    pub(crate) fn answered(&mut self, call: u64, key: &str) -> Option<QuestionId> {
        let questions = &mut self.rounds.get_mut(&call)?.questions;
        let place = questions.iter().position(|it| it.key() == key)?;
        Some(questions.remove(place).id)
    }

    /// Ends the round of a call whose questions are all answered.
    pub(crate) fn went_on(&mut self, call: u64) {
        self.rounds.retain(|each, round| *each != call || !round.questions.is_empty());
    }

    /// Takes in the end of a call. Returns it if the host waits for it, and keeps it if not; and returns the
    /// questions without an answer.
    pub(crate) fn ended(&mut self, finished: Finished) -> (Option<Finished>, Vec<QuestionId>) {
        if finished.id.is_some() {
            let unanswered = self.forget(finished.number);
            return (Some(finished), unanswered);
        }
        let Some(round) = self.rounds.get_mut(&finished.number) else { return (None, Vec::new()) };
        let unanswered = round.take_unanswered();
        if let Phase::Suspended { end, .. } = &mut round.phase {
            *end = Some(Box::new(finished));
        }
        (None, unanswered)
    }

    /// Forgets a call that the host cancelled. Returns the questions without an answer.
    pub(crate) fn forget(&mut self, call: u64) -> Vec<QuestionId> {
        self.rounds.remove(&call).map(|mut round| round.take_unanswered()).unwrap_or_default()
    }
}

impl Round {
    /// Returns the answer to the call, which asks all questions.
    fn input_required(&self, state: &str) -> Json {
        let asked = self.questions.iter().map(|it| (it.key(), &*it.method, it.params.clone()));
        stateless::input_required(asked, Some(state))
    }

    /// Takes the questions that are left when the call is over. The client itself withdraws those that came
    /// with the call, but it does not know of questions on the standing stream that were added to it.
    fn take_unanswered(&mut self) -> Vec<QuestionId> {
        let questions = std::mem::take(&mut self.questions).into_iter();
        questions.filter(|it| it.exchange.is_none()).map(|it| it.id).collect()
    }
}

impl Phase {
    const fn until(&self) -> Instant {
        match self {
            Self::Gathering { until } | Self::Suspended { until, .. } => *until,
        }
    }

    fn has(&self, shown: &str) -> bool {
        matches!(self, Self::Suspended { state, .. } if **state == *shown)
    }
}

/// Returns 128 random bits from the operating system.
fn unguessable() -> String {
    let mut bytes = [0_u8; 16];
    rand::fill(&mut bytes).expect("the operating system has randomness");
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// How long questions are gathered: servers that ask several things at once send them one behind the other.
const A_MOMENT: Duration = Duration::from_millis(20);
/// How long the host may take: a person may have to fill in a form, or log in somewhere.
const PATIENCE: Duration = Duration::from_secs(600);
/// The most rounds: each holds a call and its questions.
const MOST: usize = 100;

#[cfg(test)]
mod tests;
