//! A server whose backend the test controls, and requests to it, each on a connection of its own.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST};
use http::{HeaderMap, HeaderName, Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use ridethrough_server::{
    AccessPolicy, Backend, BoxFuture, Caller, Conversation, Ending, HostSide, Letter, OpenCalls,
    ParsedMessage, Principal, Server, Settings, Token, Unavailable, Voice,
};
use ridethrough_wire::message::{Answer as Said, Id, Json};
use serde_json::{Value, json};
use tokio::io::duplex;
use tokio::sync::{mpsc, oneshot};
use tokio::task::{AbortHandle, JoinHandle};
use tokio::time::timeout;

pub(crate) struct Rig {
    pub(crate) server: Server,
    puppets: mpsc::UnboundedReceiver<Puppet>,
    opened: Arc<Mutex<Vec<String>>>,
}

pub(crate) const TOKEN: &str = "s3cret";
/// The token of another principal.
pub(crate) const OTHER: &str = "0ther";

impl Rig {
    pub(crate) fn new() -> Self {
        Self::with(Settings::default())
    }

    pub(crate) fn with(settings: Settings) -> Self {
        let access = AccessPolicy::new([127, 0, 0, 1].into(), Token::new(TOKEN).ok());
        let access = access.allow_principal(Principal::new("bob"), Token::new(OTHER).unwrap());
        Self::letting_in(access, settings)
    }

    pub(crate) fn letting_in(access: AccessPolicy, settings: Settings) -> Self {
        let (stage, puppets) = Stage::new();
        let opened = stage.opened.clone();
        let server = Server::new(stage, access, settings, |_| {});
        Self { server, puppets, opened }
    }

    /// Returns the next conversation that was opened.
    pub(crate) async fn puppet(&mut self) -> Puppet {
        let puppet = timeout(Duration::from_secs(600), self.puppets.recv()).await;
        puppet.expect("nothing was opened").unwrap()
    }

    /// Returns the principals for which conversations were opened.
    pub(crate) fn opened(&self) -> Vec<String> {
        self.opened.lock().unwrap().clone()
    }

    /// Sends a request on a connection of its own.
    pub(crate) async fn send(&self, request: Request<Full<Bytes>>) -> Answer {
        send(self.server.clone(), request).await
    }

    /// Sends a request while the test goes on.
    pub(crate) fn begin_to_send(&self, request: Request<Full<Bytes>>) -> JoinHandle<Answer> {
        tokio::spawn(send(self.server.clone(), request))
    }

    /// Opens the conversation of all stateless requests, whose backend has these capabilities.
    pub(crate) async fn shared(&mut self, capabilities: Value) -> Puppet {
        let discovered = self.begin_to_send(ask(0, "server/discover", json!({})));
        let mut puppet = self.puppet().await;
        puppet.greet(capabilities).await;
        assert_eq!(discovered.await.unwrap().status, 200);
        puppet
    }
}

async fn send(server: Server, request: Request<Full<Bytes>>) -> Answer {
    let (ours, theirs) = duplex(64 * 1024);
    tokio::spawn(async move { server.serve(theirs).await });
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(ours)).await.unwrap();
    let connection = tokio::spawn(async move { drop(connection.await) }).abort_handle();
    // A test that gives up waiting closes the connection.
    let closing = Closing(connection);
    let (head, body) = sender.send_request(request).await.unwrap().into_parts();
    let (status, headers) = (head.status, head.headers);
    Answer {
        status,
        headers,
        body,
        unread: String::new(),
        _closing: closing,
        _sender: Box::new(sender),
    }
}

/// Returns a stateless request.
pub(crate) fn ask(id: impl Into<Value>, method: &str, params: Value) -> Request<Full<Bytes>> {
    let name = params["name"].as_str().or(params["uri"].as_str()).map(str::to_owned);
    let mut params = params;
    let meta = &mut params["_meta"];
    meta["io.modelcontextprotocol/protocolVersion"] = "2026-07-28".into();
    if meta["io.modelcontextprotocol/clientCapabilities"].is_null() {
        meta["io.modelcontextprotocol/clientCapabilities"] = json!({});
    }
    let body = json!({"jsonrpc": "2.0", "id": id.into(), "method": method, "params": params});
    let mut request = post(&body.to_string());
    let headers = request.headers_mut();
    headers.insert("mcp-protocol-version", "2026-07-28".parse().unwrap());
    headers.insert("mcp-method", method.parse().unwrap());
    if let Some(name) = name {
        headers.insert("mcp-name", name.parse().unwrap());
    }
    request
}

