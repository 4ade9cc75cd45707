//! The stateless revision (2026-07-28) as a host speaks it: what a request says of its sender, which part of
//! that is not passed on, and what an answer must contain.
//!
//! This module only reads and writes text; the router decides where messages go.

use ridethrough_core::{ExchangeId, Identity, QuestionId};
use ridethrough_wire::message::code::{INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND};
use ridethrough_wire::message::{Answer, Json, splice};
use ridethrough_wire::stateless::{self, DISCOVER, REVISION, Sender, UnfitSender, dressed};

use crate::greeting;

/// A question of the server to the host.
#[derive(Debug)]
pub(crate) struct Question {
    pub(crate) id: QuestionId,
    /// The call that it belongs to; `None` if it came on the standing stream.
    pub(crate) exchange: Option<ExchangeId>,
    pub(crate) method: Box<str>,
    pub(crate) params: Option<Json>,
}

impl Question {
    /// Returns the key of the question in `inputRequests`.
    pub(crate) fn key(&self) -> String {
        self.id.number().to_string()
    }
}

/// Reads who sends a request; `None` if the request is of an older revision.
pub(crate) fn sender(method: &str, params: Option<&Json>) -> Result<Option<Sender>, Answer> {
    Sender::of(method, params).map_err(|unfit| match unfit {
        UnfitSender::Incomplete(key) => incomplete(key),
        UnfitSender::Unsupported(revision) => stateless::unsupported(&revision, &supported()),
    })
}

/// Returns what the host says of itself, and what it can do for the server.
pub(crate) fn identity(sender: &Sender) -> Identity {
    let info = sender.info.clone().unwrap_or_else(unnamed_host);
    Identity { info, capabilities: sender.capabilities.clone() }
}

/// Returns the result of `server/discover`, from that of `initialize`.
pub(crate) fn discovered(initialized: &Json) -> Json {
    let discovered = stateless::discovered(initialized, &supported());
    let [can, info] = [discovered.member("capabilities"), initialized.member("serverInfo")];
    let can = can.map(greeting::announcing).unwrap_or_else(Json::empty_object);
    dressed(&splice::with_member(&discovered, "capabilities", &can), DISCOVER, info.as_ref())
}

/// Returns the answer to a call whose URLs were not visited.
pub(crate) fn not_visited() -> Answer {
    let words = "the call was not sent: the server wants a page to be visited first, and that was declined\n\
                 hint: call it again, and visit the page";
    Answer::refusal(INTERNAL_ERROR, words)
}

/// Returns the answer to a call whose server asks these questions first.
pub(crate) fn input_required(questions: &[Question], state: &str) -> Json {
    let asked = questions.iter().map(|it| (it.key(), &*it.method, it.params.clone()));
    stateless::input_required(asked, Some(state))
}

/// Returns the answer to a method that the stateless revision does not have.
pub(crate) fn not_found() -> Answer {
    Answer::refusal(METHOD_NOT_FOUND, "Method not found")
}

/// Returns the answer to a question of the server whose call is over.
pub(crate) fn too_late() -> Answer {
    Answer::refusal(INTERNAL_ERROR, "this was not answered before its call ended")
}

/// Returns the answer to a round with the state of another call.
pub(crate) fn state_of_another() -> Answer {
    let words = "the call cannot go on: its `requestState` belongs to another call\n  \
         tried: nothing was sent\n\
         hint: repeat the method and the params that were answered with it";
    Answer::refusal(INVALID_PARAMS, words)
}

fn incomplete(key: &str) -> Answer {
    let words = format!(
        "the request was not sent: `{key}` is missing in its `_meta`, or is not what {REVISION} wants there\n\
         hint: say it in each request, or begin with `initialize`"
    );
    Answer::refusal(INVALID_PARAMS, &words)
}

/// Returns the revisions that a host may choose from, newest first.
fn supported() -> Vec<&'static str> {
    stateless::supported()
}

/// Returns the name of a host that does not name itself.
fn unnamed_host() -> Json {
    Json::from(serde_json::json!({ "name": "unknown", "version": "0" }))
}

#[cfg(test)]
mod tests;
