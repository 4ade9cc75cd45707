//! A host that reads and writes lines, one message on each: a process that was started by it, for example.
//!
//! ```text
//!   host ──lines──▶ a session's message ──▶ its conversation     in the order in which they came
//!        ──lines──▶ a stateless request ──▶ a stream of lines    ended by its answer, or by a cancel
//! ```
//! One host may speak both eras: each request says for itself whether it is stateless. All of it is one loop,
//! which reads the next line only when the conversation has taken the last one.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::{self, AbortHandle, BoxStream, SelectAll, abortable};
use ridethrough_core::DoubtForm;
use ridethrough_wire::line_buffer::{BoundedLines, Line};
use ridethrough_wire::message::{
    Answer, ByKey, HostMessage as Read, Id, Json, Key, MOST_LINE, Message, notification,
};
use ridethrough_wire::stateless::{DISCOVER, LISTEN};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until, timeout};

use crate::backend::{Backend, Caller, Conversation, Principal};
use crate::connections::Connections;
use crate::host::{
    CallEnd, Ending, HostEnd, HostMessage, HostSide, Letter, Lost, Presence, Sink, Voice,
};
use crate::news::SessionNews;
use crate::parts::ParsedMessage;
use crate::sessions::Sessions;
use crate::settings::Settings;
use crate::stateless::{Stateless, is_stateless as names_revision};

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
    let (outbox, letters) = mpsc::channel(1);
    let (open, closing) = oneshot::channel();
    let (words, said) = mpsc::channel(MOST_UNWRITTEN);
    let (losses, lost) = mpsc::unbounded_channel();
    let end: Arc<LineEnd> = Arc::new(LineEnd { words, losses });
    let voice = Voice::new(end.clone(), Presence::default());
    let opened = sessions.backend().open(&caller, HostSide { letters, closing, voice }).await;
    let mut conversation = opened.map_err(|it| io::Error::other(it.what))?;
    let host = LineHost {
        input: Some(Input { reader, lines: BoundedLines::new(MOST_LINE) }),
        writer,
        outbox,
        letter: Letter::new(),
        calls: SessionCalls { end, open: BTreeMap::new(), numbers: ByKey::default(), last: 0 },
        said,
        lost,
        stateless: StatelessCalls {
            stateless: Arc::new(Stateless::new(sessions.clone())),
            caller,
            open: Vec::new(),
            running: SelectAll::new(),
            number: 0,
        },
        leaves_at: Instant::now(),
    };
    let served = host.serve(&mut conversation).await;
    drop(open);
    // The backend bounds how long its end takes.
    if let Ok(Served::HostLeft) = &served {
        let _ = timeout(FAREWELL, conversation).await;
    }
    sessions.close().await;
    served.map(drop)
}

/// A host, and what it waits for.
struct LineHost<R, W> {
    /// What it writes, until it has closed its end.
    input: Option<Input<R>>,
    writer: W,
    outbox: mpsc::Sender<Letter>,
    /// The messages of a line for which the conversation has no room yet.
    letter: Letter,
    /// The requests to the conversation without an answer.
    calls: SessionCalls,
    /// What the conversation says.
    said: mpsc::Receiver<LineWord>,
    /// The calls that it has lost.
    lost: mpsc::UnboundedReceiver<(u64, Lost)>,
    stateless: StatelessCalls,
    /// Until when a host that has closed its end is still answered.
    leaves_at: Instant,
}

/// How serving a host ended.
enum Served {
    ConversationEnded,
    HostLeft,
}

/// What a conversation says to a host.
enum LineWord {
    /// The end of a call.
    End(u64, CallEnd),
    /// The conversation has ended.
    Over,
    Say(Bytes),
}

/// The conversation's way to the host.
struct LineEnd {
    words: mpsc::Sender<LineWord>,
    losses: mpsc::UnboundedSender<(u64, Lost)>,
}

impl LineEnd {
    fn put(self: Arc<Self>, word: LineWord) -> BoxFuture<'static, ()> {
        // A host that has left hears nothing.
        Box::pin(async move { drop(self.words.send(word).await) })
    }
}

impl HostEnd for LineEnd {
    fn say(self: Arc<Self>, _: Option<u64>, message: ParsedMessage) -> BoxFuture<'static, ()> {
        self.put(LineWord::Say(message.text()))
    }

    fn end(self: Arc<Self>, call: u64, answered: CallEnd) -> BoxFuture<'static, ()> {
        self.put(LineWord::End(call, answered))
    }

    fn lose(&self, call: u64, lost: Lost) {
        let _ = self.losses.send((call, lost));
    }

    fn is_over(&self, _: Ending) {
        // Where there is no room for the word, the end of the conversation itself says it.
        let _ = self.words.try_send(LineWord::Over);
    }

    fn skip(&self) {}
}

/// The requests to the conversation that have no answer, each under the id that the host gave it. If an id is used
/// again while its first call runs, it means the later call.
struct SessionCalls {
    end: Arc<LineEnd>,
    open: BTreeMap<u64, Id>,
    numbers: ByKey<u64>,
    last: u64,
}

