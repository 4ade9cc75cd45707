//! The transport to a local server: a child process, reached over its stdin and stdout.
//!
//! It turns the machine's requests, which have the form of HTTP, into lines and back. Like every transport it
//! decides nothing: it starts one child for a connect or a handshake, and never a second one by itself.
//!
//! ```text
//!   Connect, POST initialize   a child runs: started, if none does
//!   POST request               200, an event stream that ends with the answer
//!   POST anything else         202 once it is written
//!   GET                        200, everything that no call waits for
//!   DELETE                     204 once the child has ended
//! ```
//! Each child is a session of its own: a request in another child's session is answered by 404, and the
//! machine makes a new session by its ordinary rules.

mod child;
mod last_words;
mod lines;
mod overlong;
mod process;
mod watch;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::StatusCode;
use ridethrough_core::head::Content;
use ridethrough_core::session::SessionId;
use ridethrough_core::{AnswerHead, Cause, Failure, Outgoing, Verb};
use ridethrough_wire::message::{Incoming, Message};

use crate::command::Command;
use crate::switchboard::{FRAME, LineBody, LineSource};
use crate::transport::{Body, Reply, Transport, TransportRequest};

use child::Child;

/// A local server, which is started again whenever it has died.
pub(crate) struct Stdio {
    shared: Arc<StdioShared>,
}

/// What all requests of one client share.
struct StdioShared {
    command: Command,
    message_limit: usize,
    /// Held while a child is started, so that there is never more than one being started.
    starting: tokio::sync::Mutex<()>,
    children: Mutex<Children>,
}

#[derive(Default)]
struct Children {
    started: u64,
    current: Option<Arc<Child>>,
    /// The children that are being ended, which must not outlive the client either.
    leaving: Vec<Weak<Child>>,
}

impl Stdio {
    pub(crate) fn new(command: Command, message_limit: usize) -> Self {
        let message_limit = message_limit.saturating_sub(FRAME.len());
        let (starting, children) = Default::default();
        Self { shared: Arc::new(StdioShared { command, message_limit, starting, children }) }
    }
}

impl Transport for Stdio {
    fn perform(&self, request: TransportRequest) -> BoxFuture<'static, Result<Reply, Failure>> {
        let shared = self.shared.clone();
        Box::pin(async move {
            match request {
                TransportRequest::Connect => shared.child().await.map(|_| Reply::Connected),
                TransportRequest::Request { outgoing, .. } => shared.ask(outgoing).await,
            }
        })
    }
}

impl StdioShared {
    async fn ask(&self, outgoing: Outgoing) -> Result<Reply, Failure> {
        let session = outgoing.to.session;
        match outgoing.verb {
            Verb::Delete => Ok(self.end(session.as_ref()).await),
            // Lines have no event ids, so there is nothing to resume.
            Verb::Get { last_event_id: Some(_) } => Ok(status(StatusCode::METHOD_NOT_ALLOWED)),
            Verb::Get { last_event_id: None } => Ok(self.listen(session.as_ref())),
            Verb::Post { body } => self.post(session.as_ref(), body).await,
        }
    }

    async fn post(&self, session: Option<&SessionId>, body: Bytes) -> Result<Reply, Failure> {
        let message = match Incoming::parse(&body) {
            Ok(Incoming::One(message)) => message,
            _ => return Err(Failure::not_sent(Cause::Unreadable).with_detail(NO_MESSAGE)),
        };
        let request = match message {
            Message::Request { id, method, .. } => id.number().map(|id| (id, method)),
            Message::Notification { .. } | Message::Response { .. } => None,
        };
        match request {
            Some((id, method)) if &*method == "initialize" => self.shake_hands(id, &body).await,
            Some((id, _)) => match self.child_of(session) {
                Some(child) => request_of(&child, id, &body).await,
                None => Ok(status(StatusCode::NOT_FOUND)),
            },
            None => match self.child_of(session) {
                Some(child) => {
                    child.write(&body).await?;
                    Ok(status(StatusCode::ACCEPTED))
                }
                None => Ok(status(StatusCode::NOT_FOUND)),
            },
        }
    }

    /// Begins a session, which needs a child that has none yet. Returns when the child answers: one that dies
    /// before that has carried no response, which the machine counts as a failed connect.
    async fn shake_hands(&self, id: u64, body: &Bytes) -> Result<Reply, Failure> {
        let child = self.fresh_child().await?;
        // An earlier handshake with this child was abandoned. Its answer would be taken for a second session.
        child.forget_calls();
        let mut awaited = child.await_answer(id)?;
        child.write(body).await?;
        let first = match awaited.first().await {
            Some(first) => first?,
            None => return Err(Failure::unknown(Cause::Closed).with_detail(GIVEN_UP)),
        };
        child.greet();
        let mut head = AnswerHead::new(StatusCode::OK, Content::EventStream);
        head.session = SessionId::new(&child.number.to_string());
        let body = beating(LineBody::new(LineSource::Call(awaited), Some(first)));
        Ok(Reply::Answered { head, body, capacity: None })
    }

