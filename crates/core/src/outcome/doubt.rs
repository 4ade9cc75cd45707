//! How a caller is told that its call may have run, and how it is read back.
//!
//! Programs send a call again for the words or for the form of an error, and a model does it for want of a better
//! idea. So the words hold nothing that programs look for, an unsafe call of a tool ends with a result that models
//! read, and its facts stand in the `_meta` alone. Every front tells doubt through this module.

mod reading;
mod words;

use ridethrough_wire::message::{Answer, Json, code};
use serde::{Deserialize, Serialize};

use super::{CallError, Facts, Kind};

pub(crate) use reading::told_in;
pub use reading::{is_told_in, told_as_error};

/// The form in which a call of a tool that may have run is told to its caller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DoubtForm {
    /// A JSON-RPC error.
    Error,
    /// A result with `isError`, the default: programs repeat errors, and models read results.
    #[default]
    Result,
}

impl DoubtForm {
    /// Returns the form for a call that ended so, if this is the form for unsafe calls of tools.
    ///
    /// Whatever else may have run is told by an error: a call that is safe to repeat or that asks for a task, and
    /// every other method.
    #[must_use]
    pub fn of_call(self, error: &CallError, params: Option<&Json>) -> Self {
        let is_unsafe = error.call.tool.is_some() && !error.is_repeatable;
        match error.kind {
            Kind::Cancelled => Self::Error,
            _ if is_unsafe => self.of_request(&error.call.method, params),
            _ => Self::Error,
        }
    }

    /// Returns the form for a request of which nothing says that it is safe to repeat.
    #[must_use]
    pub fn of_request(self, method: &str, params: Option<&Json>) -> Self {
        let asks_for_task = || params.is_some_and(|it| it.member("task").is_some());
        if method == "tools/call" && !asks_for_task() { self } else { Self::Error }
    }
}

/// What is told of a call that may have run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doubt {
    /// What happened, in a sentence.
    happened: &'static str,
    is_repeatable: bool,
    facts: Json,
}

impl Doubt {
    /// Tells these facts.
    pub fn of(facts: &Facts<'_>) -> Self {
        let told = Json::of(facts).expect("made of texts and numbers");
        Self { is_repeatable: facts.is_repeatable, ..Self::new(facts.kind, told) }
    }

    /// Tells the facts of a front that has others than [`Facts`] has.
    pub fn new(kind: &str, facts: Json) -> Self {
        Self { happened: words::happened(kind), is_repeatable: false, facts }
    }

    /// Says in these words what happened. They must hold nothing that programs take as a reason to repeat a call.
    #[must_use]
    pub const fn because(mut self, happened: &'static str) -> Self {
        self.happened = happened;
        self
    }

    /// Returns the answer for the caller in this form.
    pub fn answer(&self, form: DoubtForm) -> Answer {
        self.told(form, "")
    }

    /// Returns the answer to a repeat of the call, which is not sent yet.
    pub fn answer_to_repeat(&self, form: DoubtForm) -> Answer {
        self.told(form, words::TAKEN_AGAIN)
    }

    fn text(&self, who: &str, behind: &str) -> String {
        let then = if self.is_repeatable { words::HARMLESS } else { words::LOOK };
        format!("{} {who} {then}{behind}", self.happened)
    }

    fn told(&self, form: DoubtForm, behind: &str) -> Answer {
        match form {
            DoubtForm::Error => {
                let message = self.text(words::SERVER_MAY, behind);
                let error = ToldError { code: code::MAY_HAVE_RUN, message, data: &self.facts };
                Answer::Error(Json::of(&error).expect("made of JSON and texts"))
            }
            DoubtForm::Result => {
                let text = self.text(words::TOOL_MAY, behind);
                let content = [Text { kind: "text", text }];
                let meta = ToldMeta { facts: &self.facts };
                let result = ToldResult { content, is_error: true, meta };
                Answer::Result(Json::of(&result).expect("made of JSON and texts"))
            }
        }
    }
}

impl CallError {
    /// Returns what happened to a call that may have run, in words after which no program repeats it. They are fewer
    /// than those of the report.
    pub fn words_of_doubt(&self) -> String {
        Doubt::of(&Facts::of(self)).text(words::SERVER_MAY, "")
    }
}

#[derive(Serialize)]
struct ToldError<'a> {
    code: i64,
    message: String,
    data: &'a Json,
}

/// `structuredContent` is left out: clients check it against the schema of the tool.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ToldResult<'a> {
    content: [Text; 1],
    is_error: bool,
    #[serde(rename = "_meta")]
    meta: ToldMeta<'a>,
}

#[derive(Serialize)]
struct ToldMeta<'a> {
    #[serde(rename = "ridethrough/doubt")]
    facts: &'a Json,
}

#[derive(Serialize)]
struct Text {
    #[serde(rename = "type")]
    kind: &'static str,
    text: String,
}

/// The key of the facts in the `_meta` of a result, as it is written above.
const KEY: &str = "ridethrough/doubt";

#[cfg(test)]
mod tests;
