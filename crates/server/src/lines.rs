//! A host that reads and writes lines, one message on each: a process that was started by it, for example.
//!
//! ```text
//!   host ──lines──▶ a session's message ──▶ its conversation     in the order in which they came
//!        ──lines──▶ a stateless request ──▶ a stream of lines    ended by its answer, or by a cancel
//! ```
//! One host may speak both eras: each request says for itself whether it is stateless. All of it is one loop,
//! which reads the next line only when the conversation has taken the last one.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{self, AbortHandle, BoxStream, SelectAll, abortable};
use futures_util::{Stream, StreamExt};
use ridethrough_wire::line_buffer::{BoundedLines, Line};
use ridethrough_wire::message::{Answer, HostMessage, Json, Key, MOST_LINE, Message, notification};
use ridethrough_wire::stateless::DISCOVER;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until, timeout};

use crate::backend::{Backend, Caller, Conversation, Letter, Principal, Said};
use crate::connections::Connections;
use crate::news::SessionNews;
use crate::parts::ParsedMessage;
use crate::sessions::Sessions;
use crate::settings::Settings;
use crate::stateless::{LISTEN, Stateless, is_stateless as names_revision};

/// Serves the owner's host on two byte streams until it leaves. Answers that it waits for then have a moment to
/// come. Events for people go to `tell`, which must not block.
///
/// # Errors
///
/// If the conversation cannot be opened, or the host reads no more.
pub async fn serve_lines(
    backend: impl Backend,
    settings: Settings,
    tell: impl Fn(SessionNews) + Send + Sync + 'static,
    reader: impl AsyncRead + Unpin,
    writer: impl AsyncWrite + Unpin,
) -> io::Result<()> {
    let connections = Arc::new(Connections::new(1));
    let sessions =
        Arc::new(Sessions::new(Arc::new(backend), settings, Arc::new(tell), connections));
    let caller = Caller::new(Principal::owner(), "");
    let opened = sessions.backend().open(&caller).await;
    let Conversation { outbox, inbox, open, .. } =
        opened.map_err(|it| io::Error::other(it.what))?;
    let mut inbox = inbox.fuse();
    let host = LineHost {
        input: Some(Input { reader, lines: BoundedLines::new(MOST_LINE) }),
        writer,
        letter: Letter::new(),
        calls: StatelessCalls {
            stateless: Arc::new(Stateless::new(sessions.clone())),
            caller,
            open: Vec::new(),
            running: SelectAll::new(),
            number: 0,
        },
        waits_for: 0,
        leaves_at: Instant::now(),
    };
    let served = host.serve(&outbox, &mut inbox).await;
    drop((open, outbox));
    // The backend bounds how long its end takes.
    let _ = timeout(FAREWELL, async { while inbox.next().await.is_some() {} }).await;
    sessions.close().await;
    served
}

/// A host, and what it waits for.
struct LineHost<R, W> {
    /// What it writes, until it has closed its end.
    input: Option<Input<R>>,
    writer: W,
    /// The messages of a line for which the conversation has no room yet.
    letter: Letter,
    calls: StatelessCalls,
    /// The number of requests to the conversation without an answer.
    waits_for: usize,
    /// Until when a host that has closed its end is still answered.
    leaves_at: Instant,
}

struct Input<R> {
    reader: R,
    lines: BoundedLines,
}

/// The stateless requests that are being answered.
struct StatelessCalls {
    stateless: Arc<Stateless>,
    caller: Caller,
    open: Vec<OpenCall>,
    /// Lines for the host, each with the number of its request; without a line, the request has ended.
    running: SelectAll<BoxStream<'static, (u64, Option<Bytes>)>>,
    number: u64,
}

