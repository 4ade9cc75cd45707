//! What to do about a call that ended without an answer, beyond what its error says.
//!
//! The error knows the call; whoever starts the bridge knows the server's address and its own commands.

use ridethrough::error::CallError;

/// Whoever knows the next step of a person.
#[derive(Default)]
pub(crate) struct Advice(Option<Box<NextStep>>);

type NextStep = dyn Fn(&CallError) -> Option<String> + Send;

impl Advice {
    pub(crate) fn new(next_step: impl Fn(&CallError) -> Option<String> + Send + 'static) -> Self {
        Self(Some(Box::new(next_step)))
    }

    /// The story of a call with its next step, which stands behind the hint that ends the story.
    pub(crate) fn added_to(&self, story: String, error: &CallError) -> String {
        match self.0.as_ref().and_then(|next_step| next_step(error)) {
            Some(step) => format!("{story}; {step}"),
            None => story,
        }
    }
}
