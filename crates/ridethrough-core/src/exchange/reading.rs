//! What an HTTP answer means, in the order in which the contract reads it.
//!
//! Pure translation from status, headers and body to a row of the decision table. It decides
//! nothing: the same reading leads to different steps for safe and unsafe requests.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;

use crate::head::{AnswerHead, Challenge, Content, Redirect};
use crate::message::{Answer, Incoming, Message};
use crate::session::{self, Carried, Loss};

/// An answer to a POST, with the messages beside it that are not the answer itself.
#[derive(Debug)]
pub(crate) struct PostAnswer {
    pub(crate) reading: PostReading,
    pub(crate) others: Vec<Message>,
}

/// What the answer to a POST means.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum PostReading {
    /// Row 18: taken, but the answer must come another way.
    Accepted,
    /// Row 15.
    Answer(Answer),
    /// Row 2: not run; come back later.
    Deferred { status: StatusCode, hint: Option<Duration> },
    /// Row 3: an intermediary lost it, perhaps after it was run.
    Interrupted { status: StatusCode, hint: Option<Duration> },
    /// Rows 16 and 18.
    Misbehaved(&'static str),
    /// Row 23.
    NeedsScope(Arc<str>),
    /// Row 24.
    Redirected(Option<Redirect>, StatusCode),
    /// Row 4.
    Rejected(StatusCode),
    /// Row 5.
    SessionLost,
    /// The words of a lost session under status 200: ask first.
    Suspected(Answer),
    /// Row 22, with what the server asked for.
    Unauthorized(Option<Challenge>),
}

/// What was asked, as far as reading its answer needs it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked<'a> {
    pub(crate) wire_id: u64,
    pub(crate) carried: Carried,
    pub(crate) assume_unexecuted: &'a [StatusCode],
}

/// Reads a whole answer to a POST.
pub(crate) fn read_post(head: &AnswerHead, body: &Bytes, asked: Asked<'_>) -> PostAnswer {
    let (ours, others) = split(parse(head, body), asked.wire_id);
    let reading = read_post_answer(head, body, asked, ours, others.is_empty());
    PostAnswer { reading, others }
}

fn read_post_answer(
    head: &AnswerHead,
    body: &Bytes,
    asked: Asked<'_>,
    ours: Option<Ours>,
    is_alone: bool,
) -> PostReading {
    let status = head.status;
    if let (401, Some(Challenge::Credentials)) = (status.as_u16(), &head.challenge) {
        return PostReading::Unauthorized(head.challenge.clone());
    }
    if let (403, Some(Challenge::Scope(scope))) = (status.as_u16(), &head.challenge) {
        return PostReading::NeedsScope(scope.clone());
    }
    if let Some(ours) = &ours
        && ours.is_plain_refusal()
    {
        return PostReading::Answer(ours.answer.clone());
    }
    let words = words(head, body, ours.as_ref());
    match (session::loss(head, asked.carried, words.as_deref()), &ours) {
        (Loss::Certain, _) => return PostReading::SessionLost,
        (Loss::Suspected, Some(ours)) => return PostReading::Suspected(ours.answer.clone()),
        _ => {}
    }
    let is_deferral = matches!(status.as_u16(), 425 | 429)
        || (status == StatusCode::SERVICE_UNAVAILABLE && head.retry_after.is_some())
        || asked.assume_unexecuted.contains(&status);
    if is_deferral {
        return PostReading::Deferred { status, hint: head.retry_after };
    }
    if status == StatusCode::UNAUTHORIZED {
        return PostReading::Unauthorized(head.challenge.clone());
    }
    match ours {
        Some(ours) => PostReading::Answer(ours.answer),
        None => read_bare(head, body, is_alone),
    }
}

/// What a whole answer says about the session that a request carried, as a call would read it.
///
/// `wire_id` is the id of the request.
pub fn session_loss(head: &AnswerHead, body: &Bytes, wire_id: u64) -> Loss {
    let asked = Asked { wire_id, carried: Carried::Session, assume_unexecuted: &[] };
    match read_post(head, body, asked).reading {
        PostReading::SessionLost => Loss::Certain,
        PostReading::Suspected(_) => Loss::Suspected,
        _ => Loss::None,
    }
}

/// Whether a refusal of the standing stream, which has no id to be answered by, speaks of a lost session.
pub(crate) fn get_speaks_of_loss(head: &AnswerHead, body: &Bytes) -> bool {
    let words = String::from_utf8_lossy(body);
    session::loss(head, Carried::Session, Some(&words)) == Loss::Certain
}

/// An answer whose body does not contain ours.
fn read_bare(head: &AnswerHead, body: &Bytes, is_alone: bool) -> PostReading {
    let status = head.status;
    match status.as_u16() {
        200..=299 if body.is_empty() => PostReading::Accepted,
        200..=299 if !is_alone => {
            PostReading::Misbehaved("the body has answers, but not to this call")
        }
        200..=299 if head.content == Content::Json => {
            PostReading::Misbehaved("the body is no JSON-RPC message")
        }
        200..=299 => PostReading::Misbehaved("the body has the wrong content type"),
        300..=399 => PostReading::Redirected(head.redirect.clone(), status),
        408 | 502 | 503 | 504 => PostReading::Interrupted { status, hint: head.retry_after },
        _ => PostReading::Rejected(status),
    }
}

