//! What the answer to a POST means, in the order in which the contract reads it.

use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use ridethrough_wire::message::{Answer, Incoming, Message};
use ridethrough_wire::sse::{Decoder, Item};

use super::unexecuted::Unexecuted;
use super::{status, words as phrases};
use crate::failure::Delivery;
use crate::head::{AnswerHead, Challenge, Content, Demand, Redirect};
use crate::rule::Rule;
use crate::session::Carried;

/// An answer to a POST, and the other messages in its body.
#[derive(Debug)]
pub(crate) struct PostAnswer {
    pub(crate) reading: PostReading,
    pub(crate) others: Vec<Message>,
    /// The server's words, if it refused, as they came.
    pub(crate) said: Option<String>,
    /// The answer in the body that names our request by its id, whatever the status.
    pub(crate) named: Option<Answer>,
}

/// What the answer to a POST means.
///
/// An `answer` in a variant is an error that named our request. It becomes the call's answer if the call ends
/// there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PostReading {
    /// Row 18: accepted, but the answer must come on another stream.
    Accepted,
    /// Row 15: the answer to the request.
    Answer(Answer),
    /// Row 2: the server asks for time; `delivery` is what that says about the request.
    Deferred {
        status: StatusCode,
        hint: Option<Duration>,
        answer: Option<Answer>,
        delivery: Delivery,
    },
    /// Row 3: trouble on the way, perhaps after the request was run.
    Interrupted { status: StatusCode, hint: Option<Duration> },
    /// Rows 16 and 18: an answer that breaks the protocol.
    Misbehaved(Rule),
    /// Row 23: the credentials lack the scope that the challenge names.
    NeedsScope { challenge: Challenge, answer: Option<Answer> },
    /// Row 24: a redirect.
    Redirected(Option<Redirect>, StatusCode),
    /// Row 4: a refusal, and what it says about the request.
    Rejected(StatusCode, Delivery),
    /// Row 5: the answer speaks of a lost session, which a question must confirm.
    Suspected(Box<Suspicion>),
    /// Row 22: the credentials were refused, with what the server asked for.
    Unauthorized { challenge: Option<Challenge>, answer: Option<Answer> },
}

impl PostReading {
    /// Returns the JSON-RPC answer that was read as the call's, if it was.
    pub(crate) const fn answer(&self) -> Option<&Answer> {
        match self {
            Self::Answer(answer) => Some(answer),
            _ => None,
        }
    }
}

/// An answer that speaks of a lost session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Suspicion {
    /// What the answer means if the session is alive.
    pub(crate) otherwise: PostReading,
    /// The code of an error that named our request.
    pub(crate) code: Option<i64>,
    /// Whether the answer says that no handshake was made. A ping is then no test, because a server may
    /// answer one before a handshake.
    pub(crate) wants_handshake: bool,
}

impl Suspicion {
    /// Whether another refusal confirms this one.
    pub(crate) fn is_confirmed_by(&self, other: &Self) -> bool {
        self.code.is_none() || self.code == other.code
    }
}

/// What reading an answer needs to know of its request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked<'a> {
    pub(crate) wire_id: u64,
    /// The size of its body.
    pub(crate) size: usize,
    pub(crate) carried: Carried,
    pub(crate) assume_unexecuted: &'a [Unexecuted],
}

impl Asked<'_> {
    /// Returns what is to be known of a request that the link makes for itself, of whose refusal nothing
    /// depends on proof.
    pub(crate) const fn own(wire_id: u64, carried: Carried) -> Self {
        Self { wire_id, size: 0, carried, assume_unexecuted: &[] }
    }

    /// Whether the operator declares that the server did not run what it refused so.
    fn is_assumed_unexecuted(&self, head: &AnswerHead) -> bool {
        self.assume_unexecuted.iter().any(|assumed| assumed.covers(head))
    }

    /// Returns what a refusal says about the request.
    fn delivery(&self, head: &AnswerHead) -> Delivery {
        let is_refused =
            self.is_assumed_unexecuted(head) || status::is_not_carried_out(head.status, self.size);
        if is_refused { Delivery::Refused } else { Delivery::Unknown }
    }
}

/// Reads a whole answer to a POST.
pub(crate) fn read_post(head: &AnswerHead, body: &Bytes, asked: Asked<'_>) -> PostAnswer {
    let (ours, others) = split(parse(head, body), asked.wire_id);
    let named = ours.as_ref().filter(|ours| ours.names_us).map(|ours| ours.answer.clone());
    let said = if head.status.is_success() { None } else { said(head, body) };
    let suspicion = suspect(head, asked.carried, words(head, body, ours.as_ref()), ours.as_ref());
    let otherwise = read_trusting(head, body, asked, ours, others.is_empty());
    PostAnswer { reading: doubted(otherwise, suspicion), others, said, named }
}

