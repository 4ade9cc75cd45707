//! A conversation with a child: messages are lines on its stdin and stdout.
//!
//! ```text
//!   Talking ──child ends, or breaks a rule──▶ its last words are told ──▶ Over
//!       └──asked to end──stdin closed──▶ child gone, or killed after 10 s ──▶ Over
//! ```

use std::convert::Infallible;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::future::BoxFuture;
use ridethrough_server::{
    Conversation, Ending, HostMessage, HostSide, Letter, OpenCalls, ParsedMessage, Voice,
};
use ridethrough_wire::message::{Elements, Json};
use serde_json::json;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, timeout, timeout_at};

use crate::child::{Child, Obituary};
use crate::lines::{Lines, TooLong};
use crate::pace::Starts;

/// Begins a conversation with a child that was just started.
pub(crate) fn with(child: Child, name: &str, starts: Starts, host: HostSide) -> Conversation {
    let Child { stdin, stdout, ended } = child;
    let HostSide { letters, closing, voice } = host;
    let (tell_deaf, deaf) = oneshot::channel();
    let calls = OpenCalls::default();
    let writing = write(stdin, letters, calls.clone(), tell_deaf);
    let talk = Talk {
        name: name.to_owned(),
        starts,
        born: Instant::now(),
        state: State::Talking,
        lines: Lines::new(stdout, MOST_LINE),
        ended,
        has_ended: false,
        voice,
        calls,
        writer: Abort(tokio::spawn(writing).abort_handle()),
        deaf,
        closing,
    };
    Box::pin(talk.run())
}

/// The talk with a child.
struct Talk {
    name: String,
    starts: Starts,
    born: Instant,
    state: State,
    lines: Lines<Box<dyn AsyncRead + Send + Unpin>>,
    ended: BoxFuture<'static, Obituary>,
    /// Whether `ended` has completed; it must not be polled again.
    has_ended: bool,
    voice: Voice,
    /// The calls that the child has not answered.
    calls: OpenCalls,
    writer: Abort,
    /// The channel that completes when the child reads no more messages.
    deaf: oneshot::Receiver<()>,
    /// The channel that completes when the conversation is asked to end.
    closing: oneshot::Receiver<Infallible>,
}

enum State {
    /// The child has ended, and its last output is still in the pipe.
    Ending {
        obituary: Obituary,
        until: Instant,
    },
    Talking,
}

/// One step of a child that runs.
enum Step {
    Closing,
    Deaf,
    Ended(Obituary),
    Line(Result<Option<Bytes>, TooLong>),
}

impl Talk {
    /// Talks until the child has ended, or the conversation is asked to end, and until nothing is left of the child.
    async fn run(mut self) {
        if let Some(ending) = self.talk().await {
            let pause = ending.retry_after;
            self.voice.is_over(ending);
            self.starts.tell_pause(pause);
        } else {
            self.starts.did_well();
        }
        self.bury().await;
    }

    /// Passes on what the child says. Returns its end, if it ends by itself.
    async fn talk(&mut self) -> Option<Ending> {
        loop {
            match &self.state {
                State::Ending { obituary, until } => {
                    match timeout_at(*until, self.lines.next()).await {
                        Ok(Ok(Some(line))) => self.take(line).await,
                        _ => return Some(self.died(obituary.clone())),
                    }
                }
                State::Talking => match self.step().await {
                    Step::Closing => return None,
                    Step::Deaf => return Some(self.last_words("closed its stdin").await),
                    Step::Ended(obituary) => {
                        self.has_ended = true;
                        let until = Instant::now() + LAST_GASP;
                        self.state = State::Ending { obituary, until };
                    }
                    Step::Line(Ok(Some(line))) => self.take(line).await,
                    Step::Line(Ok(None)) => {
                        return Some(self.last_words("closed its stdout").await);
                    }
                    Step::Line(Err(TooLong)) => {
                        return Some(self.broke_a_rule("wrote a line of more than 64 MiB"));
                    }
                },
            }
            // Many small messages may have arrived at once.
            tokio::task::consume_budget().await;
        }
    }

    async fn step(&mut self) -> Step {
        tokio::select! {
            biased;
            // No value is ever sent: the other side is dropped.
            _ = &mut self.closing => Step::Closing,
            line = self.lines.next() => Step::Line(line),
            obituary = &mut self.ended => Step::Ended(obituary),
            Ok(()) = &mut self.deaf => Step::Deaf,
        }
    }

