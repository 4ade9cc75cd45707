//! The stateless revision (2026-07-28) as a host speaks it: what a request says of its sender, which part of
//! that is not passed on, and what an answer must contain.
//!
//! This module only reads and writes text; the router decides where messages go.

use ridethrough_core::message::code;
use ridethrough_core::message::code::{
    INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, UNSUPPORTED_VERSION,
};
use ridethrough_core::message::splice::{self, is_object};
use ridethrough_core::message::{Answer, Json};
use ridethrough_core::{ExchangeId, Identity, QuestionId, Version};

use crate::fault;
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

/// The kinds of questions that a host can answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Offers {
    forms: bool,
    roots: bool,
    sampling: bool,
    urls: bool,
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
        // A search in the bytes is enough for most requests of an older revision.
        let is_likely =
            |params: &&Json| memchr::memmem::find(params.as_bytes(), RESERVED).is_some();
        let meta = params.filter(is_likely).and_then(|params| params.member("_meta"));
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

impl Offers {
    pub(crate) fn of(capabilities: &Json) -> Self {
        let [elicitation, roots, sampling] =
            capabilities.pick(["elicitation", "roots", "sampling"]);
        let has = |key| elicitation.as_ref().is_some_and(|it| it.member(key).is_some());
        Self {
            // A host that names neither forms nor URLs means forms.
            forms: elicitation.is_some() && (has("form") || !has("url")),
            urls: has("url"),
            roots: roots.is_some(),
            sampling: sampling.is_some(),
        }
    }

    /// Whether the host can show a page to its person.
    pub(crate) const fn urls(self) -> bool {
        self.urls
    }

    /// Whether the host can answer this question.
    pub(crate) fn allow(self, method: &str, params: Option<&Json>) -> bool {
        let mode = || params.and_then(|params| params.member("mode"));
        match method {
            "elicitation/create" => match mode().as_ref().and_then(Json::string).as_deref() {
                Some("url") => self.urls,
                _ => self.forms,
            },
            "roots/list" => self.roots,
            "sampling/createMessage" => self.sampling,
            _ => false,
        }
    }
}

impl Question {
    /// Returns the key of the question in `inputRequests`.
    pub(crate) fn key(&self) -> String {
        self.id.number().to_string()
    }
}

/// Whether the answer to this method may be `input_required`.
pub(crate) fn can_ask(method: &str) -> bool {
    matches!(method, "prompts/get" | "resources/read" | "tools/call")
}

/// Whether this method exists in the older revisions only.
pub(crate) fn is_gone(method: &str) -> bool {
    matches!(
        method,
        "initialize"
            | "logging/setLevel"
            | "ping"
            | "resources/subscribe"
            | "resources/unsubscribe"
    )
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
    if !is_object(result) {
        return result.clone();
    }
    let [kind, ttl, scope, meta] = result.pick(["resultType", "ttlMs", "cacheScope", "_meta"]);
    let is_complete = kind.as_ref().is_none_or(|kind| kind.string().as_deref() == Some("complete"));
    let may_be_kept = is_complete && KEPT.contains(&method);
    let (mut result, mut more) = (result.clone(), Vec::new());
    if kind.is_none() {
        more.push(("resultType".to_owned(), text("complete")));
    }
    if may_be_kept && ttl.is_none() {
        more.push(("ttlMs".to_owned(), Json::from(serde_json::json!(0))));
    }
    if may_be_kept && scope.is_none() {
        more.push(("cacheScope".to_owned(), text("private")));
    }
    match (server, meta) {
        (Some(server), None) => more.push(("_meta".to_owned(), server_meta(server))),
        (Some(server), Some(meta)) if is_object(&meta) && meta.member(SERVER_INFO).is_none() => {
            let meta = meta.with_members([(SERVER_INFO.to_owned(), server.clone())]);
            result = splice::with_member(&result, "_meta", &meta);
        }
        _ => {}
    }
    if more.is_empty() { result } else { result.with_members(more) }
}

