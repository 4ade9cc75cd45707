//! One whole call through the machine, with no I/O: the command, the request, the answer, the outcome.

use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use bytes::Bytes;
use http::StatusCode;
use ridethrough_core::head::Content;
use ridethrough_core::session::SessionId;
use ridethrough_core::{
    Action, AnswerHead, CallOptions, Era, Identity, Link, Moment, Outgoing, Output, Request,
    RetryPolicy, Verb,
};
use ridethrough_wire::message::{Answer, Json};
use ridethrough_wire::sse::{Decoder, Item};

/// Makes calls that are answered in JSON.
pub(super) fn json(turns: u64) -> Result<()> {
    let mut bench = Bench::connected()?;
    for _ in 0..turns {
        bench.call(Bench::answer_by_json)?;
    }
    Ok(())
}

/// Makes calls that are answered by a stream of one event and its end, decoded on the way.
pub(super) fn stream(turns: u64) -> Result<()> {
    let mut bench = Bench::connected()?;
    for _ in 0..turns {
        bench.call(Bench::answer_by_stream)?;
    }
    Ok(())
}

/// A machine, with a minimal driver and server.
struct Bench {
    link: Link,
    now: Moment,
    params: Json,
    /// The number of requests so far, which is also the last id on the wire.
    asked: u64,
}

impl Bench {
    fn connected() -> Result<Self> {
        let identity = Identity {
            info: Json::new(r#"{"name":"guard","version":"1"}"#)?,
            capabilities: Json::empty_object(),
        };
        let policy = RetryPolicy::default();
        let mut bench = Self {
            link: Link::new(Moment::START, Era::Legacy, identity, policy, 42),
            now: Moment::START,
            params: Json::new(format!(
                r#"{{"name":"echo","arguments":{{"text":"{}"}}}}"#,
                "x".repeat(100)
            ))?,
            asked: 0,
        };
        bench.link.connect(bench.now, None);
        bench.shake_hands()?;
        Ok(bench)
    }

    fn shake_hands(&mut self) -> Result<()> {
        while let Some(output) = self.link.poll_output() {
            match output {
                Output::Act(Action::Send(request)) => self.greet(&request),
                Output::Finish { outcome, .. } => {
                    ensure!(outcome.is_ok(), "the handshake failed");
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn greet(&mut self, request: &Outgoing) {
        let (now, attempt) = (self.now, request.attempt);
        let status = match &request.verb {
            Verb::Post { body } if contains(body, b"\"initialize\"") => {
                self.asked += 1;
                let mut head = AnswerHead::new(StatusCode::OK, Content::Json);
                head.session = SessionId::new("0f9a4a4e-6a5b-4f0e-8d0e-1b1c7a3b9d11");
                self.link.handle_head(now, attempt, head);
                self.link.handle_body(now, attempt, &Bytes::from_static(INITIALIZED));
                return;
            }
            Verb::Post { .. } => StatusCode::ACCEPTED,
            _ => StatusCode::METHOD_NOT_ALLOWED,
        };
        self.link.handle_head(now, attempt, AnswerHead::new(status, Content::Nothing));
    }

    /// Carries out one call, from the request to the outcome, as a driver does.
    fn call(&mut self, answer: fn(&mut Self, &Outgoing) -> Result<()>) -> Result<()> {
        self.now = self.now + Duration::from_millis(1);
        let request = Request {
            method: "tools/call".into(),
            params: Some(self.params.clone()),
            options: CallOptions::default(),
        };
        let asked = self.link.send(self.now, request);
        let mut result = None;
        while let Some(output) = self.link.poll_output() {
            match output {
                Output::Act(Action::Send(request)) => {
                    self.now = self.now + Duration::from_millis(1);
                    answer(self, &request)?;
                }
                Output::Finish { exchange, outcome: Ok(Answer::Result(json)), .. } => {
                    ensure!(exchange == asked, "another call ended");
                    result = Some(json);
                }
                Output::Finish { outcome, .. } => bail!("a call ended as {outcome:?}"),
                _ => {}
            }
        }
        if let Some((at, _)) = self.link.poll_timeout() {
            ensure!(at > self.now, "the machine waits for what is over");
        }
        let result = result.context("a call has no outcome")?;
        ensure!(result.as_bytes().len() > 100, "the result is lost");
        Ok(())
    }

    fn answer_by_json(&mut self, request: &Outgoing) -> Result<()> {
        let head = AnswerHead::new(StatusCode::OK, Content::Json);
        self.link.handle_head(self.now, request.attempt, head);
        let body = Bytes::from(self.answer());
        self.link.handle_body(self.now, request.attempt, &body);
        Ok(())
    }

    fn answer_by_stream(&mut self, request: &Outgoing) -> Result<()> {
        let head = AnswerHead::new(StatusCode::OK, Content::EventStream);
        self.link.handle_head(self.now, request.attempt, head);
        let mut decoder = Decoder::new(4 << 20);
        let event = format!("event: message\nid: 17\ndata: {}\n\n", self.answer());
        decoder.feed(Bytes::from(event));
        while let Some(item) = decoder.next_item() {
            if let Item::Event(event) = item? {
                self.link.handle_event(self.now, request.attempt, &event);
            }
        }
        self.link.handle_end(self.now, request.attempt);
        Ok(())
    }

    fn answer(&mut self) -> String {
        self.asked += 1;
        let text = "xxxxxxxxxx".repeat(10);
        format!(
            r#"{{"jsonrpc":"2.0","id":{},"result":{{"content":[{{"type":"text","text":"{text}"}}]}}}}"#,
            self.asked
        )
    }
}

fn contains(text: &[u8], word: &[u8]) -> bool {
    text.windows(word.len()).any(|part| part == word)
}

const INITIALIZED: &[u8] = br#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"guard","version":"1"}}}"#;
