//! An exposed server whose children are puppets, and requests to it, each on a connection of its own.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST};
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper_util::rt::TokioIo;
use ridethrough_expose::{
    AccessPolicy, BoxFuture, Child, Exposed, News, Obituary, Settings, Start, Token,
};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, duplex};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{AbortHandle, JoinHandle};
use tokio::time::timeout;

pub(crate) struct Rig {
    pub(crate) exposed: Exposed,
    puppets: mpsc::UnboundedReceiver<Puppet>,
    news: Arc<Mutex<Vec<News>>>,
    starts: Arc<Mutex<usize>>,
}

pub(crate) const TOKEN: &str = "s3cret";

impl Rig {
    pub(crate) fn new() -> Self {
        Self::with(Settings::default(), Stage::default())
    }

    pub(crate) fn with(settings: Settings, mut stage: Stage) -> Self {
        let (sender, puppets) = mpsc::unbounded_channel();
        stage.puppets = Some(sender);
        let starts = stage.starts.clone();
        let access = AccessPolicy::new([127, 0, 0, 1].into(), Token::new(TOKEN).ok());
        let news = Arc::<Mutex<Vec<_>>>::default();
        let told = news.clone();
        let tell = move |it| told.lock().unwrap().push(it);
        Self { exposed: Exposed::new(stage, access, settings, tell), puppets, news, starts }
    }

    /// Returns the next child that was started.
    pub(crate) async fn child(&mut self) -> Puppet {
        let puppet = timeout(Duration::from_secs(600), self.puppets.recv()).await;
        puppet.expect("nothing was started").unwrap()
    }

    pub(crate) fn starts(&self) -> usize {
        *self.starts.lock().unwrap()
    }

    pub(crate) fn news(&self) -> Vec<String> {
        self.news.lock().unwrap().iter().map(ToString::to_string).collect()
    }

    /// Sends a request on a connection of its own.
    pub(crate) async fn send(&self, request: Request<Full<Bytes>>) -> Answer {
        send(self.exposed.clone(), request).await
    }

    /// Sends a request while the test goes on.
    pub(crate) fn begin_to_send(&self, request: Request<Full<Bytes>>) -> JoinHandle<Answer> {
        tokio::spawn(send(self.exposed.clone(), request))
    }

    /// Begins to ask for a session.
    pub(crate) fn begin_to_greet(&self) -> JoinHandle<Answer> {
        self.begin_to_send(post("", &initialize("2025-11-25").to_string()))
    }

    /// Posts a message.
    pub(crate) async fn post(&self, session: &str, message: Value) -> Answer {
        self.send(post(session, &message.to_string())).await
    }

    /// Opens the standing stream, or resumes a stream after this event.
    pub(crate) async fn listen(&self, session: &str, after: Option<&str>) -> Answer {
        let mut request = get(session);
        if let Some(event) = after {
            request.headers_mut().insert("last-event-id", event.parse().unwrap());
        }
        self.send(request).await
    }

    /// Begins a session of the newest revision.
    pub(crate) async fn begin(&mut self) -> (String, Puppet) {
        self.begin_with("2025-11-25").await
    }

    pub(crate) async fn begin_with(&mut self, version: &str) -> (String, Puppet) {
        let answer = self.begin_to_send(post("", &initialize(version).to_string()));
        let mut puppet = self.child().await;
        puppet.greet(version).await;
        let answer = answer.await.unwrap();
        assert_eq!(answer.status, StatusCode::OK);
        let session = answer.header("mcp-session-id").unwrap().to_owned();
        (session, puppet)
    }
}

async fn send(exposed: Exposed, request: Request<Full<Bytes>>) -> Answer {
    let (ours, theirs) = duplex(64 * 1024);
    tokio::spawn(async move { exposed.serve(theirs).await });
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(ours)).await.unwrap();
    let connection = tokio::spawn(async move { drop(connection.await) }).abort_handle();
    let (head, body) = sender.send_request(request).await.unwrap().into_parts();
    Answer {
        status: head.status,
        headers: head.headers,
        body,
        unread: String::new(),
        connection,
        _sender: Box::new(sender),
    }
}

pub(crate) fn initialize(version: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": "init", "method": "initialize", "params": {
        "protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}})
}

