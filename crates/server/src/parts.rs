//! Messages, a single one or the members of a batch, with the bytes that they were read from or are written in.

use bytes::Bytes;
use ridethrough_wire::message::splice::text;
use ridethrough_wire::message::{Answer, Elements, Id, Incoming, Json, Message, Unclear};

/// A message, and its bytes if it was read from some. Such bytes pass as they are.
#[derive(Clone, Debug)]
pub struct ParsedMessage {
    /// The message.
    pub message: Message,
    /// What it was read from, without a line end; `None` if it was made here.
    text: Option<Bytes>,
}

impl ParsedMessage {
    /// Makes a request.
    pub fn request(id: Id, method: &str, params: Option<&Json>) -> Self {
        Self::made(Message::Request { id, method: method.into(), params: params.cloned() })
    }

    /// Makes a notification.
    pub fn notification(method: &str, params: Option<&Json>) -> Self {
        Self::made(Message::Notification { method: method.into(), params: params.cloned() })
    }

    /// Makes the answer to a request.
    pub fn response(id: &Id, answer: &Answer) -> Self {
        Self::made(Message::Response { id: Some(id.clone()), answer: answer.clone() })
    }

    /// Reads one message by itself.
    pub fn read(json: &Json) -> Result<Self, Unreadable> {
        match Incoming::parse(json.as_bytes()) {
            Ok(Incoming::One(message)) => Ok(Self::of(message, json.as_bytes())),
            Ok(Incoming::Batch(_)) | Err(_) => Err(Unreadable::NotJsonRpc),
        }
    }

    /// Creates a message from its parsed form and the text that it was read from.
    pub(crate) fn of(message: Message, text: &Bytes) -> Self {
        Self { message, text: Some(on_one_line(text)) }
    }

    /// Creates a message that is written when its text is asked for.
    const fn made(message: Message) -> Self {
        Self { message, text: None }
    }

    /// Returns its text, on one line. That of a message that was made here is written each time.
    pub fn text(&self) -> Bytes {
        match &self.text {
            Some(text) => text.clone(),
            None => on_one_line(&written(&self.message).into()),
        }
    }

    /// Reads a part of a larger text. It is copied, so that keeping it does not keep the whole.
    pub fn read_alone(element: &Json) -> Result<Self, Unreadable> {
        let alone = Json::new(element.as_str().to_owned());
        Self::read(&alone.map_err(|_| Unreadable::NotJson)?)
    }

    /// Refuses a message that two readers could understand differently, because one of them decides what may be
    /// called: a member that decides what becomes of it occurs twice, or its id is none.
    pub fn only_if_clear(self, json: &Json) -> Result<Self, Unreadable> {
        match self.message.check_clear(json) {
            Ok(()) => Ok(self),
            Err(Unclear::Doubled) => Err(Unreadable::Ambiguous),
            Err(Unclear::WrongId) => Err(Unreadable::NotJsonRpc),
        }
    }
}

/// The messages of one body.
#[derive(Debug)]
pub(crate) enum Parts {
    Batch(Vec<ParsedMessage>),
    One(ParsedMessage),
}

/// Why bytes cannot be read as messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreadable {
    /// A member that decides what becomes of a message occurs twice.
    Ambiguous,
    /// The text is not JSON.
    NotJson,
    /// The text is JSON, but not a message.
    NotJsonRpc,
    /// The batch has more messages than the limit.
    TooMany,
}

impl Parts {
    /// Reads a body. A batch above the limit is refused before its members are parsed.
    pub(crate) fn read(text: &Bytes) -> Result<Self, Unreadable> {
        let Some(elements) = Elements::of(text) else {
            let json = Json::new(text.clone()).map_err(|_| Unreadable::NotJson)?;
            return ParsedMessage::read(&json)?.only_if_clear(&json).map(Self::One);
        };
        // The limit is checked before the first message is copied.
        if elements.clone().take(MOST_PARTS + 1).count() > MOST_PARTS {
            return Err(Unreadable::TooMany);
        }
        let parts: Vec<_> = elements
            .map(|element| {
                let element = element.map_err(|_| Unreadable::NotJson)?;
                ParsedMessage::read_alone(&element)?.only_if_clear(&element)
            })
            .collect::<Result<_, _>>()?;
        if parts.is_empty() { Err(Unreadable::NotJsonRpc) } else { Ok(Self::Batch(parts)) }
    }

    pub(crate) fn into_vec(self) -> Vec<ParsedMessage> {
        match self {
            Self::Batch(parts) => parts,
            Self::One(part) => vec![part],
        }
    }
}

