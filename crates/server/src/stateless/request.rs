//! A stateless request: what is read of it, and checked, before anything is run.

use http::HeaderMap;
use ridethrough_wire::message::{Id, Json};
use ridethrough_wire::stateless::{are_pages, were_visited};

use super::answers::is_gone;
use super::conversation::SharedConversation;
use super::holds::Holds;
use super::refusal::Refusal;
use super::routing;
use super::seal::{self, Digest};
use super::sender::{Kept, Sender, passed_on};
use crate::aside::aside;
use crate::headers::Headers;
use crate::parts::ParsedMessage;

/// A request that was checked.
pub(crate) struct Request {
    pub(crate) id: Id,
    pub(crate) method: Box<str>,
    /// Dropped when the request was passed on: its call may run for long.
    pub(crate) params: Json,
    pub(crate) sender: Sender,
    tool: Option<ToolCall>,
    pub(crate) round: Round,
}

/// The name of a tool, and the arguments that it is called with.
type ToolCall = (String, Json);

/// What a request says of the rounds of its call.
pub(crate) struct Round {
    /// What identifies the call.
    pub(crate) subject: Digest,
    /// The state of an earlier round.
    pub(crate) state: Option<String>,
    /// Answers to questions.
    pub(crate) responses: Option<Json>,
    /// Whether a page was to be visited before the call, and was not.
    pub(crate) is_declined: bool,
    /// Whether it is a later round, and not a visit to pages that were named before the first.
    is_later: bool,
    /// Whether the backend understands rounds itself.
    is_understood: bool,
}

impl Request {
    /// Reads a request, and checks what can be checked without the backend; `None` if the server is ending. By
    /// HTTP it came with headers that must agree with it.
    pub(crate) async fn read(
        headers: Option<&HeaderMap>,
        id: &Id,
        method: Box<str>,
        params: Option<Json>,
        understands: bool,
    ) -> Option<Result<Self, Refusal>> {
        let params = params.unwrap_or_else(Json::empty_object);
        let (headers, id, size) = (headers.cloned(), id.clone(), params.as_bytes().len());
        let read = move || {
            let sender = Sender::read(&method, Some(&params), headers.as_ref().map(Headers))?;
            if let Some(headers) = &headers {
                routing::check(headers, &method, Some(&params))?;
            }
            if is_gone(&method, understands) {
                return Err(Refusal::no_method(&method));
            }
            let (tool, mut round) = (tool(&method, &params), Round::read(&method, &params));
            round.is_understood = understands;
            Ok(Self { id, method, params, sender, tool, round })
        };
        aside(size, read).await
    }

    /// Checks the headers that repeat arguments of a tool.
    pub(crate) async fn check_arguments(
        &self,
        headers: &HeaderMap,
        conversation: &SharedConversation,
    ) -> Result<(), Refusal> {
        let Some((name, arguments)) = self.tool.clone() else { return Ok(()) };
        let Some(mirrors) = conversation.mirrors_of(&name).await else { return Ok(()) };
        let (headers, size) = (headers.clone(), arguments.as_bytes().len());
        let check = move || routing::check_arguments(&headers, &mirrors, Some(&arguments));
        aside(size, check).await.unwrap_or(Ok(()))
    }

    /// The message that the backend gets, under this number.
    pub(crate) async fn passed_on(&self, number: u64) -> Option<ParsedMessage> {
        let (method, params) = (self.method.clone(), self.params.clone());
        let token = self.sender.token.as_ref().map(|_| number);
        let size = params.as_bytes().len();
        let kept = match (self.round.is_understood, self.round.is_later) {
            (false, _) => Kept::Nothing,
            (true, false) => Kept::Capabilities,
            (true, true) => Kept::Round,
        };
        let write = move || {
            let params = passed_on(&params, token, kept);
            ParsedMessage::request(Id::of_number(number), &method, Some(&params))
        };
        aside(size, write).await
    }

    /// Lets go of the body.
    pub(crate) fn forget_body(&mut self) {
        self.params = Json::empty_object();
        self.tool = None;
        self.round.responses = None;
    }
}

impl Round {
    fn read(method: &str, params: &Json) -> Self {
        let [state, responses] = params.pick(["requestState", "inputResponses"]);
        // What is said of pages is short.
        let pages = responses.as_ref().filter(|it| it.as_bytes().len() <= MOST_PAGES);
        let is_visit = pages.is_some_and(are_pages);
        Self {
            subject: seal::subject(method, Some(params)),
            is_later: state.is_some() || responses.is_some() && !is_visit,
            state: state.map(|state| state.string().unwrap_or_default().into_owned()),
            is_declined: is_visit && !pages.is_some_and(were_visited),
            responses,
            is_understood: false,
        }
    }

    /// Whether this is a round of the backend's own, and not of a call that is held here.
    pub(crate) fn is_backends(&self, holds: &Holds) -> bool {
        self.is_understood && self.state.is_some() && !self.is_held(holds)
    }

    /// Whether this is a round of a call that is held here.
    pub(crate) fn is_held(&self, holds: &Holds) -> bool {
        self.state.as_ref().is_some_and(|state| holds.has_sealed(state))
    }
}

fn tool(method: &str, params: &Json) -> Option<ToolCall> {
    if method != "tools/call" {
        return None;
    }
    let [name, arguments] = params.pick(["name", "arguments"]);
    Some((name?.read()?, arguments.unwrap_or_else(Json::empty_object)))
}

/// Of what is said of pages, in bytes.
const MOST_PAGES: usize = 64 * 1024;
