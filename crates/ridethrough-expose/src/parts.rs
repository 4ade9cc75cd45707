//! Messages with the bytes they are made of: one, or those of a batch, each fit for one line.

use bytes::Bytes;
use ridethrough_core::message::{Incoming, Json, Message};

/// A message and its bytes, which hold no line end.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) message: Message,
    pub(crate) text: Bytes,
}

/// The messages that came together.
#[derive(Debug)]
pub(crate) enum Parts {
    Batch(Vec<Part>),
    One(Part),
}

/// Why bytes are no messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unreadable {
    NotJson,
    NotJsonRpc,
}

impl Parts {
    /// Reads a body or a line.
    pub(crate) fn read(text: &Bytes) -> Result<Self, Unreadable> {
        let json = Json::new(text.clone()).map_err(|_| Unreadable::NotJson)?;
        match json.elements() {
            None => part(&json).map(Self::One),
            Some(elements) if elements.is_empty() => Err(Unreadable::NotJsonRpc),
            Some(elements) => {
                let parts = elements.iter().map(|element| {
                    // Whoever keeps one must not keep all.
                    let alone = Json::new(element.as_str().to_owned());
                    part(&alone.map_err(|_| Unreadable::NotJson)?)
                });
                parts.collect::<Result<_, _>>().map(Self::Batch)
            }
        }
    }

    pub(crate) fn into_vec(self) -> Vec<Part> {
        match self {
            Self::Batch(parts) => parts,
            Self::One(part) => vec![part],
        }
    }
}

fn part(json: &Json) -> Result<Part, Unreadable> {
    match Incoming::parse(json.as_bytes()) {
        Ok(Incoming::One(message)) => Ok(Part { message, text: on_one_line(json.as_bytes()) }),
        Ok(Incoming::Batch(_)) | Err(_) => Err(Unreadable::NotJsonRpc),
    }
}

/// The same JSON without line ends, which stand between its tokens only. A carriage return alone would
/// end a line of an event stream.
fn on_one_line(text: &Bytes) -> Bytes {
    if memchr::memchr2(b'\n', b'\r', text).is_none() {
        return text.clone();
    }
    text.iter().map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { *byte }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_passes_byte_for_byte_but_for_its_line_ends() {
        let text = " {\r\n \"method\": \"m\",\n\"params\": {\"z\":1.10,\"a\":\"\\n\"} }\r";

        let Ok(Parts::One(part)) = Parts::read(&Bytes::from(text)) else { panic!("not read") };

        assert_eq!(part.text, "{   \"method\": \"m\", \"params\": {\"z\":1.10,\"a\":\"\\n\"} }");
    }

    #[test]
    fn a_batch_is_its_messages() {
        let text = Bytes::from(r#"[{"method":"a"}, {"id":1,"result":{}}]"#);

        let parts = Parts::read(&text).unwrap().into_vec();

        assert_eq!(parts[0].text, r#"{"method":"a"}"#);
        assert_eq!(parts[1].text, r#"{"id":1,"result":{}}"#);
        assert!(!text.as_ptr_range().contains(&parts[0].text.as_ptr()), "it holds the whole batch");
    }

    #[test]
    fn what_is_no_message_is_told_apart() {
        let read = |text: &'static [u8]| Parts::read(&Bytes::from_static(text)).map(|_| ());

        assert_eq!(read(b"nope"), Err(Unreadable::NotJson));
        assert_eq!(read(b"{\"method\":\"a\xff\"}"), Err(Unreadable::NotJson));
        for text in [&b"{}"[..], b"[]", b"[[{\"method\":\"a\"}]]", b"7"] {
            assert_eq!(read(text), Err(Unreadable::NotJsonRpc));
        }
    }
}
