//! A story of faults, told step by step: what a call meets, and what the machine does about it.
//!
//! Each chapter has one call or a few, and a server that behaves as the chapter says. Only the server is
//! scripted: the machine is the real one, and it chose the times.

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Write};
use std::time::Duration;

use ridethrough_core::session::SessionId;
use ridethrough_core::{
    Action, AttemptId, CallOptions, Cause, Era, ExchangeId, Failure, Identity, Link, Moment,
    Outcome, Outgoing, Output, Request, RetryPolicy, Verb,
};
use ridethrough_wire::message::{Answer, Json};

use crate::machine::script::{News, Script, event, head};
use crate::machine::texts::{number_after, session_number};

/// What the server does with one request of the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Does {
    /// Runs it and answers.
    Answer,
    /// Accepts the resume, primes it and closes it.
    Drop,
    /// Has forgotten the session.
    ForgetSession,
    /// A load balancer answers 502; whether the tool ran is unknown.
    Gateway,
    /// Runs it, sends one event with an id, and the connection breaks.
    StreamThenReset,
    /// Asks for a pause of two seconds.
    TooBusy,
}

struct Chapter {
    title: &'static str,
    moral: &'static str,
    tools: &'static [&'static str],
    does: &'static [Does],
    /// What the server does with every request after those in `does`.
    then: Does,
    /// How long the server cannot be reached.
    down_for: Duration,
}

const CHAPTERS: [Chapter; 6] = [
    Chapter {
        title: "A connection breaks in the middle of an answer",
        moral: "The stream had an event id, so it is resumed; the tool ran once.",
        tools: &["deploy"],
        does: &[Does::StreamThenReset],
        then: Does::Answer,
        down_for: Duration::ZERO,
    },
    Chapter {
        title: "The server forgets the session under three calls",
        moral: "One new session serves all three; each call is sent once more, and none failed.",
        tools: &["build", "test", "deploy"],
        does: &[Does::ForgetSession, Does::ForgetSession, Does::ForgetSession],
        then: Does::Answer,
        down_for: Duration::ZERO,
    },
    Chapter {
        title: "The server is restarted",
        moral: "The call had not been sent, so it waits for the server; nobody restarts anything.",
        tools: &["deploy"],
        does: &[],
        then: Does::Answer,
        down_for: Duration::from_millis(1200),
    },
    Chapter {
        title: "The server is busy and says for how long",
        moral: "A 429 was not run: the call waits as long as it was asked to, and not a moment less.",
        tools: &["deploy"],
        does: &[Does::TooBusy],
        then: Does::Answer,
        down_for: Duration::ZERO,
    },
    Chapter {
        title: "A load balancer answers 502 to a call that must not run twice",
        moral: "It may have run. A second deployment would be worse than an honest error.",
        tools: &["deploy"],
        does: &[Does::Gateway],
        then: Does::Answer,
        down_for: Duration::ZERO,
    },
    Chapter {
        title: "A server that accepts every resume and drops it",
        moral: "Attempts are counted by progress, not by accepted connections: no hang, an error.",
        tools: &["deploy"],
        does: &[Does::StreamThenReset],
        then: Does::Drop,
        down_for: Duration::ZERO,
    },
];

/// Tells the whole story.
pub fn tell(out: &mut impl Write) -> io::Result<()> {
    for (number, chapter) in CHAPTERS.iter().enumerate() {
        writeln!(out, "{}. {}\n", number + 1, chapter.title)?;
        StoryStage::new(chapter, out).play()?;
        writeln!(out, "\n   {}\n", chapter.moral)?;
    }
    Ok(())
}

/// One chapter while it is played.
struct StoryStage<'a, W> {
    chapter: &'a Chapter,
    out: &'a mut W,
    link: Link,
    now: Moment,
    /// When the handshake was over and the chapter began.
    began: Option<Moment>,
    does: VecDeque<Does>,
    news: BTreeMap<(Moment, u64), (AttemptId, News)>,
    dials: BTreeMap<(Moment, u64), AttemptId>,
    order: u64,
    sessions: u64,
    /// The last session that the server has forgotten.
    forgotten: u64,
    ran: u32,
    open: BTreeMap<ExchangeId, &'static str>,
    /// The request that each resumable stream will finally answer.
    asked: u64,
}

