//! The task of a session: it reads what the child writes until the child or the session ends.
//!
//! ```text
//!   Listening ──child ends, or breaks a rule──────────▶ Over: calls are answered with its last words
//!       └──deleted, idle, or everything is closed────▶ Over ──stdin closed──▶ child gone
//!   Over ──60 s, for streams to be resumed──▶ forgotten
//! ```

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use ridethrough_core::message::code;
use ridethrough_core::message::{Elements, Id, Json, Message};
use serde_json::json;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until, timeout, timeout_at};

use crate::child::{Child, Obituary};
use crate::fault::{Over, error};
use crate::lines::{Lines, TooLong};
use crate::news::News;
use crate::parts::{Part, Unreadable, part, part_alone};
use crate::reserve::{LONGEST_LAG, Reserve};
use crate::session::Session;

/// A running session.
pub(crate) struct Life {
    ears: Ears,
    idle: Duration,
    lines: Lines<Box<dyn AsyncRead + Send + Unpin>>,
    ended: BoxFuture<'static, Obituary>,
    /// Whether `ended` has completed; it must not be polled again.
    has_ended: bool,
    writer: Abort,
    /// Completes when the child reads no more messages.
    deaf: oneshot::Receiver<()>,
}

/// Puts messages of the child into the streams they belong to.
pub(crate) struct Ears {
    pub(crate) session: Arc<Session>,
    /// The name of the child.
    pub(crate) name: String,
    pub(crate) tell: Arc<dyn Fn(News) + Send + Sync>,
    pub(crate) room: Reserve,
}

impl Life {
    pub(crate) fn new(
        ears: Ears,
        idle: Duration,
        child: Child,
        inbox: mpsc::Receiver<Bytes>,
    ) -> Self {
        let Child { stdin, stdout, ended } = child;
        let (tell_deaf, deaf) = oneshot::channel();
        let writer = Abort(tokio::spawn(write(stdin, inbox, tell_deaf)).abort_handle());
        let lines = Lines::new(stdout, MOST_LINE);
        Self { ears, idle, lines, ended, has_ended: false, writer, deaf }
    }

    /// Ends the session: its calls are answered.
    pub(crate) fn is_over(&mut self, over: Over) {
        let session = self.ears.session.number;
        let news = match &over {
            Over::Closed(why) => News::Ended { session, why },
            Over::Died { .. } => News::Died { session, what: over.story() },
        };
        self.has_ended = matches!(&over, Over::Died { obituary: Some(_), .. });
        // Clients come first, because telling people may take time.
        self.ears.session.is_over(over);
        (self.ears.tell)(news);
    }

    /// Waits until the child has ended.
    pub(crate) async fn bury(mut self) {
        // Dropping the writer closes the child's stdin.
        drop(self.writer);
        if !self.has_ended {
            // A child that is blocked on writing would not see the end of its stdin, so its output is read.
            let farewell = async {
                tokio::select! {
                    _ = &mut self.ended => {}
                    never = self.lines.drain() => match never {},
                }
            };
            // Dropping `ended` kills what is left after the timeout.
            let _ = timeout(LAST_WILL, farewell).await;
        }
    }

    /// Handles the child's output until the child or the session ends. Returns why it ended.
    pub(crate) async fn listen(&mut self) -> Over {
        let session = self.ears.session.clone();
        let mut asked = session.asked_to_end.subscribe();
        let idle = self.idle;
        tokio::select! {
            biased;
            Ok(why) = async { asked.wait_for(Option::is_some).await.map(|why| *why) } => {
                Over::Closed(why.unwrap_or_default())
            }
            () = is_idle(&session, idle) => Over::Closed("nobody used it any more"),
            over = self.listen_on() => over,
        }
    }

    async fn listen_on(&mut self) -> Over {
        loop {
            tokio::select! {
                biased;
                line = self.lines.next() => match line {
                    Ok(Some(line)) => self.ears.hear(&line).await,
                    Ok(None) => return self.last_words("closed its stdout").await,
                    Err(TooLong) => return self.broke_a_rule("wrote a line of more than 64 MiB"),
                },
                obituary = &mut self.ended => {
                    self.hear_the_rest().await;
                    return Over::died(&self.ears.name, obituary);
                }
                Ok(()) = &mut self.deaf => return self.last_words("closed its stdin").await,
            }
        }
    }

    /// Reads what the child wrote just before its end, which is still in the pipe. Another process may hold
    /// the pipe open, so the time is limited.
    async fn hear_the_rest(&mut self) {
        let rest = async {
            while let Ok(Some(line)) = self.lines.next().await {
                self.ears.hear(&line).await;
            }
        };
        let _ = timeout(LAST_GASP, rest).await;
    }

    /// Waits for the end of a child that has closed a pipe: most such children are about to end, and then
    /// report a status.
    async fn last_words(&mut self, what: &str) -> Over {
        match timeout(LAST_GASP, &mut self.ended).await {
            Ok(obituary) => Over::died(&self.ears.name, obituary),
            Err(_) => self.broke_a_rule(what),
        }
    }