struct OpenCall {
    number: u64,
    id: Key,
    /// Whether it only listens, and so ends with its host.
    listens: bool,
    abort: AbortHandle,
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin> LineHost<R, W> {
    /// Serves the host until it leaves, or the conversation ends.
    async fn serve(
        mut self,
        outbox: &mpsc::Sender<Letter>,
        inbox: &mut (impl Stream<Item = Said> + Unpin),
    ) -> io::Result<()> {
        while !self.has_left() {
            let (is_free, is_gone) = (self.letter.is_empty(), self.input.is_none());
            tokio::select! {
                biased;
                said = inbox.next() => match said {
                    Some(Said::Message { message, .. }) => self.pass_on(&message).await?,
                    Some(Said::Unreadable { .. }) => {}
                    Some(Said::Ended(_)) | None => return Ok(()),
                },
                Some((number, line)) = self.calls.running.next() => match line {
                    Some(line) => write(&mut self.writer, &line).await?,
                    None => self.calls.open.retain(|it| it.number != number),
                },
                Ok(room) = outbox.reserve(), if !is_free => {
                    room.send(std::mem::take(&mut self.letter));
                }
                line = next_line(&mut self.input), if is_free && !is_gone => match line {
                    Some(line) => self.take(&line).await?,
                    None => self.calls.stop_listening(),
                },
                () = sleep_until(self.leaves_at), if is_gone => return Ok(()),
            }
            if !is_gone {
                self.leaves_at = Instant::now() + LAST_ANSWERS;
            }
        }
        Ok(())
    }

    /// Whether the host has closed its end, and has all its answers.
    fn has_left(&self) -> bool {
        let waits = self.waits_for > 0 || !self.calls.open.is_empty() || !self.letter.is_empty();
        self.input.is_none() && !waits
    }

    /// Passes a message of the conversation on to the host.
    async fn pass_on(&mut self, said: &ParsedMessage) -> io::Result<()> {
        if matches!(said.message, Message::Response { .. }) {
            self.waits_for = self.waits_for.saturating_sub(1);
        }
        write(&mut self.writer, &said.text).await
    }

    /// Takes the messages of a line, one or a batch, and answers what is none.
    async fn take(&mut self, line: &Line) -> io::Result<()> {
        for read in HostMessage::of_line(line) {
            match read {
                HostMessage::Unfit { id, answer } => {
                    let text = refused(id.as_ref(), &answer);
                    write(&mut self.writer, text.as_bytes()).await?;
                }
                HostMessage::Fit { message, text } => {
                    self.take_message(ParsedMessage { message, text });
                }
            }
        }
        Ok(())
    }

    fn take_message(&mut self, part: ParsedMessage) {
        match &part.message {
            Message::Request { id, method, params } => {
                if is_stateless(method, params.as_ref()) {
                    let (id, listens) = (Key::of(id.json()), **method == *LISTEN);
                    return self.calls.begin(id, listens, part);
                }
                self.waits_for += 1;
            }
            Message::Notification { method, params } if **method == *notification::CANCELLED => {
                let id = params.as_ref().and_then(|params| params.member("requestId"));
                if id.is_some_and(|id| self.calls.cancel(&id)) {
                    return;
                }
            }
            Message::Notification { .. } | Message::Response { .. } => {}
        }
        self.letter.push(part);
    }
}

impl StatelessCalls {
    /// Begins to answer a request.
    fn begin(&mut self, id: Key, listens: bool, request: ParsedMessage) {
        self.number += 1;
        let number = self.number;
        let lines = self.stateless.lines(self.caller.clone(), request);
        let (lines, abort) = abortable(lines);
        let lines = lines.map(move |line| (number, Some(line)));
        self.running.push(lines.chain(stream::iter([(number, None)])).boxed());
        self.open.push(OpenCall { number, id, listens, abort });
    }

    /// Cancels the request that a host means by this id. Returns whether there is one.
    fn cancel(&self, id: &Json) -> bool {
        let call = Key::of(id).meant(&self.open, |call| Some(&call.id));
        if let Some(call) = call {
            call.abort.abort();
        }
        call.is_some()
    }

    /// Ends what has no answer of its own.
    fn stop_listening(&self) {
        self.open.iter().filter(|call| call.listens).for_each(|call| call.abort.abort());
    }
}

/// Waits for the next line. When the host has closed its end, or reading failed, the input is dropped; what stands
/// before the end is a line, too. Nothing is lost if the future is dropped.
async fn next_line(input: &mut Option<Input<impl AsyncRead + Unpin>>) -> Option<Line> {
    let Input { reader, lines } = input.as_mut()?;
    loop {
        if let Some(line) = lines.cut() {
            return Some(line);
        }
        if !matches!(reader.read_buf(lines.room()).await, Ok(1..)) {
            let last = lines.cut_last();
            if last.is_none() {
                *input = None;
            }
            return last;
        }
    }
}

/// Whether a request is of the stateless revision. Both methods exist in that only.
fn is_stateless(method: &str, params: Option<&Json>) -> bool {
    matches!(method, DISCOVER | LISTEN) || names_revision(params)
}

/// Returns an error for what is no message, under the id that it names, if it names one.
fn refused(id: Option<&Json>, answer: &Answer) -> String {
    let (id, error) = (id.map_or("null", Json::as_str), answer.json().as_str());
    format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#)
}

async fn write(writer: &mut (impl AsyncWrite + Unpin), line: &[u8]) -> io::Result<()> {
    writer.write_all(line).await?;
    writer.write_all(b"\n").await?;
    writer.flush().await
}

/// How long a host that has closed its end is still answered.
const LAST_ANSWERS: Duration = Duration::from_secs(5);
const FAREWELL: Duration = Duration::from_secs(12);
