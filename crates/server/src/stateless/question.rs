//! Messages of the backend for one call beside its answer: questions to the client, and the log.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use ridethrough_wire::message::{Id, Json, LogLevel};
use tokio::sync::Notify;

use super::sender::Sender;

/// A question of the backend.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    pub(crate) id: Id,
    pub(crate) method: Box<str>,
    pub(crate) params: Option<Json>,
    /// Its key in `inputRequests`.
    pub(crate) key: String,
}

/// The state of a call under way that other tasks share.
#[derive(Debug)]
pub(crate) struct CallState {
    pub(crate) method: Box<str>,
    /// Whether the backend understands the stateless revision.
    pub(crate) is_understood: bool,
    state: Mutex<Waiting>,
    /// Wakes the task that waits for the call.
    pub(crate) changed: Notify,
}

#[derive(Debug)]
pub(crate) struct Waiting {
    pub(crate) sender: Sender,
    /// The questions without an answer, shown to the client or not.
    pub(crate) questions: Vec<Question>,
    /// The params of log records that the client has not got yet.
    pub(crate) records: VecDeque<Json>,
    /// Whether the call is held until its client comes back.
    pub(crate) is_held: bool,
    /// The capability that the client would have needed, if it lacked one.
    pub(crate) missing: Option<&'static str>,
    asked: u64,
}

impl CallState {
    pub(crate) fn new(method: &str, sender: Sender, is_understood: bool) -> Self {
        let state = Waiting {
            sender,
            questions: Vec::new(),
            records: VecDeque::new(),
            is_held: false,
            missing: None,
            asked: 0,
        };
        let (state, changed) = (Mutex::new(state), Notify::new());
        Self { method: method.into(), is_understood, state, changed }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Waiting> {
        // No code panics in the middle of a change, so a poisoned lock is still valid.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a question. Returns whether there is room for it.
    pub(crate) fn ask(&self, id: Id, method: &str, params: Option<Json>) -> bool {
        let mut state = self.lock();
        if state.questions.len() >= MOST_QUESTIONS {
            return false;
        }
        state.asked += 1;
        let key = state.asked.to_string();
        state.questions.push(Question { id, method: method.into(), params, key });
        drop(state);
        self.changed.notify_one();
        true
    }

    /// Adds a record of the log, if the client wants it.
    pub(crate) fn log(&self, level: Option<LogLevel>, params: &Json) {
        let mut state = self.lock();
        let wanted = state.sender.level;
        let is_wanted = wanted.is_some_and(|wanted| level.is_none_or(|level| level >= wanted));
        if is_wanted && !state.is_held {
            if state.records.len() >= MOST_RECORDS {
                state.records.pop_front();
            }
            state.records.push_back(params.clone());
            drop(state);
            self.changed.notify_one();
        }
    }

    /// Removes a question that the backend withdraws.
    pub(crate) fn withdraw(&self, id: &Json) {
        self.lock().questions.retain(|question| question.id.json() != id);
    }
}

/// The most questions of one call without an answer.
const MOST_QUESTIONS: usize = 32;
/// The most log records of one call that its client has not read.
const MOST_RECORDS: usize = 100;
