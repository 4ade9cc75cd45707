//! The server that the tests start: this test binary, with faults that its environment names.
//!
//! It keeps a diary in a file that outlives it: what it ran, and how often it was started. Its messages go to
//! descriptor 3, which is the client's pipe, because the test harness prints to stdout.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, Write};
use std::path::PathBuf;
use std::process::Command;
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

#[test]
#[ignore = "this is the server that the other tests start"]
fn serve() {
    let Ok(diary) = std::env::var("CHILD_DIARY") else { return };
    let behaviour = std::env::var("CHILD_BEHAVIOUR").unwrap();
    let server = Server::new(diary.into(), serde_json::from_str(&behaviour).unwrap());
    server.begin();
    server.read_on();
    server.leave();
}

#[derive(Clone)]
struct Server {
    diary: PathBuf,
    behaviour: Value,
    pipe: Arc<Mutex<File>>,
    /// The channel for the next answer to a question of the server.
    asking: Arc<Mutex<Option<mpsc::Sender<Value>>>>,
    start: usize,
}

impl Server {
    fn new(diary: PathBuf, behaviour: Value) -> Self {
        let pipe = OpenOptions::new().write(true).open("/dev/fd/3").unwrap();
        let known = std::fs::read_to_string(&diary).unwrap_or_default();
        let start = known.lines().filter(|line| line.starts_with("start ")).count() + 1;
        let (pipe, asking) = (Arc::new(Mutex::new(pipe)), Arc::default());
        Self { diary, behaviour, pipe, asking, start }
    }

    fn begin(&self) {
        self.note(&format!("start {}", std::process::id()));
        if let Some(words) = self.behaviour["says"].as_str() {
            eprintln!("{words}");
        }
        if self.start <= self.number("dies_at_starts") {
            std::process::exit(3);
        }
        if self.behaviour["has_grandchild"] == true {
            let sleep = Command::new("sleep").arg("1000").spawn().unwrap();
            self.note(&format!("grandchild {}", sleep.id()));
            // No code waits for it: the test is whether it is found anyway.
            std::mem::forget(sleep);
        }
        for _ in 0..self.number("banners") {
            self.write("Welcome to the server!\n");
        }
        for id in 0..self.number("asks_early") {
            self.tell(&json!({ "jsonrpc": "2.0", "id": format!("early {id}"), "method": "ping" }));
        }
    }

    fn read_on(&self) {
        for line in std::io::stdin().lock().lines() {
            let Ok(message) = serde_json::from_str::<Value>(&line.unwrap()) else {
                self.note("unreadable");
                continue;
            };
            self.hear(message);
        }
    }

    fn leave(&self) {
        self.note("eof");
        if self.behaviour["ignores_eof"] == true {
            std::thread::sleep(AGES);
        }
    }

    fn hear(&self, message: Value) {
        match message["method"].as_str() {
            Some("initialize") => self.shake_hands(&message),
            Some("notifications/initialized") => {
                self.note("initialized");
                if self.start <= self.number("dies_after_handshakes") {
                    std::process::exit(4);
                }
                if self.behaviour["is_deaf"] == true {
                    std::thread::sleep(AGES);
                }
            }
            Some("notifications/cancelled") => self.note("cancelled"),
            Some("tools/call") => {
                let server = self.clone();
                std::thread::spawn(move || server.run(&message));
            }
            Some(method) if !message["id"].is_null() => {
                self.note(&format!("{method} {}", message["params"]));
                if self.start > self.number("silent_starts") {
                    self.answer(&message["id"], &json!({ "start": self.start }));
                }
            }
            _ => {
                self.note(&format!("answered {}", message["id"]));
                let asking = self.asking.lock().unwrap().take();
                if let Some(asking) = asking {
                    asking.send(message).unwrap();
                }
            }
        }
    }

