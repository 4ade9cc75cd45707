//! A host that speaks raw lines. It recovers from nothing, so that every recovery that is seen is the
//! server's own.

use std::collections::BTreeMap;
use std::io;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader, Lines};

/// The two ends of a server that speaks lines.
pub(crate) struct Pipes {
    pub(crate) reader: Box<dyn AsyncRead + Send + Unpin>,
    pub(crate) writer: Box<dyn AsyncWrite + Send + Unpin>,
}

/// One conversation with a server.
pub(super) struct StdioHost {
    lines: Lines<BufReader<Box<dyn AsyncRead + Send + Unpin>>>,
    writer: Box<dyn AsyncWrite + Send + Unpin>,
    asked: u64,
    /// Answers that were not taken yet.
    answers: BTreeMap<u64, Value>,
    heard: Vec<String>,
}

impl StdioHost {
    pub(super) fn new(pipes: Pipes) -> Self {
        let lines = BufReader::new(pipes.reader).lines();
        let (answers, heard) = (BTreeMap::new(), Vec::new());
        Self { lines, writer: pipes.writer, asked: 0, answers, heard }
    }

    /// Sends a request, and returns its id. A call of a tool has a progress token of its own, as those of most
    /// hosts have.
    pub(super) async fn ask(&mut self, method: &str, mut params: Value) -> io::Result<u64> {
        self.asked += 1;
        let id = self.asked;
        if method == "tools/call" {
            params["_meta"] = json!({"progressToken": id});
        }
        self.say(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await?;
        Ok(id)
    }

    pub(super) async fn tell(&mut self, method: &str, params: Value) -> io::Result<()> {
        self.say(&json!({"jsonrpc": "2.0", "method": method, "params": params})).await
    }

    /// Returns the answer to this request, if it has come.
    pub(super) fn take(&mut self, id: u64) -> Option<Value> {
        self.answers.remove(&id)
    }

    /// Returns what the server told since the last time, in the words of the adapter protocol.
    pub(super) fn heard(&mut self) -> Vec<String> {
        std::mem::take(&mut self.heard)
    }

    /// Reads one line. Nothing is lost if the future is dropped while it waits.
    pub(super) async fn listen(&mut self) -> io::Result<()> {
        let line = self.lines.next_line().await?;
        let line = line.ok_or_else(|| io::Error::other("the server closed its stdout"))?;
        let message: Value = serde_json::from_str(&line).map_err(|error| {
            io::Error::other(format!("a line of the server's is no JSON: {error}"))
        })?;
        match (message["method"].as_str(), message.get("id")) {
            (None, Some(id)) if id.is_u64() => {
                self.answers.insert(id.as_u64().unwrap_or_default(), message);
                Ok(())
            }
            (None, _) => Err(io::Error::other("a line of the server's is no message")),
            (Some(method), None) => {
                self.heard.push(words(method, &message["params"]));
                Ok(())
            }
            (Some(method), Some(_)) => {
                let answer = match method {
                    "ping" => json!({"jsonrpc": "2.0", "id": message["id"], "result": {}}),
                    _ => {
                        let error = json!({"code": -32601, "message": "Method not found"});
                        json!({"jsonrpc": "2.0", "id": message["id"], "error": error})
                    }
                };
                self.say(&answer).await
            }
        }
    }

    /// Closes the server's stdin and waits for the end of its stdout.
    pub(super) async fn leave(mut self) -> io::Result<Vec<String>> {
        self.writer.shutdown().await?;
        drop(self.writer);
        while self.lines.next_line().await?.is_some() {}
        Ok(self.heard)
    }

    async fn say(&mut self, message: &Value) -> io::Result<()> {
        self.writer.write_all(format!("{message}\n").as_bytes()).await?;
        self.writer.flush().await
    }
}

/// Returns `message:<data>` for a log message, otherwise the method without `notifications/`.
fn words(method: &str, params: &Value) -> String {
    let name = method.strip_prefix("notifications/").unwrap_or(method);
    match (name, &params["data"]) {
        ("message", Value::String(text)) => format!("message:{text}"),
        ("message", data) => format!("message:{data}"),
        _ => name.to_owned(),
    }
}