/// Returns the text of a message.
fn written(message: &Message) -> String {
    let behind = |params: &Option<Json>| {
        params.as_ref().map(|it| format!(r#","params":{}"#, it.as_str())).unwrap_or_default()
    };
    match message {
        Message::Notification { method, params } => {
            let (method, params) = (text(method), behind(params));
            format!(r#"{{"jsonrpc":"2.0","method":{}{params}}}"#, method.as_str())
        }
        Message::Request { id, method, params } => {
            let (method, params) = (text(method), behind(params));
            let (id, method) = (id.json().as_str(), method.as_str());
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{method}{params}}}"#)
        }
        Message::Response { id, answer } => {
            let key = if matches!(answer, Answer::Error(_)) { "error" } else { "result" };
            let id = id.as_ref().map_or("null", |id| id.json().as_str());
            format!(r#"{{"jsonrpc":"2.0","id":{id},"{key}":{}}}"#, answer.json().as_str())
        }
    }
}

/// Returns JSON without line ends, as [`on_one_line`] does.
pub(crate) fn json_on_one_line(json: Json) -> Json {
    match memchr::memchr2(b'\n', b'\r', json.as_bytes()) {
        None => json,
        Some(_) => Json::new(on_one_line(json.as_bytes())).expect("spaces in place of line ends"),
    }
}

/// Returns the JSON without line ends, which can only be between its tokens. A carriage return alone would
/// end a line of an event stream.
fn on_one_line(text: &Bytes) -> Bytes {
    if memchr::memchr2(b'\n', b'\r', text).is_none() {
        return text.clone();
    }
    text.iter().map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { *byte }).collect()
}

/// The most messages of a batch: as many as there may be calls under way.
pub(crate) const MOST_PARTS: usize = 1000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_passes_byte_for_byte_but_for_its_line_ends() {
        let text = " {\r\n \"method\": \"m\",\n\"params\": {\"z\":1.10,\"a\":\"\\n\"} }\r";

        let Ok(Parts::One(part)) = Parts::read(&Bytes::from(text)) else { panic!("not read") };

        assert_eq!(part.text(), "{   \"method\": \"m\", \"params\": {\"z\":1.10,\"a\":\"\\n\"} }");
    }

    #[test]
    fn a_batch_is_its_messages() {
        let text = Bytes::from(r#"[{"method":"a"}, {"id":1,"result":{}}]"#);

        let parts = Parts::read(&text).unwrap().into_vec();

        assert_eq!(parts[0].text(), r#"{"method":"a"}"#);
        assert_eq!(parts[1].text(), r#"{"id":1,"result":{}}"#);
        assert!(
            !text.as_ptr_range().contains(&parts[0].text().as_ptr()),
            "it holds the whole batch"
        );
    }

    #[test]
    fn a_batch_of_too_many_is_refused_at_the_first_that_is_one_too_many() {
        let of = |count: usize, end: &str| {
            let text = format!("[{}{end}", vec!["{\"method\":\"a\"}"; count].join(","));
            Parts::read(&Bytes::from(text)).map(|parts| parts.into_vec().len())
        };

        assert_eq!(of(MOST_PARTS, "]"), Ok(MOST_PARTS));
        assert_eq!(of(MOST_PARTS + 1, "]"), Err(Unreadable::TooMany));
        assert_eq!(
            of(MOST_PARTS + 1, ", what is behind it is not looked at"),
            Err(Unreadable::TooMany)
        );
        assert_eq!(of(MOST_PARTS, ""), Err(Unreadable::TooMany), "it may have more");
        assert_eq!(of(MOST_PARTS - 1, ""), Err(Unreadable::NotJson));
    }

    #[test]
    fn a_message_that_can_be_understood_in_two_ways_is_refused_alone_and_in_a_batch() {
        let read = |text: String| Parts::read(&Bytes::from(text)).map(|_| ());
        for (text, why) in [
            (r#"{"id":1,"method":"m","params":{"name":"a","name":"b"}}"#, Unreadable::Ambiguous),
            (r#"{"id":{},"method":"tools/call"}"#, Unreadable::NotJsonRpc),
        ] {
            assert_eq!(read(text.to_owned()), Err(why), "{text}");
            assert_eq!(read(format!("[{text}]")), Err(why), "{text}");
        }
    }

    #[test]
    fn what_is_no_message_is_told_apart() {
        let read = |text: &'static [u8]| Parts::read(&Bytes::from_static(text)).map(|_| ());

        assert_eq!(read(b"nope"), Err(Unreadable::NotJson));
        assert_eq!(read(b"{\"method\":\"a\xff\"}"), Err(Unreadable::NotJson));
        for text in [&b"{}"[..], b"[]", b"[[{\"method\":\"a\"}]]", b"7", b"[{}]"] {
            assert_eq!(read(text), Err(Unreadable::NotJsonRpc));
        }
    }
}
