//! A server of our own that answers in the shapes of the Go SDK, which cannot be built where there is no Go.
//! It is not that SDK: `dev/interop/servers/go-recorded/shapes.json` holds what was read in its source.
//!
//! What matters is how it ends a session: DELETE waits for the calls that run and drops their answers, so
//! that a call ends as an empty stream with status 200 after its tool has run.

use std::collections::HashMap;
use std::io::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use ridethrough_testkit::http::{Connection, Request, read};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::sleep;

/// Serves until it is killed.
pub(crate) async fn serve() -> Result<()> {
    let port: u16 = variable("PORT").and_then(|it| it.parse().ok()).unwrap_or(0);
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    println!("listening on http://{}/mcp", listener.local_addr()?);
    let shapes: Value = serde_json::from_str(SHAPES).context("the shapes are no JSON")?;
    let replay = Arc::new(Replay { shapes, sessions: Mutex::default() });
    loop {
        let (connection, _) = listener.accept().await?;
        let replay = replay.clone();
        // The client notices a broken connection.
        tokio::spawn(async move { replay.carry(connection).await.ok() });
    }
}

struct Replay {
    shapes: Value,
    sessions: Mutex<HashMap<String, Arc<Session>>>,
}

struct Session {
    state: watch::Sender<State>,
}

#[derive(Clone, Copy, Default)]
struct State {
    running: usize,
    is_closing: bool,
    is_closed: bool,
    /// How often it was used.
    uses: usize,
}

impl Session {
    /// Stops taking calls, waits for those that run, and closes.
    async fn close(&self) {
        self.state.send_modify(|state| state.is_closing = true);
        let mut state = self.state.subscribe();
        let _ = state.wait_for(|state| state.running == 0).await;
        self.state.send_modify(|state| state.is_closed = true);
    }

    async fn closed(&self) {
        let _ = self.state.subscribe().wait_for(|state| state.is_closed).await;
    }
}

impl Replay {
    async fn carry(&self, stream: TcpStream) -> Result<()> {
        stream.set_nodelay(true)?;
        let mut connection = Connection::new(stream);
        while let Some(request) = read(&mut connection).await? {
            let answer = self.answer(&request).await;
            connection.write_all(answer.as_bytes()).await?;
            if !request.is_persistent {
                break;
            }
        }
        Ok(())
    }

    async fn answer(&self, request: &Request) -> String {
        let id = request.header("mcp-session-id");
        let session = id.and_then(|id| self.sessions().get(id).cloned());
        match (request.method.as_str(), id, session) {
            ("POST", None, _) => self.open(&request.json()),
            ("POST", _, Some(session)) => self.post(&session, &request.json()).await,
            ("GET", _, Some(session)) => {
                session.closed().await;
                self.shape("call_that_the_session_ended_under")
            }
            ("DELETE", Some(id), Some(session)) => {
                session.close().await;
                self.sessions().remove(id);
                self.shape("deleted")
            }
            _ => self.shape("unknown_session"),
        }
    }

