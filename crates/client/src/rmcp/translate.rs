//! Translation between JSON as it was sent and the types of `rmcp`.
//!
//! `rmcp` parses eagerly and drops what it has no field for; that is the price of its types. Nothing may fail
//! silently here: what `rmcp` cannot read becomes an error under the id of its request.

use std::sync::Arc;

use ridethrough_core::{CallError, CallName, Delivery, Kind, QuestionId, Reason, Rule};
use ridethrough_wire::message::{Answer, Json};
use rmcp::model::{
    CancelledNotification, CancelledNotificationParam, ClientNotification, ClientRequest,
    ErrorCode, ErrorData, RequestId, ServerJsonRpcMessage, ServerNotification, ServerRequest,
    ServerResult,
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::calls::CallEnd;
use super::facts::{error_data, without_facts};

/// Method and params, as JSON-RPC writes them.
#[derive(Serialize, Deserialize)]
struct Said<'a> {
    #[serde(borrow)]
    method: std::borrow::Cow<'a, str>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    params: Option<&'a RawValue>,
}

/// Returns the params of a request, as `rmcp` writes them.
pub(super) fn params(request: &ClientRequest) -> Result<Option<Json>, CallError> {
    let unwritable = |_| {
        let call = CallName { method: request.method().into(), tool: None };
        let rule = Reason::Rule(Rule::ParamsUnwritable);
        CallError::new(Kind::Cancelled, Delivery::NotSent, call, rule)
    };
    said(request).map(|(_, params)| params).map_err(unwritable)
}

/// Returns a notification for the server.
pub(super) fn notice(told: &ClientNotification) -> Option<(String, Option<Json>)> {
    said(told).ok()
}

fn said(message: &impl Serialize) -> Result<(String, Option<Json>), serde_json::Error> {
    let written = serde_json::to_string(message)?;
    let said: Said<'_> = serde_json::from_str(&written)?;
    let params = said.params.map(Json::of).transpose()?;
    Ok((said.method.into_owned(), params))
}

/// Returns the end of a call, under the id that `rmcp` gave it.
pub(super) fn answer(ended: CallEnd) -> ServerJsonRpcMessage {
    let CallEnd { id, method, outcome } = ended;
    match outcome {
        Ok(Answer::Result(json)) => match serde_json::from_slice::<ServerResult>(json.as_bytes()) {
            Ok(result) => ServerJsonRpcMessage::response(result, id),
            Err(_) => ServerJsonRpcMessage::error(error_data(&unreadable(method)), Some(id)),
        },
        Ok(answer @ Answer::Error(_)) => ServerJsonRpcMessage::error(refusal(&answer), Some(id)),
        Err(error) => ServerJsonRpcMessage::error(error_data(&error), Some(id)),
    }
}

/// Returns the server's own error; of one that `rmcp` cannot read, the parts that can be read.
fn refusal(answer: &Answer) -> ErrorData {
    if let Ok(error) = serde_json::from_slice::<ErrorData>(answer.json().as_bytes()) {
        return without_facts(error);
    }
    let said = answer.error().unwrap_or_default();
    let code = i32::try_from(said.code).map_or(ErrorCode::INTERNAL_ERROR, ErrorCode);
    ErrorData::new(code, said.message, None)
}

fn unreadable(method: Arc<str>) -> CallError {
    let call = CallName { method, tool: None };
    let rule = Reason::Rule(Rule::ResultUnreadable);
    CallError::new(Kind::PeerMisbehaved, Delivery::Unknown, call, rule)
}

/// Returns a notification of the server.
pub(super) fn notification(method: &str, params: Option<&Json>) -> Option<ServerJsonRpcMessage> {
    read::<ServerNotification>(method, params).map(ServerJsonRpcMessage::notification)
}

/// Returns a question of the server, under the link's number for it.
pub(super) fn question(
    question: QuestionId,
    method: &str,
    params: Option<&Json>,
) -> Option<ServerJsonRpcMessage> {
    let asked = read::<ServerRequest>(method, params)?;
    Some(ServerJsonRpcMessage::request(asked, request_id(question)))
}

/// Returns the cancellation of a question whose answer is no longer wanted.
pub(super) fn withdrawn(question: QuestionId) -> ServerJsonRpcMessage {
    let reason = "the server does not wait for the answer any more".to_owned();
    let params = CancelledNotificationParam::new(Some(request_id(question)), Some(reason));
    let cancelled = CancelledNotification::new(params);
    ServerJsonRpcMessage::notification(ServerNotification::CancelledNotification(cancelled))
}

fn request_id(question: QuestionId) -> RequestId {
    RequestId::Number(i64::try_from(question.number()).expect("a link counts from one"))
}

fn read<T: serde::de::DeserializeOwned>(method: &str, params: Option<&Json>) -> Option<T> {
    let params = params.and_then(Json::read::<&RawValue>);
    let said = serde_json::to_string(&Said { method: method.into(), params }).ok()?;
    serde_json::from_str(&said).ok()
}