impl SessionCalls {
    /// Returns where a new call ends.
    fn begin(&mut self, id: Id) -> Sink {
        self.last += 1;
        self.numbers.insert(Key::of(id.json()), self.last);
        self.open.insert(self.last, id);
        Sink::new(self.end.clone(), self.last)
    }

    /// Forgets the call that the host means by this id, which has no answer then. Returns its number.
    fn cancel(&mut self, id: &Json) -> Option<u64> {
        let call = self.numbers.remove(&Key::of(id))?;
        self.open.remove(&call).map(|_| call)
    }

    /// Forgets a call that ends. Returns its id, if the host waits for it.
    fn end(&mut self, call: u64) -> Option<Id> {
        let id = self.open.remove(&call)?;
        let key = Key::of(id.json());
        if self.numbers.get(&key) == Some(&call) {
            self.numbers.remove(&key);
        }
        Some(id)
    }
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
    async fn serve(mut self, conversation: &mut Conversation) -> io::Result<Served> {
        let outbox = self.outbox.clone();
        while !self.has_left() {
            let (is_free, is_gone) = (self.letter.is_empty(), self.input.is_none());
            tokio::select! {
                biased;
                Some(word) = self.said.recv() => match word {
                    LineWord::End(call, answered) => self.end_call(call, answered).await?,
                    LineWord::Over => return Ok(Served::HostLeft),
                    LineWord::Say(line) => write(&mut self.writer, &line).await?,
                },
                Some((call, lost)) = self.lost.recv() => self.lose_call(call, lost).await?,
                Some((number, line)) = self.stateless.running.next() => match line {
                    Some(line) => write(&mut self.writer, &line).await?,
                    None => self.stateless.open.retain(|it| it.number != number),
                },
                () = &mut *conversation => return Ok(Served::ConversationEnded),
                Ok(room) = outbox.reserve(), if !is_free => {
                    room.send(std::mem::take(&mut self.letter));
                }
                line = next_line(&mut self.input), if is_free && !is_gone => match line {
                    Some(line) => self.take(&line).await?,
                    None => self.stateless.stop_listening(),
                },
                () = sleep_until(self.leaves_at), if is_gone => return Ok(Served::HostLeft),
            }
            if !is_gone {
                self.leaves_at = Instant::now() + LAST_ANSWERS;
            }
        }
        Ok(Served::HostLeft)
    }

    /// Whether the host has closed its end, and has all its answers.
    fn has_left(&self) -> bool {
        let waits = !self.calls.open.is_empty()
            || !self.stateless.open.is_empty()
            || !self.letter.is_empty();
        self.input.is_none() && !waits
    }

    /// Passes the answer to a call on to the host, unless the host has cancelled it.
    async fn end_call(&mut self, call: u64, answered: CallEnd) -> io::Result<()> {
        let Some(id) = self.calls.end(call) else { return Ok(()) };
        let message = match answered {
            CallEnd::Answer(answer) => ParsedMessage::response(&id, &answer),
            CallEnd::Message(message) => message,
        };
        write(&mut self.writer, &message.text()).await
    }

    async fn lose_call(&mut self, call: u64, lost: Lost) -> io::Result<()> {
        let Some(id) = self.calls.end(call) else { return Ok(()) };
        let doubt = lost.doubt(None).answer(DoubtForm::Error);
        write(&mut self.writer, &ParsedMessage::response(&id, &doubt).text()).await
    }

    /// Takes the messages of a line, one or a batch, and answers what is none.
    async fn take(&mut self, line: &Line) -> io::Result<()> {
        for read in Read::of_line(line) {
            match read {
                Read::Unfit { id, answer } => {
                    let text = refused(id.as_ref(), &answer);
                    write(&mut self.writer, text.as_bytes()).await?;
                }
                Read::Fit { message, text } => {
                    self.take_message(ParsedMessage::of(message, &text));
                }
            }
        }
        Ok(())
    }

    fn take_message(&mut self, part: ParsedMessage) {
        let message = match &part.message {
            Message::Request { id, method, params } => {
                if is_stateless(method, params.as_ref()) {
                    let (id, listens) = (Key::of(id.json()), **method == *LISTEN);
                    return self.stateless.begin(id, listens, part);
                }
                let sink = self.calls.begin(id.clone());
                HostMessage::Call(part, sink)
            }
            Message::Notification { method, params } if **method == *notification::CANCELLED => {
                let id = params.as_ref().and_then(|params| params.member("requestId"));
                if id.as_ref().is_some_and(|id| self.stateless.cancel(id)) {
                    return;
                }
                match id.and_then(|id| self.calls.cancel(&id)) {
                    Some(call) => HostMessage::Cancel(part, call),
                    None => HostMessage::Other(part),
                }
            }
            Message::Notification { .. } | Message::Response { .. } => HostMessage::Other(part),
        };
        self.letter.push(message);
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

/// What a conversation has said and is not written; beyond that it waits.
const MOST_UNWRITTEN: usize = 64;
/// How long a host that has closed its end is still answered.
const LAST_ANSWERS: Duration = Duration::from_secs(5);
const FAREWELL: Duration = Duration::from_secs(12);