    fn sessions(&self) -> MutexGuard<'_, HashMap<String, Arc<Session>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens a session for `initialize`.
    fn open(&self, message: &Value) -> String {
        let session = Arc::new(Session { state: watch::Sender::new(State::default()) });
        let mut sessions = self.sessions();
        // The id contains the process id, so that sessions of an earlier process are unknown.
        let id = format!("GO{}N{}", std::process::id(), sessions.len());
        sessions.insert(id.clone(), session.clone());
        if let Some(idle) = variable("INTEROP_IDLE_MS").and_then(|it| it.parse().ok()) {
            tokio::spawn(close_when_idle(session, Duration::from_millis(idle)));
        }
        let result = json!({
            "protocolVersion": message["params"]["protocolVersion"],
            "capabilities": { "tools": {} },
            "serverInfo": { "name": "interop-go-recorded", "version": "1" },
        });
        let header = format!("Mcp-Session-Id: {id}\r\n");
        answered(&header, &json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }))
    }

    async fn post(&self, session: &Session, message: &Value) -> String {
        let State { is_closed, is_closing, .. } = *session.state.borrow();
        if is_closed {
            return self.shape("unknown_session");
        }
        if message.get("id").is_none() {
            return if is_closing { self.shape("notification_while_closing") } else { accepted() };
        }
        if is_closing {
            session.closed().await;
            return self.shape("call_that_the_session_ended_under");
        }
        session.state.send_modify(|state| {
            state.running += 1;
            state.uses += 1;
        });
        let outcome = run(message).await;
        session.state.send_modify(|state| state.running -= 1);
        if session.state.borrow().is_closing {
            return self.shape("call_that_the_session_ended_under");
        }
        let mut answer = json!({ "jsonrpc": "2.0", "id": message["id"] });
        match outcome {
            Ok(result) => answer["result"] = result,
            Err(error) => answer["error"] = error,
        }
        answered("", &answer)
    }

    /// Returns an answer as it was recorded.
    fn shape(&self, name: &str) -> String {
        let shape = &self.shapes[name];
        let mut text = format!("HTTP/1.1 {}\r\n", shape["status"].as_str().unwrap_or_default());
        for (name, value) in shape["headers"].as_object().into_iter().flatten() {
            let value = value.as_str().unwrap_or_default();
            let is_stream = value == "text/event-stream" && is_json();
            let value = if is_stream { "application/json" } else { value };
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        let body = shape["body"].as_str().unwrap_or_default();
        if shape["status"] != "204 No Content" {
            text.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        format!("{text}\r\n{body}")
    }
}

/// Closes a session that was not used for this long.
async fn close_when_idle(session: Arc<Session>, idle: Duration) {
    loop {
        let before = session.state.borrow().uses;
        sleep(idle).await;
        let State { uses, running, .. } = *session.state.borrow();
        if uses == before && running == 0 {
            return session.close().await;
        }
    }
}

/// Runs a tool, and returns a result or an error.
async fn run(message: &Value) -> Result<Value, Value> {
    let params = &message["params"];
    let arguments = &params["arguments"];
    match (message["method"].as_str().unwrap_or_default(), params["name"].as_str()) {
        ("ping", _) => Ok(json!({})),
        ("tools/list", _) => Ok(json!({ "tools": TOOLS.map(|name| json!({
            "name": name, "inputSchema": { "type": "object" } })) })),
        ("tools/call", Some("echo")) => Ok(said(&arguments["text"])),
        ("tools/call", Some("count")) => {
            let key = arguments["key"].as_str().unwrap_or_default();
            note(&format!("ran {key}\n")).map_err(|why| error(-32603, &format!("{why:#}")))?;
            sleep(Duration::from_millis(arguments["pause_ms"].as_u64().unwrap_or(0))).await;
            Ok(said(&arguments["key"]))
        }
        (method, _) => Err(error(-32601, &format!("method not found: \"{method}\""))),
    }
}

fn said(text: &Value) -> Value {
    json!({ "content": [{ "type": "text", "text": text }] })
}

fn error(code: i32, message: &str) -> Value {
    json!({ "code": code, "message": message })
}

/// Writes a line that outlives the process: one write to a file opened for appending.
fn note(line: &str) -> Result<()> {
    let path = variable("INTEROP_LEDGER").context("no ledger")?;
    let mut ledger = std::fs::File::options().create(true).append(true).open(path)?;
    Ok(ledger.write_all(line.as_bytes())?)
}

fn answered(header: &str, message: &Value) -> String {
    let (kind, body) = if is_json() {
        ("application/json", message.to_string())
    } else {
        ("text/event-stream", format!("event: message\ndata: {message}\n\n"))
    };
    let length = body.len();
    format!(
        "HTTP/1.1 200 OK\r\nCache-Control: no-cache, no-transform\r\nContent-Type: {kind}\r\n{header}\
         Content-Length: {length}\r\n\r\n{body}"
    )
}

fn accepted() -> String {
    "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n".to_owned()
}

fn is_json() -> bool {
    variable("INTEROP_JSON").is_some()
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

const SHAPES: &str = include_str!("../servers/go-recorded/shapes.json");
const TOOLS: [&str; 2] = ["count", "echo"];
