//! Messages of the server, and answers to the SDK, as JSON.

use std::borrow::Cow;

use bytes::Bytes;
use ridethrough::Json;
use ridethrough::error::CallError;
use ridethrough::event::{Answer, Delivered, QuestionId};
use ridethrough::machine::{Doubt, DoubtForm};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::facts::{self, Facts};
use crate::queue::{Item, ItemKind};

/// A message as the SDK writes it.
#[derive(Deserialize)]
pub(crate) struct SdkMessage<'a> {
    #[serde(borrow, default)]
    pub(crate) id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) method: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(crate) params: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(crate) error: Option<&'a RawValue>,
}

/// Returns JSON that was part of a message.
pub(crate) fn part(raw: &RawValue) -> Json {
    Json::of(raw).expect("it was read as JSON")
}

/// Returns the end of a call, for a program that gave the call this number.
pub(crate) fn ended(number: u64, outcome: Result<Answer, CallError>) -> Item {
    match outcome {
        Ok(Answer::Result(json)) => Item::new(ItemKind::Result, number, json.as_bytes().clone()),
        Ok(Answer::Error(json)) => {
            Item::new(ItemKind::ServerError, number, json.as_bytes().clone())
        }
        Err(error) => Item::new(ItemKind::Failure, number, Facts::of(&error).json()),
    }
}

/// Returns the end of a request of the SDK, as the response to it.
pub(crate) fn response(id: &str, outcome: Result<Answer, CallError>) -> Item {
    match outcome {
        Ok(Answer::Result(json)) => message(id, "result", json.as_bytes().clone()),
        Ok(Answer::Error(json)) => message(id, "error", without_facts(&json).as_bytes().clone()),
        Err(error) => message(id, "error", failure(&error).into()),
    }
}

/// Returns the end of a call that was not sent, for a program that gave the call this number.
pub(crate) fn repeat_ended(number: u64, doubt: &Doubt) -> Item {
    let (Answer::Error(told) | Answer::Result(told)) = doubt.answer_to_repeat(DoubtForm::Error);
    Item::new(ItemKind::Failure, number, facts::told_in(&told).as_bytes().clone())
}

/// Returns an answer that tells a doubt as the response to a request of the SDK.
pub(crate) fn doubt_told(id: &str, answer: Answer) -> Item {
    let told = match answer {
        Answer::Error(told) => told,
        result @ Answer::Result(_) => return response(id, Ok(result)),
    };
    let facts = facts::told_in(&told);
    let words = facts.member("report").and_then(|it| it.read::<String>()).unwrap_or_default();
    let told = serde_json::to_value(facts.read::<&RawValue>()).expect("it is JSON");
    message(id, "error", error(MAY_HAVE_RUN, &words, &told).into())
}

/// Returns a server's error, without anything that could pass for the client's facts.
fn without_facts(error: &Json) -> Cow<'_, Json> {
    let Some(data) = error.member("data").filter(|data| data.member(NAME).is_some()) else {
        return Cow::Borrowed(error);
    };
    let rest = data.members().into_iter().filter(|(name, _)| name != NAME);
    let rest = Json::empty_object().with_members(rest);
    let others = error.members().into_iter().filter(|(name, _)| name != "data");
    let others: Vec<_> = others.chain([("data".to_owned(), rest)]).collect();
    Cow::Owned(Json::empty_object().with_members(others))
}

/// Returns the error of a call without an answer: the whole report, and the facts beside it.
///
/// Some frameworks send a call again if its error has the code -32000 or -32001, or certain words. The error
/// of a call that may have run has neither; its report is among the facts.
fn failure(error: &CallError) -> String {
    let facts = Facts::of(error);
    let (code, words) = if facts.may_have_run {
        (MAY_HAVE_RUN, error.words_of_doubt())
    } else {
        (DID_NOT_RUN, facts.report.clone())
    };
    let facts = serde_json::to_value(&facts).expect("made of numbers and strings");
    self::error(code, &words, &facts)
}

fn error(code: i64, words: &str, facts: &Value) -> String {
    json!({ "code": code, "message": words, "data": { NAME: facts } }).to_string()
}

fn message(id: &str, name: &str, json: Bytes) -> Item {
    let mut item = Item::new(ItemKind::Message, 0, json);
    item.around = Some((format!(r#"{{"jsonrpc":"2.0","id":{id},"{name}":"#), "}"));
    item
}

/// Returns a message of the server as method and params.
pub(crate) fn plain(delivered: Delivered) -> Option<Item> {
    let (kind, number, method, params) = match delivered {
        Delivered::Notification { method, .. } if &*method == CANCELLED => return None,
        Delivered::Notification { method, params, .. } => {
            (ItemKind::Notification, 0, method, params)
        }
        Delivered::Question { question, method, params, .. } => {
            (ItemKind::Question, question.number(), method, params)
        }
        Delivered::Withdrawn { question } => {
            return Some(Item::new(ItemKind::Withdrawn, question.number(), ""));
        }
    };
    Some(Item::new(kind, number, said(None, &method, params.as_ref())))
}

/// Returns a message of the server as the SDK reads it. Questions have the link's numbers as their ids.
pub(crate) fn whole(delivered: Delivered) -> Option<Item> {
    let text = match delivered {
        // It names the server's id of a question; `Withdrawn` names the link's number.
        Delivered::Notification { method, .. } if &*method == CANCELLED => return None,
        Delivered::Notification { method, params, .. } => said(None, &method, params.as_ref()),
        Delivered::Question { question, method, params, .. } => {
            said(Some(question), &method, params.as_ref())
        }
        Delivered::Withdrawn { question } => {
            let params = json!({
                "requestId": question.number(),
                "reason": "the server does not wait for the answer any more",
            });
            said(None, CANCELLED, Json::of(&params).ok().as_ref())
        }
    };
    Some(Item::new(ItemKind::Message, 0, text))
}

fn said(question: Option<QuestionId>, method: &str, params: Option<&Json>) -> Vec<u8> {
    #[derive(Serialize)]
    struct Said<'a> {
        jsonrpc: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<u64>,
        method: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        params: Option<&'a RawValue>,
    }

    let id = question.map(QuestionId::number);
    let params = params.and_then(Json::read::<&RawValue>);
    serde_json::to_vec(&Said { jsonrpc: "2.0", id, method, params })
        .expect("made of JSON and strings")
}

const CANCELLED: &str = "notifications/cancelled";

/// The name of the facts in the `data` of an error.
const NAME: &str = "ridethrough";

/// The code of a call that may have run: neither MCP nor any framework that was examined uses it.
const MAY_HAVE_RUN: i64 = -32050;

/// The code of a call that did not run, which frameworks know as a lost connection.
const DID_NOT_RUN: i64 = -32000;
