//! A conversation with a child: messages are lines on its stdin and stdout.
//!
//! ```text
//!   Talking ──child ends, or breaks a rule──▶ Ended: its last words are told ──▶ Over
//!       └──asked to end──stdin closed──▶ child gone, or killed after 10 s ──▶ Over
//! ```

use std::convert::Infallible;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream;
use ridethrough_server::{Conversation, Ending, Letter, ParsedMessage, Presence, Said, Unreadable};
use ridethrough_wire::message::{Elements, Json};
use serde_json::json;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, timeout};

use crate::backend::Starts;
use crate::child::{Child, Obituary};
use crate::lines::{Lines, TooLong};

/// Begins a conversation with a child that was just started.
pub(crate) fn with(child: Child, name: &str, starts: Starts) -> Conversation {
    let Child { stdin, stdout, ended } = child;
    // The senders that wait are the queue, which the number of connections bounds.
    let (outbox, letters) = mpsc::channel(1);
    let (tell_deaf, deaf) = oneshot::channel();
    let (open, closing) = oneshot::channel();
    let talk = Talk {
        name: name.to_owned(),
        starts,
        born: Instant::now(),
        state: State::Talking,
        lines: Lines::new(stdout, MOST_LINE),
        elements: None,
        ended,
        has_ended: false,
        writer: Abort(tokio::spawn(write(stdin, letters, tell_deaf)).abort_handle()),
        deaf,
        closing,
    };
    let inbox = stream::unfold(talk, |mut talk| async { talk.next().await.map(|it| (it, talk)) });
    // A child belongs to one session, and ends with it: whether the client is there changes nothing.
    let presence = Presence::default();
    Conversation { outbox, inbox: inbox.boxed(), open, presence }
}

/// The messages of a child, as they come.
struct Talk {
    name: String,
    starts: Starts,
    born: Instant,
    state: State,
    lines: Lines<Box<dyn AsyncRead + Send + Unpin>>,
    /// The rest of a line that is an array.
    elements: Option<Elements>,
    ended: BoxFuture<'static, Obituary>,
    /// Whether `ended` has completed; it must not be polled again.
    has_ended: bool,
    writer: Abort,
    /// The channel that completes when the child reads no more messages.
    deaf: oneshot::Receiver<()>,
    /// The channel that completes when the conversation is asked to end.
    closing: oneshot::Receiver<Infallible>,
}

enum State {
    /// The child has ended by itself; the next start waits for this long.
    Ended {
        pause: Duration,
    },
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
    async fn next(&mut self) -> Option<Said> {
        loop {
            if let Some(said) = self.next_element() {
                return Some(said);
            }
            match &self.state {
                State::Ended { pause } => {
                    self.starts.tell_pause(*pause);
                    self.bury().await;
                    return None;
                }
                State::Ending { obituary, until } => {
                    let rest = tokio::time::timeout_at(*until, self.lines.next()).await;
                    match rest {
                        Ok(Ok(Some(line))) => {
                            if let Some(said) = self.read(line) {
                                return Some(said);
                            }
                        }
                        _ => return Some(self.died(obituary.clone())),
                    }
                }
                State::Talking => match self.step().await {
                    Step::Closing => {
                        self.starts.did_well();
                        self.bury().await;
                        return None;
                    }
                    Step::Deaf => return Some(self.last_words("closed its stdin").await),
                    Step::Ended(obituary) => {
                        self.has_ended = true;
                        let until = Instant::now() + LAST_GASP;
                        self.state = State::Ending { obituary, until };
                    }
                    Step::Line(Ok(Some(line))) => {
                        if let Some(said) = self.read(line) {
                            return Some(said);
                        }
                    }
                    Step::Line(Ok(None)) => {
                        return Some(self.last_words("closed its stdout").await);
                    }
                    Step::Line(Err(TooLong)) => {
                        return Some(self.broke_a_rule("wrote a line of more than 64 MiB"));
                    }
                },
            }
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

    /// Reads a line: a message, or an array of them.
    fn read(&mut self, line: Bytes) -> Option<Said> {
        let Ok(json) = Json::new(line) else { return Some(Said::Unreadable { id: None }) };
        // Messages are read one at a time: a line of tiny messages takes many times its size in memory when
        // all of them are parsed.
        self.elements = Elements::of(json.as_bytes());
        if self.elements.is_some() {
            return None;
        }
        Some(said(&json, ParsedMessage::read(&json)))
    }

    fn next_element(&mut self) -> Option<Said> {
        let element = self.elements.as_mut()?.next();
        match element {
            Some(Ok(element)) => Some(said(&element, ParsedMessage::read_alone(&element))),
            // A line that turns out to be invalid ends here.
            Some(Err(_)) | None => {
                self.elements = None;
                None
            }
        }
    }

    /// Waits for the end of a child that has closed a pipe: most such children are about to end, and then
    /// report a status.
    async fn last_words(&mut self, what: &str) -> Said {
        match timeout(LAST_GASP, &mut self.ended).await {
            Ok(obituary) => {
                self.has_ended = true;
                self.died(obituary)
            }
            Err(_) => self.broke_a_rule(what),
        }
    }

    fn died(&mut self, obituary: Obituary) -> Said {
        let Obituary { status, last_words } = obituary;
        let what = format!("`{}` has ended, {status}", self.name);
        let what = if last_words.is_empty() {
            what
        } else {
            format!("{what}; its last words: {}", last_words.join(" | "))
        };
        self.end(what, &Obituary { status, last_words })
    }

    fn broke_a_rule(&mut self, what: &str) -> Said {
        self.end(format!("`{}` {what} and was ended", self.name), &Obituary::default())
    }

    fn end(&mut self, what: String, obituary: &Obituary) -> Said {
        // The pause is set before clients learn of the end and begin a new session.
        let pause = self.starts.died(self.born.elapsed());
        self.state = State::Ended { pause };
        let Obituary { status, last_words } = obituary;
        let data = json!({
            "kind": "childDied", "mayHaveRun": true,
            "status": status, "lastWords": last_words,
        });
        Said::Ended(Ending { what, data, retry_after: pause })
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

fn said(json: &Json, message: Result<ParsedMessage, Unreadable>) -> Said {
    match message {
        Ok(message) => Said::Message { message, call: None },
        Err(_) if json.member("method").is_none() => Said::Unreadable { id: json.member("id") },
        Err(_) => Said::Unreadable { id: None },
    }
}

/// Writes messages to the child until the conversation is over, or the child reads no more.
async fn write(
    mut stdin: impl AsyncWrite + Unpin,
    mut letters: mpsc::Receiver<Letter>,
    deaf: oneshot::Sender<()>,
) {
    while let Some(letter) = letters.recv().await {
        let lines = lines_of(&letter);
        drop(letter);
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
fn lines_of(letter: &[ParsedMessage]) -> Bytes {
    let mut lines = BytesMut::with_capacity(letter.iter().map(|it| it.text.len() + 1).sum());
    for message in letter {
        lines.extend_from_slice(&message.text);
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