/// Returns the result of `server/discover`, from that of `initialize`.
pub(crate) fn discovered(initialized: &Json) -> Json {
    let [can, info, told] = initialized.pick(["capabilities", "serverInfo", "instructions"]);
    let can = can.filter(is_object).unwrap_or_else(Json::empty_object);
    // The older revisions' tasks work differently, so their capability is not passed on.
    let can = match can.member("tasks") {
        Some(_) => can.without(&["tasks"]),
        None => can,
    };
    let supported = Json::of(&supported()).expect("names are JSON");
    let said = [("supportedVersions", supported), ("capabilities", greeting::announcing(can))];
    let told = told.map(|told| ("instructions", told));
    let said = said.into_iter().chain(told).map(|(key, value)| (key.to_owned(), value));
    dressed(&Json::empty_object().with_members(said), DISCOVER, info.as_ref())
}

/// Returns an error of the upstream in terms of the stateless revision, where URLs that a person must visit
/// before the call are not an error but `input_required`.
pub(crate) fn error(error: Json, method: &str, offers: Offers) -> Answer {
    let code: Option<i64> = error.member("code").and_then(|code| code.read());
    let with_code =
        |code: i64| splice::with_member(&error, "code", &Json::from(serde_json::json!(code)));
    match code {
        Some(code::RESOURCE_NOT_FOUND) => Answer::Error(with_code(INVALID_PARAMS)),
        Some(code::URL_REQUIRED) => {
            let pages = Some(&error).filter(|_| can_ask(method) && offers.urls).and_then(pages);
            pages.map_or_else(|| Answer::Error(with_code(INTERNAL_ERROR)), Answer::Result)
        }
        _ => Answer::Error(error),
    }
}

/// Returns the URLs that an error of an older revision names, as questions. They come without a state: the
/// host's next call begins anew.
fn pages(error: &Json) -> Option<Json> {
    let pages = error.member("data")?.member("elicitations")?.elements()?;
    let asked = pages.iter().enumerate().map(|(number, page)| {
        let page = page.without(&["elicitationId"]);
        let asked =
            [("method".to_owned(), text("elicitation/create")), ("params".to_owned(), page)];
        (format!("{PAGE}{number}"), Json::empty_object().with_members(asked))
    });
    let asked: Vec<_> = asked.collect();
    (!asked.is_empty()).then(|| {
        Json::empty_object().with_members([
            ("resultType".to_owned(), text("input_required")),
            ("inputRequests".to_owned(), Json::empty_object().with_members(asked)),
        ])
    })
}

/// Whether these are answers to URLs that the bridge asked the host to visit.
pub(crate) fn are_pages(responses: &Json) -> bool {
    let responses = responses.members();
    !responses.is_empty() && responses.iter().all(|(key, _)| key.starts_with(PAGE))
}

/// Whether the person has visited the URLs that the host was asked for.
pub(crate) fn were_visited(responses: &Json) -> bool {
    let is_accepted = |(_, said): (String, Json)| {
        said.member("action").is_some_and(|it| it.string().as_deref() == Some("accept"))
    };
    responses.members().into_iter().all(is_accepted)
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

/// Returns the answer to a round whose state is unknown.
pub(crate) fn unknown_state() -> Answer {
    let words = "the call cannot go on: its `requestState` is not known here; it was used before, or the host did not \
         come back within 10 minutes, or the bridge was started anew\n  \
         tried: nothing was sent\n\
         hint: whether the tool has run is not known; call it again without `requestState` if a second run does no harm";
    fault::lost_round(INVALID_PARAMS, words)
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

/// Returns the `_meta` of a result that has none.
fn server_meta(server: &Json) -> Json {
    Json::empty_object().with_members([(SERVER_INFO.to_owned(), server.clone())])
}

fn text(text: &str) -> Json {
    Json::of(text).expect("a string is JSON")
}

pub(crate) const DISCOVER: &str = "server/discover";
/// The key of the request that a notification belongs to.
pub(crate) const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";
const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
/// The beginning of all reserved keys. The slash behind it may be escaped.
const RESERVED: &[u8] = b"io.modelcontextprotocol";
const REVISION: &str = Version::V2026_07_28.as_str();
/// Methods whose results say how long they may be kept.
const KEPT: [&str; 6] = [
    DISCOVER,
    "prompts/list",
    "resources/list",
    "resources/read",
    "resources/templates/list",
    "tools/list",
];
/// The beginning of the keys of URLs, chosen so that no server's own key begins with it by chance.
const PAGE: &str = "ridethrough-page-";

#[cfg(test)]
mod tests;