/// Returns the facts of a call that may have run, as a result tells them; null if it does not.
pub(crate) fn doubt_in(answer: &Value) -> &Value {
    &answer["result"]["_meta"]["ridethrough/doubt"]
}

pub(crate) fn call(id: u64) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {
        "name": "t", "_meta": {"progressToken": format!("token {id}")}}})
}

pub(crate) fn post(session: &str, body: &str) -> Request<Full<Bytes>> {
    let mut request = request(Method::POST, session, body);
    let both = "application/json, text/event-stream".parse().unwrap();
    request.headers_mut().insert(ACCEPT, both);
    request.headers_mut().insert(CONTENT_TYPE, "application/json".parse().unwrap());
    request
}

pub(crate) fn get(session: &str) -> Request<Full<Bytes>> {
    let mut request = request(Method::GET, session, "");
    request.headers_mut().insert(ACCEPT, "text/event-stream".parse().unwrap());
    request
}

pub(crate) fn request(method: Method, session: &str, body: &str) -> Request<Full<Bytes>> {
    let mut request = Request::builder()
        .method(method)
        .uri("/mcp")
        .header(HOST, "localhost:8808")
        .header(AUTHORIZATION, format!("Bearer {TOKEN}"));
    if !session.is_empty() {
        request = request.header("mcp-session-id", session);
    }
    request.body(Full::new(Bytes::copy_from_slice(body.as_bytes()))).unwrap()
}

/// An answer, whose body is read piece by piece. Dropping it closes its connection.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    headers: HeaderMap,
    body: Incoming,
    unread: String,
    connection: AbortHandle,
    _sender: Box<dyn Send>,
}

/// An event, as it was written.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) id: String,
    pub(crate) data: String,
    pub(crate) retry: Option<String>,
}

impl Event {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.data).unwrap()
    }
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Returns the whole body.
    pub(crate) async fn text(&mut self) -> String {
        while let Some(frame) = self.body.frame().await {
            self.unread.push_str(std::str::from_utf8(frame.unwrap().data_ref().unwrap()).unwrap());
        }
        std::mem::take(&mut self.unread)
    }

    pub(crate) async fn json(&mut self) -> Value {
        let text = self.text().await;
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    /// Returns the next block: an event, or a comment.
    pub(crate) async fn block(&mut self) -> Option<String> {
        // Bytes that were searched are not searched again: a block may have many megabytes.
        let mut searched = 0;
        loop {
            let unread = self.unread.as_bytes();
            let end = unread[searched..].windows(2).position(|pair| pair == b"\n\n");
            if let Some(end) = end.map(|end| searched + end) {
                let rest = self.unread.split_off(end + 2);
                let mut block = std::mem::replace(&mut self.unread, rest);
                block.truncate(end);
                return Some(block);
            }
            searched = unread.len().saturating_sub(1);
            let frame = timeout(Duration::from_secs(3600), self.body.frame()).await;
            let frame = frame.expect("nothing comes").transpose().unwrap_or(None)?;
            self.unread.push_str(std::str::from_utf8(frame.data_ref().unwrap()).unwrap());
        }
    }

    /// Returns the next event that has data.
    pub(crate) async fn event(&mut self) -> Option<Event> {
        loop {
            let event = self.any_event().await?;
            if !event.data.is_empty() {
                return Some(event);
            }
        }
    }

    /// Returns the next event, with or without data.
    pub(crate) async fn any_event(&mut self) -> Option<Event> {
        loop {
            let block = self.block().await?;
            if block.starts_with(':') {
                continue;
            }
            let field = |name: &str| {
                block
                    .lines()
                    .find_map(|line| Some(line.strip_prefix(name)?.trim_start().to_owned()))
            };
            let data = field("data:").unwrap_or_default();
            return Some(Event {
                id: field("id:").unwrap_or_default(),
                data,
                retry: field("retry:"),
            });
        }
    }

    /// Returns all remaining messages, as JSON.
    pub(crate) async fn rest(&mut self) -> Vec<Value> {
        let mut rest = Vec::new();
        while let Some(event) = self.event().await {
            rest.push(event.json());
        }
        rest
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        self.connection.abort();
    }
}

/// The source of puppets.
#[derive(Default)]
pub(crate) struct Stage {
    puppets: Option<mpsc::UnboundedSender<Puppet>>,
    starts: Arc<Mutex<usize>>,
    /// Whether every start fails.
    is_empty: bool,
}