    fn listen(&self, session: Option<&SessionId>) -> Reply {
        let deliveries = self.child_of(session).and_then(|child| child.listen().ok());
        match deliveries {
            Some(deliveries) => stream(LineSource::Standing(deliveries)),
            None => status(StatusCode::NOT_FOUND),
        }
    }

    async fn end(&self, session: Option<&SessionId>) -> Reply {
        let Some(child) = self.child_of(session) else { return status(StatusCode::NOT_FOUND) };
        self.dismiss(&child);
        child.end().await;
        status(StatusCode::NO_CONTENT)
    }

    /// Returns the child of this session, if it is alive.
    fn child_of(&self, session: Option<&SessionId>) -> Option<Arc<Child>> {
        let number: u64 = session?.as_str().parse().ok()?;
        self.current().filter(|child| child.number == number)
    }

    fn current(&self) -> Option<Arc<Child>> {
        self.children().current.clone().filter(|child| child.is_speaking())
    }

    /// Returns the running child, or a new one.
    async fn child(&self) -> Result<Arc<Child>, Failure> {
        let _starting = self.starting.lock().await;
        match self.current() {
            Some(child) => Ok(child),
            None => self.start().await,
        }
    }

    /// Returns a child without a session that can be expected to answer.
    async fn fresh_child(&self) -> Result<Arc<Child>, Failure> {
        let _starting = self.starting.lock().await;
        let Some(child) = self.current() else { return self.start().await };
        if !child.is_greeted() && child.born.elapsed() < START {
            return Ok(child);
        }
        self.dismiss(&child);
        tokio::spawn(async move { child.end().await });
        self.start().await
    }

    async fn start(&self) -> Result<Arc<Child>, Failure> {
        let number = {
            let mut children = self.children();
            children.started += 1;
            children.started
        };
        let child = Child::start(&self.command, number, self.message_limit).await?;
        self.children().current = Some(child.clone());
        Ok(child)
    }

    /// Takes a child out of use, and remembers that it is being ended.
    fn dismiss(&self, child: &Arc<Child>) {
        let mut children = self.children();
        children.leaving.retain(|leaving| leaving.strong_count() > 0);
        children.leaving.push(Arc::downgrade(child));
        children.current.take_if(|current| Arc::ptr_eq(current, child));
    }

    fn children(&self) -> MutexGuard<'_, Children> {
        // No code panics while it holds the lock.
        self.children.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for StdioShared {
    /// Kills all children: requests that are still out may hold one, and those being ended have a task, but
    /// none may outlive the client.
    fn drop(&mut self) {
        let children = std::mem::take(&mut *self.children());
        let leaving = children.leaving.iter().filter_map(Weak::upgrade);
        leaving.chain(children.current).for_each(|child| child.kill());
    }
}

async fn request_of(child: &Child, id: u64, body: &Bytes) -> Result<Reply, Failure> {
    // The answer is expected before the request is written, because it may arrive before the receipt.
    let awaited = child.await_answer(id)?;
    child.write(body).await?;
    Ok(stream(LineSource::Call(awaited)))
}

fn stream(source: LineSource) -> Reply {
    let head = AnswerHead::new(StatusCode::OK, Content::EventStream);
    Reply::Answered { head, body: beating(LineBody::new(source, None)), capacity: None }
}

fn beating(body: LineBody) -> Box<dyn Body> {
    Box::new(body.with_heartbeat(HEARTBEAT))
}

fn status(status: StatusCode) -> Reply {
    Reply::whole(AnswerHead::new(status, Content::Nothing), Bytes::new())
}

/// How long a child without an answer is asked again rather than started again. A server may take longer to
/// start than one handshake lasts: `npx` downloads it first.
const START: Duration = Duration::from_secs(60);
/// How often a comment on the stream shows that the server is alive. Over a network a silent call has to ask
/// (row 19); the end of a process is known without asking, and a busy one must not be taken for dead because
/// it does not read a ping meanwhile.
const HEARTBEAT: Duration = Duration::from_secs(20);
const NO_MESSAGE: &str = "this is no message that a line could carry";
const GIVEN_UP: &str = "the handshake was given up for another one";

#[cfg(test)]
mod tests;