    /// Takes a line: a message, or an array of them.
    async fn take(&mut self, line: Bytes) {
        let Ok(json) = Json::new(line) else { return self.voice.skip() };
        // Messages are read one at a time: a line of tiny messages takes many times its size in memory when
        // all of them are parsed.
        let Some(elements) = Elements::of(json.as_bytes()) else {
            return self.pass_on(&json, ParsedMessage::read(&json)).await;
        };
        // A line that turns out to be invalid ends there.
        for element in elements.map_while(Result::ok) {
            self.pass_on(&element, ParsedMessage::read_alone(&element)).await;
            tokio::task::consume_budget().await;
        }
    }

    async fn pass_on<E>(&mut self, json: &Json, read: Result<ParsedMessage, E>) {
        match read {
            Ok(message) => self.calls.pass_on(message, &self.voice).await,
            Err(_) => self.skip(json),
        }
    }

    /// Skips something that is not a message. If it names a call, no other answer to that will come.
    fn skip(&self, json: &Json) {
        if json.member("method").is_none()
            && let Some(id) = json.member("id")
        {
            self.calls.misread(&id);
        }
        self.voice.skip();
    }

    /// Waits for the end of a child that has closed a pipe: most such children are about to end, and then
    /// report a status.
    async fn last_words(&mut self, what: &str) -> Ending {
        match timeout(LAST_GASP, &mut self.ended).await {
            Ok(obituary) => {
                self.has_ended = true;
                self.died(obituary)
            }
            Err(_) => self.broke_a_rule(what),
        }
    }

    fn died(&self, obituary: Obituary) -> Ending {
        let Obituary { status, last_words } = obituary;
        let what = format!("`{}` has ended, {status}", self.name);
        let what = if last_words.is_empty() {
            what
        } else {
            format!("{what}; its last words: {}", last_words.join(" | "))
        };
        self.end(what, &Obituary { status, last_words })
    }

    fn broke_a_rule(&self, what: &str) -> Ending {
        self.end(format!("`{}` {what} and was ended", self.name), &Obituary::default())
    }

    fn end(&self, what: String, obituary: &Obituary) -> Ending {
        // The pause is set before clients learn of the end and begin a new session.
        let pause = self.starts.died(self.born.elapsed());
        let Obituary { status, last_words } = obituary;
        let data = json!({
            "kind": "childDied", "mayHaveRun": true,
            "status": status, "lastWords": last_words,
        });
        Ending { what, data, retry_after: pause }
    }

    /// Closes the child's stdin, and waits until it has ended.
    async fn bury(&mut self) {
        self.writer.0.abort();
        if !self.has_ended {
            // The output is read, because a child that is blocked on writing would not see the end of its
            // stdin.
            let farewell = async {
                tokio::select! {
                    _ = &mut self.ended => {}
                    never = self.lines.drain() => match never {},
                }
            };
            // Dropping `ended`, with the conversation, kills what is left after the timeout.
            let _ = timeout(LAST_WILL, farewell).await;
        }
    }
}

/// Writes messages to the child until the conversation is over, or the child reads no more.
async fn write(
    mut stdin: impl AsyncWrite + Unpin,
    mut letters: mpsc::Receiver<Letter>,
    calls: OpenCalls,
    deaf: oneshot::Sender<()>,
) {
    while let Some(letter) = letters.recv().await {
        let lines = lines_of(&letter);
        calls.take_down(letter);
        let written = async {
            stdin.write_all(&lines).await?;
            stdin.flush().await
        };
        if written.await.is_err() {
            // The receiver may be gone, because it has already seen the end of the child.
            let _ = deaf.send(());
            return;
        }
    }
}

/// Returns all messages in one buffer, each on a line, so that they are written together or not at all.
fn lines_of(letter: &[HostMessage]) -> Bytes {
    let texts: Vec<_> = letter.iter().map(|it| it.message().text()).collect();
    let mut lines = BytesMut::with_capacity(texts.iter().map(|it| it.len() + 1).sum());
    for text in &texts {
        lines.extend_from_slice(text);
        lines.extend_from_slice(b"\n");
    }
    lines.freeze()
}

/// Aborts a task when it is dropped.
struct Abort(tokio::task::AbortHandle);

impl Drop for Abort {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The longest line of a child. It is larger than the limit for clients' messages, because results may
/// contain whole files.
const MOST_LINE: usize = 64 << 20;
/// How long a child that closed a pipe may take to end, and how long the output of one that ended is read.
const LAST_GASP: Duration = Duration::from_secs(1);
/// How long a child may take to end after its stdin was closed, before it is killed. The `Start` may kill it
/// sooner.
const LAST_WILL: Duration = Duration::from_secs(10);
