//! The calls of tools that may have run: an equal one is answered with the error of the first, until the caller has
//! looked at the server by another call.

use serde_json::{Map, Value};

/// The calls that may have run since one was answered.
#[derive(Debug, Default)]
pub(super) struct WrongDoubts(Vec<WrongDoubt>);

#[derive(Debug)]
struct WrongDoubt {
    tool: String,
    args: Map<String, Value>,
    error: String,
}

impl WrongDoubts {
    /// Returns the error of an equal call that may have run.
    pub(super) fn error_of(&self, tool: &str, args: &Map<String, Value>) -> Option<String> {
        let equal = self.0.iter().find(|it| it.tool == tool && it.args == *args)?;
        Some(equal.error.clone())
    }

    /// Keeps a call that ended with this error, if that leaves open what the server did. A refusal by 4xx does so
    /// less often, and is not kept.
    pub(super) fn note(&mut self, tool: &str, args: Map<String, Value>, error: &str) {
        if error.contains("may have run") || error.contains("answered with status 5") {
            let (tool, error) = (tool.to_owned(), error.to_owned());
            self.0.push(WrongDoubt { tool, args, error });
        }
    }

    /// Forgets all calls: the caller has looked.
    pub(super) fn forget(&mut self) {
        self.0.clear();
    }
}