/// What the answer to a resume means, if it is not a stream.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ResumeReading {
    /// Row 11: the answer itself, as JSON.
    Answer(Answer),
    /// Rows 8 and 11: come back later; costs one attempt.
    Busy { status: StatusCode, hint: Option<Duration> },
    /// Row 12: accepted, and nothing in it for us.
    Empty,
    /// Row 9: the stream or its session is gone; `spoken` if a JSON-RPC body says so.
    Gone { spoken: bool },
    /// Row 24.
    Redirected(Option<Redirect>, StatusCode),
    /// Row 11: as row 22.
    Unauthorized(Option<Challenge>),
    /// Row 10: this stream cannot be resumed.
    Unresumable(StatusCode),
}

/// Reads a whole answer to a resume.
pub(crate) fn read_resume(
    head: &AnswerHead,
    body: &Bytes,
    asked: Asked<'_>,
) -> (ResumeReading, Vec<Message>) {
    let (ours, others) = split(parse(head, body), asked.wire_id);
    let status = head.status;
    let spoken = ours.is_some() || !others.is_empty();
    let words = words(head, body, ours.as_ref());
    let is_lost = session::loss(head, asked.carried, words.as_deref()) == Loss::Certain;
    let reading = match status.as_u16() {
        401 if !is_lost => ResumeReading::Unauthorized(head.challenge.clone()),
        404 => ResumeReading::Gone { spoken },
        _ if is_lost => ResumeReading::Gone { spoken },
        _ if head.content == Content::Html => busy(head),
        408 | 409 | 425 | 429 | 500 | 502 | 503 | 504 => busy(head),
        200..=299 => match ours {
            Some(ours) => ResumeReading::Answer(ours.answer),
            None if !others.is_empty() => ResumeReading::Empty,
            None => ResumeReading::Unresumable(status),
        },
        300..=399 => ResumeReading::Redirected(head.redirect.clone(), status),
        _ => ResumeReading::Unresumable(status),
    };
    (reading, others)
}

fn busy(head: &AnswerHead) -> ResumeReading {
    ResumeReading::Busy { status: head.status, hint: head.retry_after }
}

/// The message in a body that answers our request.
#[derive(Debug)]
struct Ours {
    answer: Answer,
    names_us: bool,
}

impl Ours {
    /// "No such method" and "wrong params", said to us by name: the answer under any status,
    /// unless the words are those of a lost session.
    fn is_plain_refusal(&self) -> bool {
        let Some(error) = self.answer.error() else { return false };
        self.names_us
            && matches!(error.code, -32601 | -32602)
            && !session::names_a_lost_session(&error.message)
    }
}

fn parse(head: &AnswerHead, body: &Bytes) -> Vec<Message> {
    // Refusals come as JSON under any content type; a success must say what it is.
    let may_be_json =
        !head.status.is_success() || matches!(head.content, Content::Json | Content::Nothing);
    match may_be_json {
        true => Incoming::parse(body).map(Incoming::into_messages).unwrap_or_default(),
        false => Vec::new(),
    }
}

/// Parts our answer from the rest. A response without an id can only mean this request.
fn split(messages: Vec<Message>, wire_id: u64) -> (Option<Ours>, Vec<Message>) {
    let mut ours = None;
    let mut others = Vec::new();
    for message in messages {
        match message {
            Message::Response { id, answer }
                if ours.is_none() && id.as_ref().is_none_or(|id| id.number() == Some(wire_id)) =>
            {
                ours = Some(Ours { answer, names_us: id.is_some() });
            }
            other => others.push(other),
        }
    }
    (ours, others)
}

/// The words to look for phrases in. Under a success only a JSON-RPC error speaks for the
/// protocol: a result may quote anything.
fn words(head: &AnswerHead, body: &Bytes, ours: Option<&Ours>) -> Option<String> {
    if let Some(error) = ours.and_then(|ours| ours.answer.error()) {
        return Some(error.message);
    }
    let is_refusal = !head.status.is_success() && ours.is_none();
    is_refusal.then(|| String::from_utf8_lossy(body).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_answer_says_about_a_session_is_what_a_call_would_read() {
        let read = |status: u16, body: &'static str| {
            let status = StatusCode::from_u16(status).unwrap();
            session_loss(
                &AnswerHead::new(status, Content::Json),
                &Bytes::from_static(body.as_bytes()),
                7,
            )
        };

        assert_eq!(read(404, ""), Loss::Certain);
        assert_eq!(read(400, "no valid session ID provided"), Loss::Certain);
        assert_eq!(read(400, "no"), Loss::None);
        assert_eq!(
            read(200, r#"{"id":7,"error":{"code":1,"message":"session expired"}}"#),
            Loss::Suspected
        );
        assert_eq!(read(404, r#"{"id":7,"error":{"code":-32601,"message":"no"}}"#), Loss::None);
        assert_eq!(read(200, r#"{"id":7,"result":{"text":"session expired"}}"#), Loss::None);
    }
}
