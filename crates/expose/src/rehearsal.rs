//! What becomes of a body, without a client and without a child.

use bytes::Bytes;
use ridethrough_core::message::Message;

use crate::calls::NewCalls;
use crate::parts::{Part, Parts};
use crate::streams::{Carries, Next, Streams};

/// What becomes of a body that a client posts. It is for checks outside of this crate and no API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rehearsal {
    /// What the child is given, each on a line.
    pub lines: Vec<Bytes>,
    /// How many of them are calls.
    pub calls: usize,
    /// What the client is given if the child answers each call, the last one first.
    pub answers: Vec<Bytes>,
    /// Whether the client's stream has ended then.
    pub is_over: bool,
}

/// Says what becomes of a body that a client posts, or why nothing does.
pub fn rehearse(body: &Bytes) -> Result<Rehearsal, String> {
    let parts = Parts::read(body).map_err(|why| format!("{why:?}"))?.into_vec();
    let asked = NewCalls::read(&parts).map_err(|why| format!("{why:?}"))?;
    let calls = asked.len();
    let mut streams = Streams::new();
    let opened = streams.open(asked, Carries::Everything).map_err(|why| format!("{why:?}"))?;
    for Part { message, .. } in parts.iter().rev() {
        let Message::Request { id, .. } = message else { continue };
        let answer = format!(r#"{{"id":{},"result":0}}"#, id.json().as_str());
        if let Ok(Parts::One(answer)) = Parts::read(&answer.into()) {
            streams.push(&answer);
        }
    }
    let (answers, is_over) = read_out(&mut streams, opened);
    let lines = parts.into_iter().map(|part| part.text).collect();
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
                answers.push(entry.text);
            }
            Next::Over => return (answers, true),
            Next::Wait => return (answers, false),
        }
    }
}
