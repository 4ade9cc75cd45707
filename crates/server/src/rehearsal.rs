//! Handles a body without a client and without a backend, for tests.

use bytes::Bytes;
use ridethrough_wire::message::Message;

use crate::calls::NewCalls;
use crate::log::Weight;
use crate::parts::{ParsedMessage, Parts};
use crate::streams::{Carries, Next, Streams};

/// The result of handling a body that a client posts. It is for checks outside of this crate, and not part of
/// the API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rehearsal {
    /// The lines that the backend gets.
    pub lines: Vec<Bytes>,
    /// How many of them are calls.
    pub calls: usize,
    /// What the client gets if the backend answers each call, the last one first.
    pub answers: Vec<Bytes>,
    /// Whether the client's stream has ended by then.
    pub is_over: bool,
}

/// Handles a body as if a client had posted it; returns the reason if it is refused.
pub fn rehearse(body: &Bytes) -> Result<Rehearsal, String> {
    let parts = Parts::read(body).map_err(|why| format!("{why:?}"))?.into_vec();
    let asked = NewCalls::read(&parts).map_err(|why| format!("{why:?}"))?;
    let calls = asked.len();
    let mut streams = Streams::new();
    let opened = streams.open(asked, Carries::Everything).map_err(|why| format!("{why:?}"))?;
    let ids = parts.iter().filter_map(|ParsedMessage { message, .. }| match message {
        Message::Request { id, .. } => Some(id.json().as_str()),
        Message::Notification { .. } | Message::Response { .. } => None,
    });
    let ids: Vec<_> = ids.collect();
    for (call, id) in streams.calls_of(opened).into_iter().zip(ids).rev() {
        let answer = Bytes::from(format!(r#"{{"id":{id},"result":0}}"#));
        streams.push(Some(call), answer.into(), Weight::Answer);
    }
    let (answers, is_over) = read_out(&mut streams, opened);
    let lines = parts.into_iter().map(|part| part.text()).collect();
    Ok(Rehearsal { lines, calls, answers, is_over })
}

fn read_out(streams: &mut Streams, stream: u64) -> (Vec<Bytes>, bool) {
    let mut answers = Vec::new();
    let Some((ticket, mut cursor)) = streams.attach(stream, None) else {
        return (answers, false);
    };
    loop {
        match streams.next(stream, &ticket, cursor) {
            Next::Event(entry) => {
                cursor = entry.number;
                answers.push(entry.said.text());
            }
            Next::Over => return (answers, true),
            Next::Wait => return (answers, false),
        }
    }
}
