//! What a server can do about a request, and to itself.

use http::{HeaderName, HeaderValue};
use serde::Deserialize;
use serde_json::Value;

use super::matching::Fields;
use crate::{Mood, Spoken};

/// One action of a server. In a file: a word, or a table with the word as its only key.
///
/// In texts, `{{id}}` is the request's id, `{{answer}}` the whole correct answer as JSON, `{{length}}` its
/// length in bytes, `{{url}}` this server, `{{main}}` the first, `{{other}}` the other one,
/// `{{other_origin}}` its origin and `{{issuer}}` the origin of the authorization server. After `run`,
/// `{{access_token}}`, `{{refresh_token}}`, `{{code}}`, `{{location}}`, `{{redirect_uri}}` and `{{state}}`
/// are what an authorization server has answered. Where a stream is resumed, request and answer are those of
/// the stream on which the named event was sent; so concurrent calls need event ids of their own, such as
/// `{{id}}-1`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// Sends the answer on the open stream.
    Answer(StreamAnswer),
    /// Sends these bytes, written in hexadecimal digits. Before any answer, they are written on the bare
    /// connection.
    Bytes(String),
    /// Closes every connection with nothing under way.
    CloseIdle,
    /// Sends a comment on the open stream.
    Comment(String),
    /// Closes the connection (FIN) without the proper end of an answer.
    Cut,
    /// Dies, and restarts after this many seconds without its sessions.
    Down(f64),
    /// Invalidates every access token that was issued so far.
    EndAccessTokens,
    /// Ends every login: no refresh token is valid any more.
    EndLogins,
    /// Ends every `subscriptions/listen` with its result.
    EndSubscriptions,
    /// Speaks this era from now on: an upgrade, or a rollback.
    Era(Spoken),
    /// Sends an event on the open stream.
    Event(Event),
    /// Ends the stream properly. After bare bytes: leaves the connection open.
    Finish,
    /// Sends this many bytes of `x`, unframed: on the open stream, or after others on the bare connection.
    Flood(u64),
    /// Makes the authorization servers forget every client.
    ForgetClients,
    /// Forgets every session.
    ForgetSessions,
    /// Refuses the request as a correct server does, if that refuses it: for want of a token or a session.
    /// The actions that follow are then skipped.
    Guard,
    /// Sends nothing more, until the client closes.
    Hold,
    /// Refuses unknown sessions with this answer from now on.
    LostSession(LostSession),
    /// Sends bytes in this manner from now on.
    Manner(Manner),
    /// Sends a JSON-RPC message on the open stream.
    Message(Message),
    /// Answers with the head of an event stream.
    Open,
    /// Treats new connections differently for a while.
    Outage(Outage),
    /// Answers correctly, in JSON of this many bytes, filled by padding in `_meta` of the result.
    Padded(usize),
    /// Sends the beginning of the correct answer, head included, on the bare connection.
    Partial(Partial),
    /// Answers as if there were no rule. Further actions follow after that.
    Pass,
    /// Sends a JSON-RPC message on every standing stream.
    Push(Value),
    /// Sends this text unchanged: on the open stream, or before any answer on the bare connection.
    Raw(String),
    /// Resets the connection.
    Reset,
    /// Resets every connection.
    ResetConnections,
    /// Sends a `retry:` field with this text: how many milliseconds to wait before resuming.
    Retry(String),
    /// Runs the tool, or carries out the request to an authorization server.
    Run,
    /// Writes this on every connection with nothing under way, and closes it.
    SayOnIdle(String),
    /// Answers with a status.
    Status(Status),
    /// Offers these tools from now on.
    Tools(Vec<Value>),
    /// Does nothing for this many seconds.
    Wait(f64),
}

impl Action {
    /// Returns why the action makes no sense.
    pub(super) fn nonsense(&self) -> Option<String> {
        match self {
            Self::Bytes(digits) => {
                let digits: Vec<_> = digits.chars().filter(|it| !it.is_whitespace()).collect();
                let is_hex = digits.iter().all(char::is_ascii_hexdigit) && digits.len() % 2 == 0;
                (!is_hex).then(|| "`bytes` are pairs of hexadecimal digits".to_owned())
            }
            Self::Down(lasts) | Self::Wait(lasts) => wrong_time(*lasts),
            Self::LostSession(lost) => wrong_status(lost.status),
            Self::Manner(manner) => {
                let is_none = manner.slice == 0;
                let wrong = is_none.then(|| "a `slice` has one byte at least".to_owned());
                wrong.or_else(|| wrong_time(manner.gap))
            }
            Self::Outage(outage) => wrong_time(outage.lasts),
            Self::Status(status) => {
                wrong_status(status.code).or_else(|| wrong_headers(&status.headers))
            }
            _ => None,
        }
    }
}

pub(super) fn wrong_status(code: u16) -> Option<String> {
    let is_status = (200..=999).contains(&code);
    (!is_status).then(|| format!("{code} is not the status of an answer"))
}

pub(super) fn wrong_time(seconds: f64) -> Option<String> {
    let is_time = (0.0..=MOST_SECONDS).contains(&seconds);
    (!is_time).then(|| format!("{seconds} s are not between 0 and {MOST_SECONDS} s"))
}

fn wrong_headers(headers: &Fields) -> Option<String> {
    let is_wrong = |(name, value): &(&String, &String)| {
        HeaderName::try_from(name.as_str()).is_err()
            || HeaderValue::try_from(value.as_str()).is_err()
    };
    headers
        .iter()
        .find(is_wrong)
        .map(|(name, _)| format!("`{name}` is no header, or its value is none"))
}

pub(super) const MOST_SECONDS: f64 = 3600.0;

/// An answer on a stream.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StreamAnswer {
    /// The id of its event.
    pub id: Option<String>,
    /// The text of a tool's result, in place of the correct one.
    pub text: Option<String>,
    /// A JSON-RPC error, in place of a result.
    pub error: Option<Value>,
    /// The request that it claims to answer, in place of the one that was asked.
    pub to: Option<Value>,
}

/// An event.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Event {
    /// Its id.
    pub id: Option<String>,
    /// Its data; without it an empty `data` line, which only moves the point of resumption.
    pub data: String,
}

/// A message of the server that is not an answer.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Message {
    /// The id of its event.
    pub id: Option<String>,
    /// The message.
    pub json: Value,
}

/// How bytes are sent.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manner {
    /// How many bytes are sent at a time.
    pub slice: usize,
    /// How many seconds pass between two writes.
    #[serde(default)]
    pub gap: f64,
}

/// The answer to a request that names an unknown session.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LostSession {
    /// The status.
    pub status: u16,
    /// The body, as text.
    #[serde(default)]
    pub body: String,
}

/// A time in which new connections are not served.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Outage {
    /// What happens to new connections instead.
    pub mood: Mood,
    /// How long it lasts, in seconds.
    pub lasts: f64,
}

/// The beginning of an answer.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Partial {
    /// How many bytes of it; counted from the end of the head if `of` says so.
    pub bytes: usize,
    /// What is counted.
    #[serde(default)]
    pub of: PartialOf,
}

/// Where bytes are counted from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PartialOf {
    /// The end of the head.
    Body,
    /// The first byte.
    #[default]
    Head,
}

/// A whole answer of any status.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Status {
    /// The status.
    pub code: u16,
    /// Its headers.
    #[serde(default)]
    pub headers: Fields,
    /// Its body.
    #[serde(default)]
    pub body: String,
    /// The content coding of the body; a header names it.
    pub coding: Option<Coding>,
}

/// A content coding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Coding {
    /// `gzip`.
    Gzip,
}
