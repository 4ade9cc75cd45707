//! Calls a tool again and again with a token, so that valgrind can count what a login costs each call.
//!
//! ```sh
//! cargo build --profile test -p ridethrough-oauth --example cost_of_a_call
//! for token in static login; do for calls in 300 1300; do
//!   valgrind --tool=callgrind --callgrind-out-file=/dev/null \
//!     target/debug/examples/cost_of_a_call $token $calls 2>&1 | grep Collected
//! done; done
//! ```
//!
//! The difference of two counts is the cost of 1,000 calls; start and login cancel out. The server is a process
//! of its own, which is not counted.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

use ridethrough::Client;
use ridethrough::credentials::StaticToken;
use ridethrough_oauth::store::MemoryStore;
use ridethrough_oauth::{ClientBuilderExt, ClientKey, OAuth, Secret};
use serde_json::{Value, json};

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["server"] => serve(),
        [token, calls] => {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(call(token, calls.parse()?))
        }
        _ => Err("usage: cost_of_a_call static|login CALLS".into()),
    }
}

async fn call(token: &str, calls: usize) -> Result<(), Failure> {
    let mut server = Command::new(std::env::current_exe()?);
    let server = server.arg("server").stdout(Stdio::piped()).spawn()?;
    let mut server = Ending(server);
    let mut url = String::new();
    BufReader::new(server.0.stdout.as_mut().ok_or("no output")?).read_line(&mut url)?;
    let builder = Client::builder(url.trim()).no_proxy();
    let client = if token == "static" {
        builder.credentials(StaticToken::new(TOKEN)?).build()?
    } else {
        let key = ClientKey::Secret(Secret::new("s"));
        let login = OAuth::client_credentials("cost", key).store(MemoryStore::default());
        builder.oauth(login)?.build()?
    };
    for _ in 0..calls {
        client.call_tool("hello", json!({})).await?;
    }
    Ok(())
}

/// Ends the server with the client.
struct Ending(Child);

impl Drop for Ending {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn serve() -> Result<(), Failure> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let origin = format!("http://{}", listener.local_addr()?);
    println!("{origin}/mcp");
    for stream in listener.incoming() {
        let (stream, origin) = (stream?, origin.clone());
        // A client that leaves ends its connection.
        std::thread::spawn(move || drop(answer_all(stream, &origin)));
    }
    Ok(())
}

fn answer_all(mut stream: TcpStream, origin: &str) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    loop {
        let (mut head, mut length) = (String::new(), 0);
        while !head.ends_with("\r\n\r\n") {
            let from = head.len();
            if reader.read_line(&mut head)? == 0 {
                return Ok(());
            }
            let line = head[from..].to_ascii_lowercase();
            if let Some(text) = line.strip_prefix("content-length:") {
                length = text.trim().parse().unwrap_or(0);
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        let (status, more, answer) = answer(&head, &body, origin);
        let text = answer.to_string();
        let length = text.len();
        write!(
            stream,
            "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\n{more}content-length: {length}\r\n\r\n{text}"
        )?;
    }
}

fn answer(head: &str, body: &[u8], origin: &str) -> (u16, String, Value) {
    let path = head.split(' ').nth(1).unwrap_or_default();
    if path.starts_with("/.well-known/oauth-protected-resource") {
        let resource = format!("{origin}/mcp");
        return found(json!({"resource": resource, "authorization_servers": [origin]}));
    }
    if path.starts_with("/.well-known/") {
        return found(json!({"issuer": origin, "token_endpoint": format!("{origin}/token")}));
    }
    if path == "/token" {
        return found(json!({"access_token": TOKEN, "token_type": "Bearer", "expires_in": 36000}));
    }
    if !head.contains(TOKEN) {
        return (401, "www-authenticate: Bearer\r\n".to_owned(), json!({}));
    }
    let asked: Value = serde_json::from_slice(body).unwrap_or_default();
    let result = match asked["method"].as_str() {
        Some("initialize") => {
            json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                                     "serverInfo": {"name": "cost", "version": "1"}})
        }
        Some("tools/call") => json!({"content": [{"type": "text", "text": "hello"}]}),
        _ if asked["id"].is_null() => return (202, String::new(), Value::Null),
        _ => {
            let error = json!({"code": -32601, "message": "no such method"});
            return found(json!({"jsonrpc": "2.0", "id": asked["id"], "error": error}));
        }
    };
    found(json!({"jsonrpc": "2.0", "id": asked["id"], "result": result}))
}

fn found(answer: Value) -> (u16, String, Value) {
    (200, String::new(), answer)
}

const TOKEN: &str = "a-token-of-usual-length-0123456789abcdef0123456789abcdef";
