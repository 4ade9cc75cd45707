//! The stateless revision (2026-07-28) as a host speaks it: what a request says of its sender, which part of
//! that is not passed on, and what an answer must contain.
//!
//! This module only reads and writes text; the router decides where messages go.

use ridethrough_core::{ExchangeId, Identity, QuestionId};
use ridethrough_wire::message::code::{
    INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, UNSUPPORTED_VERSION,
};
use ridethrough_wire::message::reserved::{
    CAPABILITIES, CLIENT_INFO, LOG_LEVEL, VERSION, likely_meta,
};
use ridethrough_wire::message::splice::{self, is_object, text};
use ridethrough_wire::message::{Answer, Json};
use ridethrough_wire::stateless::{self, DISCOVER, REVISION};

use crate::greeting;

/// What a request of the stateless revision says of its sender.
#[derive(Debug)]
pub(crate) struct Sender {
    /// What the host says of itself, and what it can do for the server.
    pub(crate) identity: Identity,
    /// The level from which on the host wants the server's log.
    pub(crate) level: Option<Json>,
    /// The progress token of the request.
    pub(crate) token: Option<Json>,
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

impl Sender {
    /// Reads who sends a request; `None` if the request is of an older revision. `server/discover` exists in
    /// this revision only.
    pub(crate) fn of(method: &str, params: Option<&Json>) -> Result<Option<Self>, Answer> {
        let meta = likely_meta(params);
        let keys = [VERSION, CAPABILITIES, CLIENT_INFO, LOG_LEVEL, "progressToken"];
        let [version, capabilities, info, level, token] =
            meta.map(|meta| meta.pick(keys)).unwrap_or_default();
        let Some(version) = version else {
            return if method == DISCOVER { Err(incomplete(VERSION)) } else { Ok(None) };
        };
        match version.string() {
            None => return Err(incomplete(VERSION)),
            Some(version) if version != REVISION => return Err(unsupported(&version)),
            Some(_) => {}
        }
        let Some(capabilities) = capabilities.filter(is_object) else {
            return Err(incomplete(CAPABILITIES));
        };
        let info = info.filter(is_object).unwrap_or_else(unnamed_host);
        Ok(Some(Self { identity: Identity { info, capabilities }, level, token }))
    }
}

impl Question {
    /// Returns the key of the question in `inputRequests`.
    pub(crate) fn key(&self) -> String {
        self.id.number().to_string()
    }
}

/// Returns the params without the members of `_meta` that the client writes itself. The log level stays: a
/// stateless upstream wants it with each request.
pub(crate) fn passed_on(params: &Json) -> Json {
    let Some(meta) = params.member("_meta").filter(is_object) else { return params.clone() };
    let ours = [VERSION, CAPABILITIES, CLIENT_INFO];
    let kept: Vec<_> =
        meta.members().into_iter().filter(|(key, _)| !ours.contains(&key.as_str())).collect();
    if kept.is_empty() {
        params.without(&["_meta"])
    } else {
        splice::with_member(params, "_meta", &Json::empty_object().with_members(kept))
    }
}

/// Returns a result of the upstream with every member that the stateless revision demands.
pub(crate) fn dressed(result: &Json, method: &str, server: Option<&Json>) -> Json {
    let more = stateless::additions(result, method, server);
    let result = stateless::with_server(result, server);
    if more.is_empty() { result } else { result.with_members(more) }
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
    let asked = questions.iter().map(|question| {
        let method = ("method".to_owned(), text(&question.method));
        let params = question.params.clone().map(|params| ("params".to_owned(), params));
        (question.key(), Json::empty_object().with_members([method].into_iter().chain(params)))
    });
    Json::empty_object().with_members([
        ("resultType".to_owned(), text("input_required")),
        ("inputRequests".to_owned(), Json::empty_object().with_members(asked)),
        ("requestState".to_owned(), text(state)),
    ])
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

fn unsupported(requested: &str) -> Answer {
    Answer::Error(Json::from(serde_json::json!({
        "code": UNSUPPORTED_VERSION,
        "message": "Unsupported protocol version",
        "data": { "supported": supported(), "requested": requested },
    })))
}

/// Returns the revisions that a host may choose from, newest first.
fn supported() -> Vec<&'static str> {
    [REVISION].into_iter().chain(greeting::REVISIONS).collect()
}

/// Returns the name of a host that does not name itself.
fn unnamed_host() -> Json {
    Json::from(serde_json::json!({ "name": "unknown", "version": "0" }))
}

#[cfg(test)]
mod tests;
