//! A client that recovers from nothing and chooses its ids: one connection, one request at a time.

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

use ridethrough::Era;

use crate::rig::OWNER;

/// A caller of one endpoint.
pub(crate) struct RawCaller {
    connection: BufReader<TcpStream>,
    era: Era,
    path: &'static str,
    pub(crate) session: Option<String>,
}

impl RawCaller {
    /// Connects; with sessions it begins one.
    pub(crate) async fn connect(address: &str, path: &'static str, era: Era) -> Self {
        let mut caller = Self::without_session(address, path, era).await;
        if era == Era::Legacy {
            let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {},
                "clientInfo": {"name": "raw", "version": "1"}});
            let (status, _) = caller.ask(&json!(0), "initialize", hello).await;
            assert_eq!(status, 200);
        }
        caller
    }

    pub(crate) async fn without_session(address: &str, path: &'static str, era: Era) -> Self {
        let connection = BufReader::new(TcpStream::connect(address).await.unwrap());
        Self { connection, era, path, session: None }
    }

    /// Sends a request under this id, and returns the status and the message that answers it.
    pub(crate) async fn ask(
        &mut self,
        id: &Value,
        method: &str,
        mut params: Value,
    ) -> (u16, Value) {
        let mut headers = String::new();
        if self.era == Era::Modern {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {},
            });
            headers += &format!("mcp-protocol-version: 2026-07-28\r\nmcp-method: {method}\r\n");
            if let Some(name) = params["name"].as_str() {
                headers += &format!("mcp-name: {name}\r\n");
            }
        } else if let Some(session) = &self.session {
            headers += &format!("mcp-session-id: {session}\r\n");
        }
        let body = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let (body, path) = (body.to_string(), self.path);
        let request = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {OWNER}\r\n\
             content-type: application/json\r\naccept: application/json\r\n{headers}\
             content-length: {}\r\n\r\n{body}",
            body.len()
        );
        self.connection.get_mut().write_all(request.as_bytes()).await.unwrap();
        self.answer().await
    }

    async fn answer(&mut self) -> (u16, Value) {
        let (mut status, mut length) = (0, 0);
        loop {
            let mut line = String::new();
            self.connection.read_line(&mut line).await.unwrap();
            let line = line.trim_end().to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            if let Some(rest) = line.strip_prefix("http/1.1 ") {
                status = rest[..3].parse().unwrap();
            } else if let Some(text) = line.strip_prefix("content-length: ") {
                length = text.parse().unwrap();
            } else if let Some(id) = line.strip_prefix("mcp-session-id: ") {
                self.session = Some(id.to_owned());
            }
        }
        let mut body = vec![0; length];
        self.connection.read_exact(&mut body).await.unwrap();
        (status, serde_json::from_slice(&body).unwrap_or_default())
    }
}
