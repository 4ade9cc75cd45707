//! A host that speaks Streamable HTTP as the revisions tell it to: headers that repeat the body, a standing
//! stream in a session, and a closed stream where a stateless call is taken back.

use std::collections::HashMap;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use bytes::Bytes;
use futures_util::stream::{self, Stream};
use http::header::{ACCEPT, CONTENT_LENGTH, CONTENT_TYPE, EXPECT, HOST};
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::{Door, Opening, Program, meaning};

/// A host at the endpoint of a program.
pub(crate) struct HttpHost {
    standing: StandingDoor,
    wire: Arc<Wire>,
    /// The requests that are under way, by what their ids mean.
    under_way: HashMap<String, JoinHandle<()>>,
    revision: String,
}

/// A door that goes on when a host has left: the next one finds it as if it were new.
pub(crate) struct StandingDoor {
    program: Program,
    /// The address and the port.
    authority: String,
}

/// What all requests of a host share.
struct Wire {
    /// The address and the port.
    authority: String,
    session: Mutex<Option<String>>,
    /// `None` once the host listens no more.
    say: Mutex<Option<mpsc::UnboundedSender<String>>>,
}

impl HttpHost {
    /// Comes to a door.
    pub(crate) fn at(
        standing: StandingDoor,
        revision: &str,
        say: mpsc::UnboundedSender<String>,
    ) -> Self {
        let authority = standing.authority.clone();
        let wire = Wire { authority, session: Mutex::default(), say: Mutex::new(Some(say)) };
        let (under_way, revision) = (HashMap::new(), revision.to_owned());
        Self { standing, wire: Arc::new(wire), under_way, revision }
    }

    pub(crate) fn has_session(&self) -> bool {
        lock(&self.wire.session).is_some()
    }

    /// Posts a message. A request is answered meanwhile; everything else has been taken when this returns.
    pub(crate) async fn write(&mut self, body: &[u8]) -> Result<()> {
        let read: Option<Value> = serde_json::from_slice(body).ok();
        let read = read.unwrap_or_default();
        let request = self.request(body, &read)?;
        let posting = self.wire.clone().post(request);
        if read["method"].is_string() && !read["id"].is_null() {
            self.under_way.insert(meaning(&read["id"]), tokio::spawn(posting));
        } else {
            timeout(POST, posting).await.context("a message was not taken")?;
        }
        Ok(())
    }

    /// Makes a request whose headers say what the body says, as far as it can be read.
    fn request(&self, body: &[u8], read: &Value) -> Result<Request<Body>> {
        let said = read["params"]["_meta"][VERSION].as_str();
        let mut revision = said.unwrap_or(&self.revision);
        if read["method"] == "server/discover" {
            revision = said.unwrap_or(STATELESS);
        }
        let mut request = Request::builder()
            .method(Method::POST)
            .uri("/mcp")
            .header(HOST, &self.wire.authority)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json, text/event-stream")
            .header(CONTENT_LENGTH, body.len());
        let is_greeting = read["method"] == "initialize";
        if (!is_greeting || said.is_some()) && !revision.is_empty() {
            request = request.header(REVISION, revision);
        }
        if revision == STATELESS {
            let said = |key| read["params"][key].as_str();
            let name = said("name").or_else(|| said("uri")).or_else(|| said("taskId"));
            let method = read["method"].as_str().map(|it| (METHOD, it));
            for (header, value) in method.into_iter().chain(name.map(|it| (NAME, it))) {
                request = request.header(header, value);
            }
        } else if let Some(session) = &*lock(&self.wire.session) {
            request = request.header(SESSION, session);
        }
        if body.len() < LARGE {
            return Ok(request.body(body_of(body, None))?);
        }
        // Of a large body, a server that refuses it wants nothing, and says so at once.
        let go_on = Arc::new(Notify::new());
        let request = request.header(EXPECT, "100-continue");
        let mut request = request.body(body_of(body, Some(go_on.clone())))?;
        hyper::ext::on_informational(&mut request, move |_| go_on.notify_one());
        Ok(request)
    }

    /// Closes the stream of a call.
    pub(crate) async fn leave(&mut self, id: &str) -> Result<()> {
        let id: Value = serde_json::from_str(id)?;
        if let Some(call) = self.under_way.remove(&meaning(&id)) {
            call.abort();
            // It ends by being aborted.
            let _ = call.await;
        }
        Ok(())
    }

    /// Waits until every request is answered, and then hears no more.
    pub(crate) async fn finish(&mut self) -> Result<()> {
        for (_, call) in self.under_way.drain() {
            timeout(POST, call).await.context("a request was not answered")??;
        }
        *lock(&self.wire.say) = None;
        Ok(())
    }

    /// Ends the session, and leaves the door.
    pub(crate) async fn end(self) -> Result<StandingDoor> {
        *lock(&self.wire.say) = None;
        self.under_way.values().for_each(JoinHandle::abort);
        let session = lock(&self.wire.session).take();
        if let Some(session) = session {
            let request = Request::builder()
                .method(Method::DELETE)
                .uri("/mcp")
                .header(HOST, &self.wire.authority)
                .header(SESSION, session)
                .body(body_of(b"", None))?;
            timeout(POST, self.wire.send(request)).await.context("a session did not end")??;
        }
        Ok(self.standing)
    }
}