/// Returns a call of the tool `t` by a client that can be asked everything.
pub(crate) fn call(id: impl Into<Value>) -> Request<Full<Bytes>> {
    ask(id, "tools/call", able(json!({"name": "t", "arguments": {"a": 1}})))
}

/// Returns the params of a client that can be asked everything.
pub(crate) fn able(mut params: Value) -> Value {
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] =
        json!({"elicitation": {"form": {}, "url": {}}, "roots": {}, "sampling": {}});
    params
}

pub(crate) fn with(
    mut request: Request<Full<Bytes>>,
    name: &'static str,
    value: Option<&str>,
) -> Request<Full<Bytes>> {
    let name = HeaderName::from_static(name);
    match value {
        Some(value) => drop(request.headers_mut().insert(name, value.parse().unwrap())),
        None => drop(request.headers_mut().remove(name)),
    }
    request
}

/// Returns the request in the name of another principal.
pub(crate) fn by_another(request: Request<Full<Bytes>>) -> Request<Full<Bytes>> {
    with(request, "authorization", Some(&format!("Bearer {OTHER}")))
}

pub(crate) fn post(body: &str) -> Request<Full<Bytes>> {
    let mut request = request(Method::POST, body);
    let both = "application/json, text/event-stream".parse().unwrap();
    request.headers_mut().insert(ACCEPT, both);
    request.headers_mut().insert(CONTENT_TYPE, "application/json".parse().unwrap());
    request
}

pub(crate) fn request(method: Method, body: &str) -> Request<Full<Bytes>> {
    Request::builder()
        .method(method)
        .uri("/mcp")
        .header(HOST, "localhost:8808")
        .header(AUTHORIZATION, format!("Bearer {TOKEN}"))
        .body(Full::new(Bytes::copy_from_slice(body.as_bytes())))
        .unwrap()
}

/// An answer, whose body is read piece by piece. Dropping it closes its connection.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    headers: HeaderMap,
    body: Incoming,
    unread: String,
    _closing: Closing,
    _sender: Box<dyn Send>,
}

struct Closing(AbortHandle);

impl Drop for Closing {
    fn drop(&mut self) {
        self.0.abort();
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

    /// Returns the next message on an event stream; `None` at its end.
    pub(crate) async fn event(&mut self) -> Option<Value> {
        loop {
            let block = self.block().await?;
            let data = block.lines().find_map(|line| line.strip_prefix("data: "));
            // An event without data only marks where a stream can be resumed.
            if let Some(data) = data.filter(|data| !data.is_empty()) {
                return Some(serde_json::from_str(data).unwrap());
            }
        }
    }

    /// Returns the next block: an event, or a comment.
    pub(crate) async fn block(&mut self) -> Option<String> {
        loop {
            if let Some((block, rest)) = self.unread.split_once("\n\n") {
                let (block, rest) = (block.to_owned(), rest.to_owned());
                self.unread = rest;
                return Some(block);
            }
            let frame = timeout(Duration::from_secs(3600), self.body.frame()).await;
            let frame = frame.expect("nothing comes").transpose().unwrap_or(None)?;
            self.unread.push_str(std::str::from_utf8(frame.data_ref().unwrap()).unwrap());
        }
    }

    /// Returns the answer, whether it came as JSON or at the end of an event stream.
    pub(crate) async fn last(&mut self) -> Value {
        if self.header("content-type") == Some("application/json") {
            return self.json().await;
        }
        let mut last = None;
        while let Some(event) = self.event().await {
            last = Some(event);
        }
        last.expect("the stream has no answer")
    }
}

/// A backend whose conversations are handed to the test.
pub(crate) struct Stage {
    puppets: mpsc::UnboundedSender<Puppet>,
    opened: Arc<Mutex<Vec<String>>>,
}

impl Stage {
    pub(crate) fn new() -> (Self, mpsc::UnboundedReceiver<Puppet>) {
        let (sender, puppets) = mpsc::unbounded_channel();
        (Self { puppets: sender, opened: Arc::default() }, puppets)
    }
}

impl Backend for Stage {
    fn open<'a>(
        &'a self,
        caller: &'a Caller,
        host: HostSide,
    ) -> BoxFuture<'a, Result<Conversation, Unavailable>> {
        Box::pin(async {
            self.opened.lock().unwrap().push(caller.principal.name().to_owned());
            let HostSide { letters, closing, voice } = host;
            let (open, gone) = oneshot::channel();
            let (calls, letter) = (OpenCalls::default(), Vec::new());
            let puppet = Puppet { letters, letter, calls, voice, closing, _open: open };
            self.puppets.send(puppet).map_err(|_| Unavailable {
                what: "no stage".to_owned(),
                retry_after: Duration::ZERO,
            })?;
            // It goes on until the test lets go of the puppet.
            let conversation: Conversation = Box::pin(async move {
                let _: Result<Infallible, _> = gone.await;
            });
            Ok(conversation)
        })
    }

    fn name(&self) -> &str {
        "puppet"
    }
}

