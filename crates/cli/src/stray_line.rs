//! What a program prints on its stdout that is no message: told to people once.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::secrets;

/// The first such line of a program, however often it is started.
#[derive(Clone, Default)]
pub(crate) struct StrayLine(Arc<Mutex<StrayState>>);

#[derive(Default)]
enum StrayState {
    Heard(String),
    #[default]
    Nothing,
    Told,
}

impl StrayLine {
    /// The program printed this.
    pub(crate) fn hear(&self, line: &str) {
        let mut state = self.lock();
        if matches!(*state, StrayState::Nothing) {
            *state = StrayState::Heard(line.to_owned());
        }
    }

    /// What people are told, unless there is nothing or they know it already.
    pub(crate) fn take(&self) -> Option<String> {
        let mut state = self.lock();
        let StrayState::Heard(line) = &*state else { return None };
        let line = secrets::cut(line);
        *state = StrayState::Told;
        Some(format!("the program prints text on its stdout, which is for messages only: `{line}`"))
    }

    /// People are told this: perhaps the line is in it.
    pub(crate) fn was_told(&self, words: &str) {
        let mut state = self.lock();
        if matches!(&*state, StrayState::Heard(line) if words.contains(line.as_str())) {
            *state = StrayState::Told;
        }
    }

    fn lock(&self) -> MutexGuard<'_, StrayState> {
        // It is never half changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
