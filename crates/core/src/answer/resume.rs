//! What the answer to a resume, or to the GET of the standing stream, means if it is no stream.

use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use ridethrough_wire::message::{Answer, Message};

use super::post::{Asked, parse, split, words};
use super::{status, words as phrases};
use crate::head::{AnswerHead, Challenge, Content, Redirect};
use crate::session::Carried;

/// What the answer to a resume means if it is no stream.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ResumeReading {
    /// Row 11: the answer itself, as JSON.
    Answer(Answer),
    /// Rows 8 and 11: the server asks for time; this costs one attempt.
    Busy { status: StatusCode, hint: Option<Duration> },
    /// Row 12: accepted, and without a message for us.
    Empty,
    /// Row 9: the stream or its session is gone; `spoken` if a JSON-RPC body says so.
    Gone { spoken: bool },
    /// Row 24: a redirect.
    Redirected(Option<Redirect>, StatusCode),
    /// Row 11: the credentials were refused, as in row 22.
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
    let spoken = ours.is_some() || !others.is_empty();
    let words = words(head, body, ours.as_ref());
    let is_lost = speaks_of_loss(head, asked.carried, words.as_deref());
    let status = head.status;
    let reading = if status::is_unauthorized(status) && !is_lost {
        ResumeReading::Unauthorized(head.challenge.clone())
    } else if status::is_not_found(status) || is_lost {
        ResumeReading::Gone { spoken }
    } else if head.content == Content::Html || status::is_passing_for_a_stream(status) {
        ResumeReading::Busy { status, hint: head.retry_after }
    } else if status.is_redirection() {
        ResumeReading::Redirected(head.redirect.clone(), status)
    } else if !status.is_success() {
        ResumeReading::Unresumable(status)
    } else {
        match ours {
            Some(ours) => ResumeReading::Answer(ours.answer),
            None if !others.is_empty() => ResumeReading::Empty,
            None => ResumeReading::Unresumable(status),
        }
    };
    (reading, others)
}

/// Whether a refusal of the standing stream speaks of a lost session. Its GET has no id that an answer could
/// name.
pub(crate) fn get_speaks_of_loss(head: &AnswerHead, body: &Bytes) -> bool {
    let words = String::from_utf8_lossy(body);
    speaks_of_loss(head, Carried::Session, Some(&words))
}

fn speaks_of_loss(head: &AnswerHead, carried: Carried, words: Option<&str>) -> bool {
    let is_named = words.is_some_and(phrases::names_a_lost_session);
    match carried {
        Carried::Stateless => false,
        Carried::Session if status::is_gone(head.status) => true,
        _ => is_named && status::may_speak_of_loss(head.status) && !status::is_challenged(head),
    }
}