impl Stage {
    /// Creates a source whose starts all fail.
    pub(crate) fn empty() -> Self {
        Self { is_empty: true, ..Self::default() }
    }
}

impl Start for Stage {
    fn start(&self) -> BoxFuture<'_, std::io::Result<Child>> {
        *self.starts.lock().unwrap() += 1;
        Box::pin(async move {
            if self.is_empty {
                return Err(std::io::Error::other("no such file"));
            }
            let (stdin, heard) = duplex(64 * 1024);
            let (said, stdout) = duplex(64 * 1024);
            let (end, ended) = oneshot::channel();
            let puppet = Puppet { heard: BufReader::new(heard).lines(), said, end: Some(end) };
            self.puppets
                .as_ref()
                .unwrap()
                .send(puppet)
                .map_err(|_| std::io::Error::other("no stage"))?;
            let ended = async { ended.await.unwrap_or_default() };
            Ok(Child { stdin: Box::new(stdin), stdout: Box::new(stdout), ended: Box::pin(ended) })
        })
    }

    fn name(&self) -> &str {
        "puppet"
    }
}

/// A child that the test controls.
pub(crate) struct Puppet {
    heard: Lines<BufReader<DuplexStream>>,
    said: DuplexStream,
    end: Option<oneshot::Sender<Obituary>>,
}

impl Puppet {
    /// Returns the next line on its stdin; `None` at the end.
    pub(crate) async fn line(&mut self) -> Option<String> {
        let line = timeout(Duration::from_secs(7200), self.heard.next_line()).await;
        line.expect("nothing comes").unwrap()
    }

    pub(crate) async fn hear(&mut self) -> Value {
        serde_json::from_str(&self.line().await.expect("its stdin was closed")).unwrap()
    }

    pub(crate) async fn say(&mut self, message: Value) {
        self.write(&format!("{message}\n")).await;
    }

    pub(crate) async fn write(&mut self, text: &str) {
        self.said.write_all(text.as_bytes()).await.unwrap();
    }

    pub(crate) async fn answer(&mut self, id: impl Into<Value>, result: Value) {
        self.say(json!({"jsonrpc": "2.0", "id": id.into(), "result": result})).await;
    }

    pub(crate) async fn progress(&mut self, id: u64, step: u64) {
        let params = json!({"progressToken": format!("token {id}"), "progress": step});
        self.say(json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params}))
            .await;
    }

    /// Answers `initialize`.
    pub(crate) async fn greet(&mut self, version: &str) {
        let asked = self.hear().await;
        assert_eq!(asked["method"], "initialize");
        let result = json!({"protocolVersion": version, "capabilities": {}, "serverInfo": {"name": "puppet", "version": "1"}});
        self.answer(asked["id"].clone(), result).await;
    }

    /// Answers `initialize`, and returns the child.
    pub(crate) async fn greet_and_stay(mut self, version: &str) -> Self {
        self.greet(version).await;
        self
    }

    /// Closes its stdin without ending it.
    pub(crate) fn close_stdin(mut self) -> Self {
        self.heard = BufReader::new(duplex(1).0).lines();
        self
    }

    /// Writes, whether or not the text is read.
    pub(crate) async fn write_if_heard(&mut self, text: &str) {
        let _ = self.said.write_all(text.as_bytes()).await;
    }

    /// Closes its stdout without ending it.
    pub(crate) fn close_stdout(mut self) -> Self {
        self.said = duplex(1).0;
        self
    }

    /// Ends with this status and these last lines of stderr.
    pub(crate) fn die(mut self, status: &str, last_words: &[&str]) {
        let last_words = last_words.iter().map(|&it| it.to_owned()).collect();
        let obituary = Obituary { status: status.to_owned(), last_words };
        let _ = self.end.take().unwrap().send(obituary);
    }

    /// Waits until its stdin is closed, then ends with success.
    pub(crate) async fn leave(mut self) {
        while self.line().await.is_some() {}
        self.die("exit status: 0", &[]);
    }

    /// Waits until it is killed: the server then no longer waits for its end.
    pub(crate) async fn killed(&mut self) {
        let end = self.end.as_mut().unwrap();
        timeout(Duration::from_secs(7200), end.closed()).await.expect("it lives");
    }
}
