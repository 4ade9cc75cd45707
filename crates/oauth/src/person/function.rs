//! A person made of a function, for tests and for programs with a window of their own.

use std::fmt;

use ridethrough::transport::BoxFuture;

use super::{LoginPrompt, Person};

/// A person to whom a function shows logins.
pub struct FunctionPerson<F>(F);

/// Shows logins by this function, which must not block.
pub const fn from_fn<F: Fn(&LoginPrompt) + Send + Sync + 'static>(show: F) -> FunctionPerson<F> {
    FunctionPerson(show)
}

impl<F: Fn(&LoginPrompt) + Send + Sync + 'static> Person for FunctionPerson<F> {
    fn show<'a>(&'a self, prompt: &'a LoginPrompt) -> BoxFuture<'a, ()> {
        (self.0)(prompt);
        Box::pin(async {})
    }
}

impl<F> fmt::Debug for FunctionPerson<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FunctionPerson")
    }
}
