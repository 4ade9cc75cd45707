//! The envelope of JSON-RPC: the part of a message that is read before it is passed on.

use anyhow::{Result, bail, ensure};
use bytes::Bytes;
use ridethrough_wire::message::{Answer, Incoming, Message};

/// Reads a notification, a question and an answer of a hundred bytes.
pub(super) fn small(turns: u64) -> Result<()> {
    let text = "x".repeat(100);
    let messages = [
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":50,"total":100}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":"q-7","method":"elicitation/create","params":{"message":"sure?","requestedSchema":{"type":"object","properties":{}}}}"#.to_owned(),
        format!(r#"{{"jsonrpc":"2.0","id":12345,"result":{{"content":[{{"type":"text","text":"{text}"}}]}}}}"#),
    ];
    let messages = messages.map(Bytes::from);
    for _ in 0..turns {
        for message in &messages {
            read(message, 90)?;
        }
    }
    Ok(())
}

/// Reads a structured answer of 1 MB.
pub(super) fn large(turns: u64) -> Result<()> {
    let record =
        r#"{"id":12345,"name":"a name","tags":["one","two"],"size":1.5e3,"text":"line\nline"}"#;
    let records = vec![record; (1 << 20) / record.len()].join(",");
    let message = Bytes::from(format!(
        r#"{{"jsonrpc":"2.0","id":7,"result":{{"content":[],"structuredContent":[{records}]}}}}"#
    ));
    for _ in 0..turns {
        read(&message, records.len())?;
    }
    Ok(())
}

fn read(message: &Bytes, least: usize) -> Result<()> {
    match Incoming::parse(message)? {
        Incoming::One(Message::Response { id, answer: Answer::Result(result) }) => {
            ensure!(id.is_some_and(|id| id.number().is_some()), "the id is lost");
            ensure!(result.as_bytes().len() >= least, "the result is lost");
        }
        Incoming::One(Message::Request { params, .. } | Message::Notification { params, .. }) => {
            ensure!(params.is_some(), "the params are lost");
        }
        _ => bail!("it was read as something else"),
    }
    Ok(())
}