impl StandingDoor {
    /// Opens a door for the first host.
    pub(crate) async fn open(door: Door, opening: &Opening<'_>) -> Result<Self> {
        let mut program = Program::start(door, opening)?;
        let url = program.url().await?;
        let authority = url.strip_prefix("http://").and_then(|it| it.strip_suffix("/mcp"));
        let authority = authority.with_context(|| format!("`{url}` is no URL"))?.to_owned();
        Ok(Self { program, authority })
    }

    /// Ends the program.
    pub(crate) async fn close(mut self) -> Result<()> {
        self.program.kill().await
    }
}

impl Wire {
    /// Makes a request, and passes on every message that comes back.
    async fn post(self: Arc<Self>, request: Request<Body>) {
        if let Err(error) = self.clone().try_post(request).await {
            self.say(format!("no answer over HTTP: {error:#}"));
        }
    }

    async fn try_post(self: Arc<Self>, request: Request<Body>) -> Result<()> {
        let reply = self.send(request).await?;
        let session = reply.headers().get(SESSION).and_then(|it| it.to_str().ok());
        if let Some(session) = session.map(str::to_owned) {
            *lock(&self.session) = Some(session.clone());
            self.clone().stand(&session).await?;
        }
        self.hear(reply).await
    }

    /// Opens the standing stream of a session.
    async fn stand(self: Arc<Self>, session: &str) -> Result<()> {
        let request = Request::builder()
            .uri("/mcp")
            .header(HOST, &self.authority)
            .header(ACCEPT, "text/event-stream")
            .header(SESSION, session)
            .body(body_of(b"", None))?;
        let reply = timeout(POST, self.send(request)).await.context("no standing stream")??;
        tokio::spawn(async move {
            // The stream ends with the session, or with the host.
            let _ = self.hear(reply).await;
        });
        Ok(())
    }

    /// Makes a request on a connection of its own, which ends with the answer.
    async fn send(&self, request: Request<Body>) -> Result<Response<Incoming>> {
        let stream = TcpStream::connect(&self.authority).await?;
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        Ok(sender.send_request(request).await?)
    }

    /// Passes on the messages of an answer.
    async fn hear(&self, reply: Response<Incoming>) -> Result<()> {
        let kind = reply.headers().get(CONTENT_TYPE).and_then(|it| it.to_str().ok());
        let kind = kind.unwrap_or_default().to_owned();
        let (status, mut body) = (reply.status(), reply.into_body());
        if kind.starts_with("text/event-stream") {
            let mut buffer = Vec::new();
            while let Some(frame) = body.frame().await {
                buffer.extend_from_slice(&frame?.into_data().unwrap_or_default());
                while let Some(data) = cut_event(&mut buffer) {
                    self.say(data);
                }
            }
            return Ok(());
        }
        let whole = body.collect().await?.to_bytes();
        let text = String::from_utf8_lossy(&whole).into_owned();
        match serde_json::from_str(&text) {
            Ok(Value::Array(batch)) => batch.iter().for_each(|it| self.say(it.to_string())),
            Ok(_) => self.say(text),
            Err(_) if whole.is_empty() && status == StatusCode::ACCEPTED => {}
            Err(_) => self.say(json!({"status": status.as_u16(), "text": text}).to_string()),
        }
        Ok(())
    }

    fn say(&self, message: String) {
        if let Some(say) = &*lock(&self.say) {
            // A player that has heard enough is gone.
            let _ = say.send(message);
        }
    }
}

/// Returns a body, which may have to wait until it is wanted.
fn body_of(body: &[u8], go_on: Option<Arc<Notify>>) -> Body {
    let whole = Bytes::copy_from_slice(body);
    let wanted = async move {
        if let Some(go_on) = go_on {
            go_on.notified().await;
        }
        Ok(Frame::data(whole))
    };
    StreamBody::new(Box::pin(stream::once(wanted)))
}

/// Takes the data of the first whole event that has any.
fn cut_event(buffer: &mut Vec<u8>) -> Option<String> {
    loop {
        let end = buffer.windows(2).position(|it| it == b"\n\n")?;
        let event: Vec<u8> = buffer.drain(..end + 2).collect();
        let event = String::from_utf8_lossy(&event);
        let data: Vec<_> = event.lines().filter_map(|it| it.strip_prefix("data:")).collect();
        let data = data.join("\n").trim().to_owned();
        if !data.is_empty() {
            return Some(data);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

const METHOD: &str = "mcp-method";
const NAME: &str = "mcp-name";
const REVISION: &str = "mcp-protocol-version";
const SESSION: &str = "mcp-session-id";
const STATELESS: &str = "2026-07-28";
const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
type Body = StreamBody<Pin<Box<dyn Stream<Item = Result<Frame<Bytes>, Infallible>> + Send>>>;
const LARGE: usize = 1 << 20;
const POST: Duration = Duration::from_secs(20);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_without_data_are_no_messages_and_half_an_event_waits() {
        let mut buffer = b"id: 1\ndata:\n\n: comment\n\ndata: {\"a\":1}\n\ndata: {".to_vec();

        assert_eq!(cut_event(&mut buffer).as_deref(), Some("{\"a\":1}"));
        assert_eq!(cut_event(&mut buffer), None);
        assert_eq!(buffer, b"data: {");
    }
}
