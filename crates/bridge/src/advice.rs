//! Advice for a person about a call that ended without an answer, added to what the call's error says.
//!
//! The error knows the call. Only the program that starts the bridge knows the server's address and which of
//! its own commands look closer, so it supplies the advice.

use ridethrough::error::CallError;

/// The program's function that names the next step for a person, if it set one.
#[derive(Default)]
pub(crate) struct Advice(Option<Box<NextStep>>);

type NextStep = dyn Fn(&CallError) -> Option<String> + Send;

impl Advice {
    pub(crate) fn new(next_step: impl Fn(&CallError) -> Option<String> + Send + 'static) -> Self {
        Self(Some(Box::new(next_step)))
    }

    /// Returns the story of a call with the next step behind the hint that ends the story.
    pub(crate) fn added_to(&self, story: String, error: &CallError) -> String {
        match self.0.as_ref().and_then(|next_step| next_step(error)) {
            Some(step) => format!("{story}; {step}"),
            None => story,
        }
    }
}
