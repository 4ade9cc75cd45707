//! A line on a program's stdout that is not a message. The first one is shown to people, once.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::secrets;

/// The first stray line of a program, however often the program is started.
#[derive(Clone, Default)]
pub struct StrayLine(Arc<Mutex<StrayState>>);

#[derive(Default)]
enum StrayState {
    Heard(String),
    #[default]
    Nothing,
    Told,
}

impl StrayLine {
    /// Notes a line that the program printed.
    pub fn hear(&self, line: &str) {
        let mut state = self.lock();
        if matches!(*state, StrayState::Nothing) {
            *state = StrayState::Heard(line.to_owned());
        }
    }

    /// Returns the sentence for people, unless there is none or they were told already.
    pub fn take(&self) -> Option<String> {
        let mut state = self.lock();
        let StrayState::Heard(line) = &*state else { return None };
        let line = secrets::cut(line);
        *state = StrayState::Told;
        Some(format!("the program prints text on its stdout, which is for messages only: `{line}`"))
    }

    /// Notes that people are shown this text, which may contain the line.
    pub fn was_told(&self, words: &str) {
        let mut state = self.lock();
        if matches!(&*state, StrayState::Heard(line) if words.contains(line.as_str())) {
            *state = StrayState::Told;
        }
    }

    fn lock(&self) -> MutexGuard<'_, StrayState> {
        // Each change is one assignment, so a poisoned lock holds a whole value.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