/// Returns the words of a refusal for people: those of its body and of its challenge.
fn said(head: &AnswerHead, body: &Bytes) -> Option<String> {
    let words = phrases::of_refusal(head.content, body);
    let scope = head.challenge.as_ref().and_then(Challenge::missing_scope);
    let scope = scope.filter(|scope| !scope.is_empty());
    let scope = scope.map(|scope| format!("insufficient scope: {scope}"));
    let asked = head.challenge_words.as_deref().map(str::to_owned);
    let parts: Vec<_> = [words, scope, asked].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// Reads an answer that came as a message of a stream; `is_first` says that nothing came before it.
pub(crate) fn read_streamed(answer: Answer, carried: Carried, is_first: bool) -> PostReading {
    let head = status::stream_head();
    let words = answer.error().map(|error| error.message).filter(|_| is_first);
    let ours = Ours { answer, names_us: true };
    let suspicion = suspect(&head, carried, words, Some(&ours));
    doubted(PostReading::Answer(ours.answer), suspicion)
}

/// Wraps what an answer would mean otherwise in a suspicion. The answer of a guard or a limit before the
/// server is acted on first.
fn doubted(otherwise: PostReading, suspicion: Option<SignsOfLoss>) -> PostReading {
    let is_guarded = match &otherwise {
        PostReading::Deferred { .. } | PostReading::NeedsScope { .. } => true,
        PostReading::Unauthorized { challenge, .. } => {
            challenge.as_ref().is_some_and(|it| it.demand == Demand::Credentials)
        }
        _ => false,
    };
    match suspicion {
        Some(SignsOfLoss { code, wants_handshake }) if !is_guarded => {
            PostReading::Suspected(Box::new(Suspicion { otherwise, code, wants_handshake }))
        }
        _ => otherwise,
    }
}

struct SignsOfLoss {
    code: Option<i64>,
    wants_handshake: bool,
}

/// Whether an answer speaks of a lost session: by 404 or 410 to a request that carried one, or by words under
/// a 4xx, under a 503 or in an error. An answer that names our request without such words is taken as it is.
fn suspect(
    head: &AnswerHead,
    carried: Carried,
    words: Option<String>,
    ours: Option<&Ours>,
) -> Option<SignsOfLoss> {
    let named = ours.filter(|ours| ours.names_us);
    // A gateway or a bridge reports what became of a call at another server, also in that server's words: they
    // say nothing about the session here.
    if named.is_some_and(|ours| ours.answer.is_report()) {
        return None;
    }
    let words = words.as_deref();
    let wants_handshake = words.is_some_and(phrases::names_no_handshake);
    let is_named = match carried {
        Carried::Session | Carried::Handshake => words.is_some_and(phrases::names_a_lost_session),
        Carried::NoSession => wants_handshake,
        Carried::Stateless => false,
    };
    let is_gone = carried == Carried::Session && status::is_gone(head.status) && named.is_none();
    let may_speak = head.status.is_success() || status::may_speak_of_loss(head.status);
    let code = named.and_then(|ours| ours.answer.error()).map(|error| error.code);
    (is_gone || (is_named && may_speak)).then_some(SignsOfLoss { code, wants_handshake })
}

/// Reads an answer on the assumption that the session is not in question.
fn read_trusting(
    head: &AnswerHead,
    body: &Bytes,
    asked: Asked<'_>,
    ours: Option<Ours>,
    is_alone: bool,
) -> PostReading {
    let status = head.status;
    let is_result = |ours: &Ours| ours.names_us && ours.answer.error().is_none();
    let ours = match ours {
        // A server that sends the result has run the request.
        Some(ours) if is_result(&ours) => return PostReading::Answer(ours.answer),
        ours => ours,
    };
    let answer = ours.as_ref().filter(|ours| ours.names_us).map(|ours| ours.answer.clone());
    if status::is_challenged(head) {
        return PostReading::Unauthorized { challenge: head.challenge.clone(), answer };
    }
    if let Some(challenge) = &head.challenge
        && challenge.missing_scope().is_some()
        && status::is_forbidden(status)
    {
        return PostReading::NeedsScope { challenge: challenge.clone(), answer };
    }
    let is_assumed = status::is_outage(status) && asked.is_assumed_unexecuted(head);
    if status::asks_to_come_back(head) || is_assumed {
        let is_denied = answer.as_ref().is_some_and(Answer::denies_a_run);
        let delivery = if is_denied { Delivery::Refused } else { asked.delivery(head) };
        return PostReading::Deferred { status, hint: head.retry_after, answer, delivery };
    }
    if let Some(answer) = answer {
        return PostReading::Answer(answer);
    }
    if status::is_unauthorized(status) {
        return PostReading::Unauthorized { challenge: head.challenge.clone(), answer: None };
    }
    match ours {
        // An error without an id can only mean this request, unless it comes from an intermediary.
        Some(ours) if !status::is_outage(status) => PostReading::Answer(ours.answer),
        _ => read_bare(head, body, asked, is_alone),
    }
}

/// Reads an answer whose body does not contain ours.
fn read_bare(head: &AnswerHead, body: &Bytes, asked: Asked<'_>, is_alone: bool) -> PostReading {
    let status = head.status;
    if status.is_success() {
        return match head.content {
            _ if body.is_empty() => PostReading::Accepted,
            _ if !is_alone => PostReading::Misbehaved(Rule::NoAnswerInBody),
            Content::Json => PostReading::Misbehaved(Rule::NoJsonRpc),
            _ => PostReading::Misbehaved(Rule::WrongContentType),
        };
    }
    if status.is_redirection() {
        return PostReading::Redirected(head.redirect.clone(), status);
    }
    if status::is_outage(status) {
        PostReading::Interrupted { status, hint: head.retry_after }
    } else {
        PostReading::Rejected(status, asked.delivery(head))
    }
}

/// What an answer says about the session that its request was sent in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// The session is gone, by the status.
    ByStatus,
    /// The session is gone, by the words of an error under a success status.
    ByWords,
    /// Nothing about the session.
    None,
}