/// The backend's side of a conversation.
pub(crate) struct Puppet {
    letters: mpsc::Receiver<Letter>,
    letter: Letter,
    /// The calls that have no answer.
    calls: OpenCalls,
    voice: Voice,
    closing: oneshot::Receiver<Infallible>,
    _open: oneshot::Sender<Infallible>,
}

impl Puppet {
    /// Returns the next message, as it was written.
    pub(crate) async fn text(&mut self) -> String {
        if self.letter.is_empty() {
            let letter = timeout(Duration::from_secs(7200), self.letters.recv()).await;
            self.letter = letter.expect("nothing comes").expect("the conversation is over");
        }
        let message = self.letter.remove(0);
        let text = String::from_utf8(message.message().text().to_vec()).unwrap();
        self.calls.take_down(vec![message]);
        text
    }

    pub(crate) async fn hear(&mut self) -> Value {
        serde_json::from_str(&self.text().await).unwrap()
    }

    /// Returns the next message, if there is one already.
    pub(crate) async fn hear_now(&mut self) -> Option<Value> {
        timeout(Duration::from_secs(1), self.hear()).await.ok()
    }

    pub(crate) async fn say(&self, message: Value) {
        self.say_text(&message.to_string()).await;
    }

    pub(crate) async fn say_text(&self, text: &str) {
        let message = ParsedMessage::read(&Json::new(text.to_owned()).unwrap()).unwrap();
        self.calls.pass_on(message, &self.voice).await;
    }

    /// Sends a message that belongs to this call.
    pub(crate) async fn say_about(&self, call: &Value, message: Value) {
        let message = ParsedMessage::read(&Json::from(message)).unwrap();
        self.calls.aside(&Json::from(call.clone())).unwrap().say(message).await;
    }

    /// Says something beside a call, whose params have this text.
    pub(crate) async fn say_beside(&self, call: &Value, method: &str, params: &str) {
        let params = Json::new(params.to_owned()).unwrap();
        let message = ParsedMessage::notification(method, Some(&params));
        self.calls.aside(&Json::from(call.clone())).unwrap().say(message).await;
    }

    /// Answers a call by a result of this text.
    pub(crate) async fn end(&self, id: &Value, result: &str) {
        let id = Id::named_by(&Json::from(json!({"id": id}))).unwrap();
        let answer = Said::Result(Json::new(result.to_owned()).unwrap());
        self.calls.pass_on(ParsedMessage::response(&id, &answer), &self.voice).await;
    }

    pub(crate) async fn answer(&self, id: &Value, result: Value) {
        self.say(json!({"jsonrpc": "2.0", "id": id, "result": result})).await;
    }

    pub(crate) async fn refuse(&self, id: &Value, code: i64) {
        let error = json!({"code": code, "message": "no"});
        self.say(json!({"jsonrpc": "2.0", "id": id, "error": error})).await;
    }

    pub(crate) async fn notify(&self, method: &str, params: Value) {
        self.say(json!({"jsonrpc": "2.0", "method": method, "params": params})).await;
    }

    /// Asks for a form to be filled in.
    pub(crate) async fn ask(&self, id: &str) {
        let params = json!({"message": "who?", "requestedSchema": {"type": "object"}});
        self.say(
            json!({"jsonrpc": "2.0", "id": id, "method": "elicitation/create", "params": params}),
        )
        .await;
    }

    /// Answers `initialize`, and waits for `initialized`.
    pub(crate) async fn greet(&mut self, capabilities: Value) {
        let asked = self.hear().await;
        assert_eq!(asked["method"], "initialize");
        let result = json!({"protocolVersion": "2025-11-25", "capabilities": capabilities,
            "serverInfo": {"name": "puppet", "version": "1"}, "instructions": "be kind"});
        self.answer(&asked["id"], result).await;
        assert_eq!(self.hear().await["method"], "notifications/initialized");
    }

    /// Ends the conversation from the backend's side.
    pub(crate) async fn die(self) {
        let ending = Ending {
            what: "`puppet` has ended".to_owned(),
            data: json!({"kind": "died", "mayHaveRun": true}),
            retry_after: Duration::ZERO,
        };
        self.voice.is_over(ending);
    }

    /// Waits until it is asked to end.
    pub(crate) async fn asked_to_end(&mut self) {
        let asked = timeout(Duration::from_secs(7200), &mut self.closing).await;
        assert!(asked.expect("it goes on").is_err());
    }
}
