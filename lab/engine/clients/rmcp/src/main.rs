//! The Rust SDK (`rmcp`) as an adapter of the lab: `lab-client-rmcp <url> <script.json>`.
//!
//! Everything is as the SDK has it by default; what is sent, repeated or given up is its own doing. A
//! step that fails is reported, and the next one is tried.

mod client;
mod guest;
mod step;

use std::io::Write;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::{Value, json};

use client::Client;
use guest::Heard;
use step::Step;

#[tokio::main]
async fn main() {
    let mut arguments = std::env::args().skip(1);
    let (Some(url), Some(path)) = (arguments.next(), arguments.next()) else {
        eprintln!("usage: lab-client-rmcp <url> <script.json>");
        std::process::exit(2);
    };
    let script = std::fs::read(path).expect("the script is there");
    let script: Vec<Step> = serde_json::from_slice(&script).expect("the script is a list of steps");
    let mut player = Player { url, client: None, heard: Heard::default() };
    for (place, step) in script.into_iter().enumerate() {
        let began = Instant::now();
        let mut line = done(player.play(step).await, began);
        line["step"] = place.into();
        line["notifications"] = player.heard.take().into();
        let mut out = std::io::stdout().lock();
        writeln!(out, "{line}").and_then(|()| out.flush()).expect("somebody reads");
    }
    // Whatever is still under way is of no interest any more.
    std::process::exit(0);
}

struct Player {
    url: String,
    client: Option<Client>,
    heard: Heard,
}

/// The result of a step, or its error. Several calls at once have both if one of them failed.
type Ended = Result<Value, (Value, String)>;

impl Player {
    async fn play(&mut self, step: Step) -> Ended {
        match step {
            Step::Call { tool, args, timeout_s, concurrency, cancel_after_s } => {
                let client = self.connected()?;
                let call = |args| client.call(&tool, args, secs(timeout_s), secs(cancel_after_s));
                let Some(count) = concurrency else { return ended(call(args).await) };
                let calls = (0..count).map(|number| {
                    let mut args = args.clone();
                    args.insert("msg".to_owned(), format!("c{number}").into());
                    timed(call(args))
                });
                all(join_all(calls).await)
            }
            Step::Close {} => {
                self.connected()?;
                let client = self.client.take().expect("it is connected");
                ended(client.close().await)
            }
            Step::Initialize { bearer } => {
                self.client = None;
                let connected = Client::connect(&self.url, bearer, self.heard.clone()).await;
                let client = self.client.insert(connected.map_err(|error| (Value::Null, error))?);
                Ok(json!({ "json": client.server() }))
            }
            Step::Request { method, params, timeout_s } => {
                ended(self.connected()?.request(method, params, secs(timeout_s)).await)
            }
            Step::Sleep { s } => {
                tokio::time::sleep(Duration::from_secs_f64(s)).await;
                Ok(Value::Null)
            }
        }
    }

    fn connected(&self) -> Result<&Client, (Value, String)> {
        let missing = || (Value::Null, "not connected: no `initialize` succeeded".to_owned());
        self.client.as_ref().ok_or_else(missing)
    }
}

fn secs(given: Option<f64>) -> Option<Duration> {
    given.map(Duration::from_secs_f64)
}

fn ended(result: Result<Value, String>) -> Ended {
    result.map_err(|error| (Value::Null, error))
}

fn all(ends: Vec<Value>) -> Ended {
    let failed = ends.iter().filter(|end| end["ok"] == false).count();
    let error = format!("{failed} of {} failed", ends.len());
    if failed == 0 { Ok(ends.into()) } else { Err((ends.into(), error)) }
}

async fn timed(call: impl Future<Output = Result<Value, String>>) -> Value {
    let began = Instant::now();
    done(ended(call.await), began)
}

fn done(ended: Ended, began: Instant) -> Value {
    let elapsed_ms = began.elapsed().as_secs_f64() * 1e3;
    let (ok, result, error) = match ended {
        Ok(result) => (true, result, None),
        Err((result, error)) => (false, result, Some(error)),
    };
    json!({ "ok": ok, "result": result, "error": error, "elapsed_ms": elapsed_ms })
}