    fn broke_a_rule(&self, what: &str) -> Over {
        let what = format!("`{}` {what} and was ended", self.ears.name);
        Over::Died { what, obituary: None }
    }
}

impl Ears {
    async fn hear(&self, line: &Bytes) {
        let Ok(json) = Json::new(line.clone()) else { return self.skip(line, Unreadable::NotJson) };
        match Elements::of(json.as_bytes()) {
            None => self.hear_one(line, part(&json)).await,
            // One at a time: a line of tiny messages takes many times its size in memory when all of them are
            // parsed.
            Some(elements) => {
                for element in elements.flatten() {
                    self.hear_one(element.as_bytes(), part_alone(&element)).await;
                    tokio::task::consume_budget().await;
                }
            }
        }
    }

    async fn hear_one(&self, text: &Bytes, part: Result<Part, Unreadable>) {
        match part {
            Ok(mut part) => {
                self.wait_for_reader(&part).await;
                let Some(reservation) = self.room.take(part.text.len()).await else {
                    return self.lose(&part);
                };
                part.text = reservation.hold(part.text);
                // A message without a receiver is dropped: the answer to a cancelled call, for example.
                self.session.lock().hear(&part);
            }
            Err(unreadable) => self.skip(text, unreadable),
        }
    }

    /// Handles a message for which there is no room. If it is an answer, its call gets an error instead.
    fn lose(&self, part: &Part) {
        if let Message::Response { id: Some(id), .. } = &part.message {
            let what = format!(
                "`{}` has answered with {} bytes, which could not be kept: the client of this session has \
                 not read what came before; the call has run",
                self.name,
                part.text.len()
            );
            let data = json!({ "kind": "answerLost", "mayHaveRun": true });
            let answer = |id: &Id| error(Some(id), code::SERVER_ERROR, &what, Some(data.clone()));
            self.session.lock().streams.fail(id.json(), answer);
        }
    }

    /// Handles a line that is not a message. If it names a call, that call gets an error, because no other
    /// answer will come.
    fn skip(&self, line: &Bytes, unreadable: Unreadable) {
        if unreadable == Unreadable::NotJsonRpc
            && let Ok(json) = Json::new(line.clone())
            && json.member("method").is_none()
            && let Some(id) = json.member("id")
        {
            let what = format!("`{}` answered with neither a result nor an error", self.name);
            let answer = |id: &Id| error(Some(id), code::SERVER_ERROR, &what, None);
            self.session.lock().streams.fail(&id, answer);
        }
        (self.tell)(News::Rubbish { session: self.session.number });
    }

    /// Waits for a reader that lags, so that it loses no event. A reader that takes nothing for too long is
    /// cut off, so that the session goes on; it can resume for what is kept.
    async fn wait_for_reader(&self, part: &Part) {
        let laggard = || {
            let state = self.session.lock();
            let target = state.streams.target(&part.message)?;
            Some((target, state.streams.lags_at(target)?))
        };
        let mut waited_for = None;
        let mut deadline = Instant::now() + LONGEST_LAG;
        while let Some(place) = laggard() {
            let now = Instant::now();
            // Only the progress of this reader gives it more time, not that of others.
            if waited_for.replace(place) != Some(place) {
                deadline = now + LONGEST_LAG;
            }
            if now < deadline {
                // Whether in time or not, the reader is checked again.
                drop(timeout_at(deadline, self.session.room.notified()).await);
            } else {
                self.session.lock().streams.cut(place.0);
            }
        }
    }
}

/// Completes when the session was unused for this long.
async fn is_idle(session: &Session, idle: Duration) {
    loop {
        let now = Instant::now();
        let at = session.idle_at(now, idle);
        if at <= now {
            return;
        }
        sleep_until(at).await;
    }
}

/// Writes messages to the child until the session is dropped, or the child reads no more.
async fn write(
    mut stdin: impl AsyncWrite + Unpin,
    mut inbox: mpsc::Receiver<Bytes>,
    deaf: oneshot::Sender<()>,
) {
    while let Some(letter) = inbox.recv().await {
        let written = async {
            stdin.write_all(&letter).await?;
            stdin.flush().await
        };
        if written.await.is_err() {
            // The receiver may be gone, because it has seen the end of the child before.
            let _ = deaf.send(());
            return;
        }
    }
}

/// Aborts a task when it is dropped.
struct Abort(tokio::task::AbortHandle);

impl Drop for Abort {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Larger than the limit for clients' messages: results may contain whole files.
const MOST_LINE: usize = 64 << 20;
/// How long a child that closed a pipe may take to end, and how long the output of one that ended is read.
const LAST_GASP: Duration = Duration::from_secs(1);
/// How long a child may take to end after its stdin was closed, before it is killed. The `Start` may kill it
/// sooner.
const LAST_WILL: Duration = Duration::from_secs(10);