/// Reads what a whole answer says about the session that its request carried, as a call would. A call checks
/// it by a question.
///
/// `wire_id` is the id of the request.
pub fn session_loss(head: &AnswerHead, body: &Bytes, wire_id: u64) -> Loss {
    let asked = Asked::own(wire_id, Carried::Session);
    match read_post(head, body, asked).reading {
        PostReading::Suspected(_) if head.status.is_success() => Loss::ByWords,
        PostReading::Suspected(_) => Loss::ByStatus,
        _ => Loss::None,
    }
}

/// The message in a body that answers our request.
#[derive(Debug)]
pub(super) struct Ours {
    pub(super) answer: Answer,
    /// Whether it has our id. An error without any id can only mean this request.
    pub(super) names_us: bool,
}

pub(super) fn parse(head: &AnswerHead, body: &Bytes) -> Vec<Message> {
    // Refusals come as JSON under any content type; a success must declare its type.
    let may_be_json =
        !head.status.is_success() || matches!(head.content, Content::Json | Content::Nothing);
    match may_be_json {
        true if head.content == Content::EventStream => streamed(body),
        true => Incoming::parse(body).map(Incoming::into_messages).unwrap_or_default(),
        false => Vec::new(),
    }
}

/// Returns the messages of a refusal that is written as an event stream.
fn streamed(body: &Bytes) -> Vec<Message> {
    let mut decoder = Decoder::new(body.len());
    decoder.feed(body.clone());
    // A refusal may end without the blank line that ends an event.
    decoder.feed(Bytes::from_static(b"\n\n"));
    let items = std::iter::from_fn(|| decoder.next_item()).map_while(Result::ok);
    let incoming = items.filter_map(|item| match item {
        Item::Event(event) => Incoming::parse(&event.data).ok(),
        Item::Comment => None,
    });
    incoming.flat_map(Incoming::into_messages).collect()
}

/// Separates our answer from the other messages. One that names our request takes precedence over one without
/// an id; of several, the first counts.
pub(super) fn split(messages: Vec<Message>, wire_id: u64) -> (Option<Ours>, Vec<Message>) {
    let is_named = |message: &Message| matches!(message, Message::Response { id: Some(id), .. } if id.number() == Some(wire_id));
    // A server that could not read our id can report a failure, but no result.
    let is_nameless = |message: &Message| matches!(message, Message::Response { id: None, answer } if answer.error().is_some());
    let named = messages.iter().position(is_named);
    let place = named.or_else(|| messages.iter().position(is_nameless));
    let mut others = messages;
    let ours = match place.map(|place| others.remove(place)) {
        Some(Message::Response { answer, .. }) => Some(Ours { answer, names_us: named.is_some() }),
        _ => None,
    };
    // A second answer to this request is dropped: a call ends once.
    others.retain(|message| !is_named(message));
    (ours, others)
}

/// Returns the text to search for phrases. Under a success status only a JSON-RPC error counts: a result may
/// quote anything.
pub(super) fn words(head: &AnswerHead, body: &Bytes, ours: Option<&Ours>) -> Option<String> {
    if let Some(error) = ours.and_then(|ours| ours.answer.error()) {
        return Some(error.message);
    }
    let is_refusal = !head.status.is_success() && ours.is_none();
    is_refusal.then(|| String::from_utf8_lossy(body).into_owned())
}

#[cfg(test)]
mod tests;