impl<'a, W: Write> StoryStage<'a, W> {
    fn new(chapter: &'a Chapter, out: &'a mut W) -> Self {
        let identity = Identity {
            info: Json::new(r#"{"name":"demo","version":"1"}"#).expect("valid"),
            capabilities: Json::empty_object(),
        };
        let policy = RetryPolicy::default();
        Self {
            chapter,
            out,
            link: Link::new(Moment::START, Era::Legacy, identity, policy, 11),
            now: Moment::START,
            began: None,
            does: chapter.does.iter().copied().collect(),
            news: BTreeMap::new(),
            dials: BTreeMap::new(),
            order: 0,
            sessions: 0,
            forgotten: 0,
            ran: 0,
            open: BTreeMap::new(),
            asked: 0,
        }
    }

    fn play(mut self) -> io::Result<()> {
        self.link.connect(self.now, None);
        self.pump()?;
        while !self.news.is_empty() {
            self.advance()?;
        }
        self.began = Some(self.now);
        for tool in self.chapter.tools {
            let params = Json::new(format!(r#"{{"name":"{tool}"}}"#)).expect("valid");
            let options = CallOptions::default();
            let request = Request { method: "tools/call".into(), params: Some(params), options };
            self.say("you", &format!("call `{tool}`"))?;
            let id = self.link.send(self.now, request);
            self.open.insert(id, tool);
            self.pump()?;
        }
        while !self.open.is_empty() {
            self.advance()?;
        }
        let (ran, calls) = (self.ran, self.chapter.tools.len());
        self.say("oracle", &format!("the server ran {ran} of {calls} calls"))
    }

    /// Moves time to the next event.
    fn advance(&mut self) -> io::Result<()> {
        let news = self.news.first_key_value().map(|(key, _)| key.0);
        let dial = self.dials.first_key_value().map(|(key, _)| key.0);
        let timeout = self.link.poll_timeout().map(|(at, _)| at);
        let Some(next) = [news, dial, timeout].into_iter().flatten().min() else { return Ok(()) };
        self.now = self.now.max(next);
        if news == Some(next) {
            let (_, (attempt, news)) = self.news.pop_first().expect("just seen");
            self.deliver(attempt, news)?;
        } else if dial == Some(next) {
            let (_, attempt) = self.dials.pop_first().expect("just seen");
            self.connect(attempt)?;
        } else {
            self.link.handle_timeout(self.now);
        }
        self.pump()
    }

    fn connect(&mut self, attempt: AttemptId) -> io::Result<()> {
        let (result, word) = if self.is_up() {
            (Ok(()), "connected")
        } else {
            (Err(Failure::not_sent(Cause::ConnectRefused)), "connection refused")
        };
        self.say("network", word)?;
        self.link.handle_connect(self.now, attempt, result);
        Ok(())
    }

    fn is_up(&self) -> bool {
        self.began.is_none_or(|began| self.now.since(began) >= self.chapter.down_for)
    }

    fn deliver(&mut self, attempt: AttemptId, news: News) -> io::Result<()> {
        match &news {
            News::Body(_) | News::Comment => {}
            News::End => self.say("server", "the stream ends without the answer")?,
            News::Event(event) if event.data.is_empty() => {
                self.say("server", "an event with an id")?
            }
            News::Event(_) => self.say("server", "the answer")?,
            News::Failure(failure) => self.say("network", &failure.to_string())?,
            News::Head(head) => self.say("server", &head.status.to_string())?,
        }
        news.report(&mut self.link, self.now, attempt);
        Ok(())
    }

    fn pump(&mut self) -> io::Result<()> {
        while let Some(output) = self.link.poll_output() {
            match output {
                Output::Act(Action::Send(request)) => {
                    self.say("machine", &describe(&request))?;
                    self.serve(&request);
                }
                Output::Act(Action::Dial { attempt }) => {
                    self.say("machine", "dial")?;
                    self.order += 1;
                    self.dials.insert((self.now + LATENCY, self.order), attempt);
                }
                Output::Finish { exchange, outcome, .. } => self.finished(exchange, outcome)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn finished(&mut self, id: ExchangeId, outcome: Outcome) -> io::Result<()> {
        let Some(tool) = self.open.remove(&id) else { return Ok(()) };
        match outcome {
            Ok(Answer::Result(_)) => self.say("you", &format!("`{tool}` is answered")),
            Ok(Answer::Error(_)) => self.say("you", &format!("`{tool}` failed, says the server")),
            Err(error) => {
                self.say("you", &error.report().replace('\n', "\n                      "))
            }
        }
    }

    /// Plans the answer to a request.
    fn serve(&mut self, request: &Outgoing) {
        let script = match &request.verb {
            Verb::Delete => Script::status(LATENCY, 200),
            Verb::Get { last_event_id: None } => Script::status(LATENCY, 405),
            Verb::Get { .. } => self.resume(),
            Verb::Post { body } => {
                let text = std::str::from_utf8(body).expect("the machine writes UTF-8");
                self.post(request, text)
            }
        };
        for (after, news) in script.0 {
            self.order += 1;
            self.news.insert((self.now + after, self.order), (request.attempt, news));
        }
    }

    fn post(&mut self, request: &Outgoing, text: &str) -> Script {
        let id = number_after(text, r#""id":"#).unwrap_or(0);
        if text.contains(r#""method":"initialize""#) {
            self.sessions += 1;
            let mut head = head(200, ridethrough_core::head::Content::Json);
            head.session = SessionId::new(&format!("s{}", self.sessions));
            let result = r#"{"protocolVersion":"2025-11-25","capabilities":{}}"#;
            return Script::answer(LATENCY, head, answer(id, result).into());
        }
        if !text.contains(r#""method":"tools/call""#) {
            // A question of the machine has an id, and is refused as a call of a lost session is.
            return match session_number(request) {
                _ if id == 0 => Script::status(LATENCY, 202),
                Some(session) if session <= self.forgotten => Script::status(LATENCY, 404),
                _ => Script::json(LATENCY, 200, answer(id, "{}")),
            };
        }
        if !self.is_up() {
            return Script::not_sent(LATENCY, Cause::ConnectRefused);
        }
        match self.does.pop_front().unwrap_or(Does::Answer) {
            Does::ForgetSession => {
                self.forgotten = self.sessions;
                Script::status(LATENCY, 404)
            }
            Does::Gateway => {
                self.ran += 1;
                Script::status(LATENCY, 502)
            }
            Does::TooBusy => Script::busy(LATENCY, 429, Duration::from_secs(2)),
            Does::StreamThenReset => {
                self.ran += 1;
                self.asked = id;
                let mut script = Script::stream(LATENCY);
                script.push(LATENCY, event(Some("e1"), "", None));
                script.push(LATENCY * 10, News::Failure(Failure::unknown(Cause::Reset)));
                script
            }
            Does::Answer | Does::Drop => {
                self.ran += 1;
                debug_assert!(session_number(request).is_some());
                Script::json(LATENCY, 200, answer(id, "{}"))
            }
        }
    }

    fn resume(&mut self) -> Script {
        let mut script = Script::stream(LATENCY);
        match self.chapter.then {
            Does::Drop => {
                script.push(LATENCY, event(Some("e1"), "", None));
                script.push(LATENCY * 2, News::End);
            }
            _ => script.push(LATENCY, event(Some("e2"), &answer(self.asked, "{}"), None)),
        }
        script
    }

    /// Prints one line, once the chapter has begun.
    fn say(&mut self, who: &str, what: &str) -> io::Result<()> {
        let Some(began) = self.began else { return Ok(()) };
        let at = self.now.since(began).as_secs_f64();
        writeln!(self.out, "   {at:>7.3} s  {who:<8} {what}")
    }
}

fn describe(request: &Outgoing) -> String {
    let session = request.to.session.as_ref().map_or("no session", SessionId::as_str);
    match &request.verb {
        Verb::Delete => format!("DELETE, {session}"),
        Verb::Get { last_event_id: None } => format!("GET the standing stream, {session}"),
        Verb::Get { last_event_id: Some(id) } => {
            format!("GET the rest after {}, {session}", id.as_str())
        }
        Verb::Post { body } => {
            let method = Json::new(body.clone()).ok().and_then(|json| {
                json.read::<BTreeMap<String, serde_json::Value>>()?.get("method").cloned()
            });
            let method = method.as_ref().and_then(|it| it.as_str()).unwrap_or("an answer");
            format!("POST {method}, {session}")
        }
    }
}

fn answer(id: u64, result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
}

const LATENCY: Duration = Duration::from_millis(20);
