//! The server that the tests expose: this test binary, with the behaviour that its environment names.
//!
//! It keeps a diary in a file that outlives it. Its messages go to descriptor 3, because the test harness
//! prints to stdout.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, Write};
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

#[test]
#[ignore = "this is the server that the other tests start"]
fn serve() {
    let Ok(diary) = std::env::var("CHILD_DIARY") else { return };
    let behaviour = std::env::var("CHILD_BEHAVIOUR").unwrap();
    let mut server = Server::new(diary, serde_json::from_str(&behaviour).unwrap());
    server.begin();
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        server.hear(&serde_json::from_str(&line).unwrap());
    }
    server.note("eof");
    if server.behaviour["ignores_eof"] == true {
        std::thread::sleep(AGES);
    }
}

struct Server {
    diary: String,
    behaviour: Value,
    pipe: File,
    /// The call that waits for the answer to a question of this server.
    asking: Option<Value>,
}

impl Server {
    fn new(diary: String, behaviour: Value) -> Self {
        let pipe = OpenOptions::new().write(true).open("/dev/fd/3").unwrap();
        Self { diary, behaviour, pipe, asking: None }
    }

    fn begin(&self) {
        self.note(&format!("start {}", std::process::id()));
        let starts = std::fs::read_to_string(&self.diary).unwrap();
        let starts = starts.lines().filter(|line| line.starts_with("start ")).count();
        if starts <= self.behaviour["dies_at_starts"].as_u64().unwrap_or_default() as usize {
            eprintln!("no \x1b[31mkey");
            std::process::exit(3);
        }
        if self.behaviour["has_grandchild"] == true {
            self.bear("grandchild", Command::new("sleep").arg("1000"));
        }
        if self.behaviour["has_daemon"] == true {
            // The shell ends at once, and leaves behind a process in a session of its own.
            let words = "setsid sleep 1000 >/dev/null 2>&1 </dev/null & echo $!";
            let daemon = Command::new("sh").args(["-c", words]).output().unwrap();
            self.note(&format!("daemon {}", String::from_utf8(daemon.stdout).unwrap().trim()));
        }
    }

    fn bear(&self, name: &str, command: &mut Command) {
        let born = command.spawn().unwrap();
        self.note(&format!("{name} {}", born.id()));
        // No code waits for it: the test is whether it is found anyway.
        std::mem::forget(born);
    }

    fn hear(&mut self, message: &Value) {
        let id = &message["id"];
        match message["method"].as_str() {
            Some("initialize") => {
                let version = &message["params"]["protocolVersion"];
                let info = json!({"name": "child", "version": "1"});
                let capabilities = json!({"tools": {"listChanged": true}});
                self.answer(id, &json!({"protocolVersion": version, "capabilities": capabilities, "serverInfo": info}));
            }
            Some("tools/call") => self.run(message),
            Some("tools/list") => {
                let tool = json!({"name": "echo", "inputSchema": {"type": "object"}});
                self.answer(id, &json!({"tools": [tool]}));
            }
            Some(_) if !id.is_null() => self.answer(id, &json!({})),
            Some(_) => {}
            None => {
                if let Some(call) = self.asking.take() {
                    self.answer(&call, &message["result"]);
                }
            }
        }
    }

    /// Runs a tool, by its name.
    fn run(&mut self, message: &Value) {
        let (params, id) = (&message["params"], &message["id"]);
        let tool = params["name"].as_str().unwrap();
        self.note(&format!("ran {tool}"));
        match tool {
            "asks" => {
                self.asking = Some(id.clone());
                let params = json!({"messages": [], "maxTokens": 5});
                self.tell(&json!({"jsonrpc": "2.0", "id": "q", "method": "sampling/createMessage", "params": params}));
                return;
            }
            "changes" => {
                let method = "notifications/tools/list_changed";
                self.tell(&json!({"jsonrpc": "2.0", "method": method}));
            }
            "dies" => {
                eprintln!("panic: out of cheese");
                std::process::exit(7);
            }
            "large" => {
                let bytes = params["arguments"]["bytes"].as_u64().unwrap() as usize;
                let content = json!([{"type": "text", "text": "x".repeat(bytes)}]);
                return self.answer(id, &json!({"content": content}));
            }
            "hangs" => std::thread::sleep(AGES),
            "progresses" => {
                for step in 1..=20 {
                    let token = &params["_meta"]["progressToken"];
                    let params = json!({"progressToken": token, "progress": step});
                    self.tell(&json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params}));
                }
            }
            "sleeps" => std::thread::sleep(Duration::from_secs(3)),
            _ => {}
        }
        let secret = std::env::var("EXPOSED_SECRET").ok();
        let structured = json!({"pid": std::process::id(), "secret": secret});
        let content = json!([{"type": "text", "text": format!("did {tool}")}]);
        self.answer(id, &json!({"content": content, "structuredContent": structured}));
    }

    fn answer(&mut self, id: &Value, result: &Value) {
        self.tell(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
    }

    fn tell(&mut self, message: &Value) {
        // A client that is gone does not read any more.
        let _ = self.pipe.write_all(format!("{message}\n").as_bytes());
    }

    fn note(&self, entry: &str) {
        let mut diary = OpenOptions::new().create(true).append(true).open(&self.diary).unwrap();
        diary.write_all(format!("{entry}\n").as_bytes()).unwrap();
    }
}

/// A time longer than any test.
const AGES: Duration = Duration::from_secs(1000);