    fn shake_hands(&self, message: &Value) {
        if self.behaviour["never_greets"] == true {
            return self.note("ignored initialize");
        }
        let capabilities =
            json!({ "logging": {}, "resources": { "subscribe": true }, "tools": {} });
        let result = json!({
            "protocolVersion": message["params"]["protocolVersion"],
            "capabilities": capabilities,
            "serverInfo": { "name": "child", "version": "1" },
        });
        self.answer(&message["id"], &result);
    }

    /// Runs a tool, by its name.
    fn run(&self, message: &Value) {
        let (params, id) = (&message["params"], &message["id"]);
        let arguments = &params["arguments"];
        let tool = params["name"].as_str().unwrap();
        self.note(&format!("ran {tool} {arguments}"));
        let text = |text: &str| json!({ "content": [{ "type": "text", "text": text }] });
        match tool {
            "answers_and_dies" => {
                self.answer(id, &text("last"));
                std::process::exit(0);
            }
            "asks" => {
                let (sender, answer) = mpsc::channel();
                *self.asking.lock().unwrap() = Some(sender);
                self.tell(&json!({ "jsonrpc": "2.0", "id": "q", "method": "roots/list" }));
                self.answer(id, &answer.recv().unwrap()["result"]);
            }
            "asks_much" => {
                let long = "x".repeat(128 * 1024);
                // The question has the number of the call, which is no contradiction.
                self.tell(&json!({ "id": id, "method": "sampling/createMessage", "params": long }));
            }
            "big" => {
                self.answer(id, &text(&"x".repeat(arguments["bytes"].as_u64().unwrap() as usize)))
            }
            "dies" => {
                eprintln!("panic: out of cheese");
                std::process::exit(7);
            }
            "dies_within_its_answer" => {
                self.write("{\"jsonrpc\":\"2.0\",\"id\":");
                std::process::exit(7);
            }
            "environment" => {
                let value = |name| std::env::var(name).unwrap_or_default();
                let here = std::env::current_dir().unwrap();
                self.answer(
                    id,
                    &json!({ "given": value("GIVEN"), "here": here, "home": value("HOME") }),
                );
            }
            "floods" => {
                let spam = json!({ "jsonrpc": "2.0", "method": "x", "params": ["y".repeat(1000)] });
                for _ in 0..100_000 {
                    self.tell(&spam);
                }
                self.answer(id, &text("wet"));
            }
            "holds" if self.start <= self.number("holding_starts") => {}
            "notifies" => {
                self.tell(&json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": { "data": "hi" } }));
                self.answer(id, &text("told"));
            }
            "progresses" => {
                let token = &params["_meta"]["progressToken"];
                for step in 1..=20 {
                    let progress = json!({ "progressToken": token, "progress": step });
                    let method = "notifications/progress";
                    self.tell(&json!({ "jsonrpc": "2.0", "method": method, "params": progress }));
                }
                self.answer(id, &text("done"));
            }
            "rubbish" => {
                self.write("DEBUG: about to answer\n\n{\"half\": \r\n\u{1f980}\n");
                self.answer(id, &text("clean"));
            }
            _ => self.answer(id, &json!({ "start": self.start, "arguments": arguments })),
        }
    }

    fn answer(&self, id: &Value, result: &Value) {
        self.tell(&json!({ "jsonrpc": "2.0", "id": id, "result": result }));
    }

    fn tell(&self, message: &Value) {
        let end = if self.behaviour["ends_lines_like_windows"] == true { "\r\n" } else { "\n" };
        self.write(&format!("{message}{end}"));
    }

    fn write(&self, text: &str) {
        // A client that is gone does not read any more.
        let _ = self.pipe.lock().unwrap().write_all(text.as_bytes());
    }

    fn note(&self, entry: &str) {
        let mut diary = OpenOptions::new().create(true).append(true).open(&self.diary).unwrap();
        diary.write_all(format!("{entry}\n").as_bytes()).unwrap();
    }

    fn number(&self, name: &str) -> usize {
        usize::try_from(self.behaviour[name].as_u64().unwrap_or_default()).unwrap()
    }
}

/// A time longer than any test.
const AGES: Duration = Duration::from_secs(1000);
