//! HTTP/1.1 written by hand, for a server that must be able to break off anywhere.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};

use crate::case::Reply;
use crate::old::MESSAGES;
use crate::rig::Place;
use crate::server::{Ask, Speaks, Verb};

/// Answers the requests of one connection until either side ends it.
pub(crate) async fn serve(io: impl AsyncRead + AsyncWrite + Unpin, place: Place) {
    let mut io = BufReader::new(io);
    while let Some(ask) = read(&mut io, place.connection).await {
        if place.speaks == Speaks::HttpSse && matches!(ask.verb, Verb::Get { .. }) {
            return place.streams.play(io).await;
        }
        let mut reply = place.server.lock().unwrap().answer(&ask);
        if let (true, Some(session)) = (ask.is_old, &ask.session) {
            reply = place.streams.answer(session, reply);
        }
        // The next request gets another connection, and the balancer gives that to the other replica. A
        // client that was refused can still ask on this one.
        let is_served = reply.status == 200 && !reply.is_odd;
        let is_last = place.speaks == Speaks::Replicas && ask.is_for_tools() && is_served;
        if is_last {
            reply.headers.push(("connection", "close".to_owned()));
        }
        let is_written = io.get_mut().write_all(written(&reply).as_bytes()).await.is_ok();
        if !is_written || reply.is_cut || is_last {
            // The end of the stream is the cut; what was written before it is read.
            let _ = io.get_mut().shutdown().await;
            return;
        }
    }
}

/// Returns the next request; `None` when the client is gone.
async fn read(io: &mut (impl AsyncBufReadExt + Unpin), connection: u64) -> Option<Ask> {
    let mut line = String::new();
    io.read_line(&mut line).await.ok().filter(|&read| read > 0)?;
    let (verb, rest) = line.split_once(' ')?;
    let target = rest.split(' ').next()?;
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        io.read_line(&mut line).await.ok().filter(|&read| read > 0)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    assert!(!headers.contains_key("transfer-encoding"), "this server reads bodies by their length");
    let length = headers.get("content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    io.read_exact(&mut body).await.ok()?;
    let ask = ask(verb, &body, |name| headers.get(name).cloned());
    let is_old = target.starts_with(MESSAGES);
    let by_address = target.split_once("session=").map(|(_, session)| session.to_owned());
    let session = if is_old { by_address } else { ask.session };
    Some(Ask { session, connection, is_old, ..ask })
}

/// Returns a request in the form that the server takes, whatever carried it.
pub(crate) fn ask(verb: &str, body: &[u8], header: impl Fn(&str) -> Option<String>) -> Ask {
    let verb = match verb {
        "DELETE" => Verb::Delete,
        "GET" => Verb::Get { is_resume: header("last-event-id").is_some() },
        _ => Verb::Post(serde_json::from_slice::<Value>(body).unwrap()),
    };
    let (session, version) = (header("mcp-session-id"), header("mcp-protocol-version"));
    Ask { verb, session, version, connection: 1, is_old: false }
}

fn written(reply: &Reply) -> String {
    let mut text = format!("HTTP/1.1 {} Odd\r\n", reply.status);
    for (name, value) in &reply.headers {
        let _ = write!(text, "{name}: {value}\r\n");
    }
    if let Some(content_type) = reply.content_type {
        let _ = write!(text, "content-type: {content_type}\r\n");
    }
    let body = &reply.body;
    let length = body.len();
    match (reply.is_event_stream(), reply.is_cut) {
        (true, _) => {
            let last = if reply.is_cut { "" } else { "0\r\n\r\n" };
            let chunk =
                if body.is_empty() { String::new() } else { format!("{length:x}\r\n{body}\r\n") };
            let _ = write!(text, "transfer-encoding: chunked\r\n\r\n{chunk}{last}");
        }
        (false, true) => {
            let _ = write!(text, "content-length: {}\r\n\r\n{body}", length + 100);
        }
        (false, false) if matches!(reply.status, 204 | 304) => text.push_str("\r\n"),
        (false, false) => {
            let _ = write!(text, "content-length: {length}\r\n\r\n{body}");
        }
    }
    text
}
