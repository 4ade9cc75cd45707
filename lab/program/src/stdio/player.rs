//! Plays a script on a server that speaks lines, step by step, and reports each step's line.
//!
//! Every step has exactly one line, whatever becomes of it.

use std::io;
use std::time::Duration;

use ridethrough_lab::adapter::{Answer, Done, Line, Outcome, Step};
use serde_json::{Map, Value, json};
use tokio::time::{Instant, sleep_until};

use super::host::{Pipes, StdioHost};

/// Plays the steps in order. `begin` starts a server with this token; `tell` is given each line as soon
/// as its step has ended. Only `tell` can fail.
pub(crate) async fn play(
    begin: impl Fn(Option<String>) -> io::Result<Pipes>,
    script: Vec<Step>,
    mut tell: impl FnMut(Line) -> io::Result<()>,
) -> io::Result<()> {
    let mut player = StdioPlayer { begin, host: None, heard: Vec::new() };
    for (place, step) in script.into_iter().enumerate() {
        let began = Instant::now();
        let (result, error) = match player.play(step).await {
            Ok((result, error)) => (result, error),
            Err(error) => (None, Some(error.to_string())),
        };
        let elapsed_ms = began.elapsed().as_secs_f64() * 1e3;
        let done = Done { ok: error.is_none(), result, error, elapsed_ms };
        tell(Line { step: place, done, notifications: player.heard() })?;
    }
    Ok(())
}

struct StdioPlayer<Begin> {
    begin: Begin,
    host: Option<StdioHost>,
    /// The notifications that earlier hosts received.
    heard: Vec<String>,
}

type StdioStepEnd = (Option<Answer>, Option<String>);

impl<Begin: Fn(Option<String>) -> io::Result<Pipes>> StdioPlayer<Begin> {
    async fn play(&mut self, step: Step) -> io::Result<StdioStepEnd> {
        match step {
            // A bridge logs in by itself, or not at all.
            Step::Initialize { bearer, .. } => self.initialize(bearer).await,
            Step::Call { tool, args, timeout_s, concurrency, cancel_after_s } => {
                let limits = Limits::new(timeout_s, cancel_after_s);
                let host = self.host()?;
                match concurrency {
                    None => {
                        let asked = [host.ask("tools/call", call(&tool, args)).await?];
                        Ok(one(ends(host, &asked, limits, text_of).await?))
                    }
                    Some(count) => {
                        let mut asked = Vec::new();
                        for number in 0..count {
                            let mut args = args.clone();
                            args.insert("msg".to_owned(), format!("c{number}").into());
                            asked.push(host.ask("tools/call", call(&tool, args)).await?);
                        }
                        Ok(many(ends(host, &asked, limits, text_of).await?))
                    }
                }
            }
            Step::Request { method, params, timeout_s } => {
                let host = self.host()?;
                let asked = [host.ask(&method, params.unwrap_or_else(|| json!({}))).await?];
                Ok(one(ends(host, &asked, Limits::new(timeout_s, None), whole).await?))
            }
            Step::Sleep { s } => {
                let until = Instant::now() + secs(s);
                if let Some(host) = &mut self.host {
                    listen_until(host, until).await?;
                }
                sleep_until(until).await;
                Ok((None, None))
            }
            Step::Close {} => {
                let host = self.host.take().ok_or_else(not_connected)?;
                self.heard.extend(host.leave().await?);
                Ok((None, None))
            }
        }
    }

    async fn initialize(&mut self, bearer: Option<String>) -> io::Result<StdioStepEnd> {
        if let Some(old) = self.host.take() {
            self.heard.extend(old.leave().await?);
        }
        let host = self.host.insert(StdioHost::new((self.begin)(bearer)?));
        let info = json!({"name": "ridethrough-lab", "version": env!("CARGO_PKG_VERSION")});
        let params =
            json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info});
        let asked = [host.ask("initialize", params).await?];
        let ended = one(ends(host, &asked, Limits::new(None, None), whole).await?);
        if ended.1.is_none() {
            host.tell("notifications/initialized", json!({})).await?;
        }
        Ok(ended)
    }

    fn host(&mut self) -> io::Result<&mut StdioHost> {
        self.host.as_mut().ok_or_else(not_connected)
    }

    fn heard(&mut self) -> Vec<String> {
        let mut heard = std::mem::take(&mut self.heard);
        heard.extend(self.host.iter_mut().flat_map(StdioHost::heard));
        heard
    }
}

/// How long the caller of a request waits.
#[derive(Clone, Copy)]
struct Limits {
    timeout: Duration,
    cancel_after: Option<Duration>,
}

impl Limits {
    fn new(timeout_s: Option<f64>, cancel_after_s: Option<f64>) -> Self {
        Self { timeout: timeout_s.map_or(LONGEST, secs), cancel_after: cancel_after_s.map(secs) }
    }
}

/// Returns the outcome of each of these requests, in their order.
async fn ends(
    host: &mut StdioHost,
    asked: &[u64],
    limits: Limits,
    read: fn(&Value) -> Outcome,
) -> io::Result<Vec<Done<Outcome>>> {
    let began = Instant::now();
    let until = began + limits.cancel_after.unwrap_or(limits.timeout).min(limits.timeout);
    let mut done: Vec<Option<Done<Outcome>>> = asked.iter().map(|_| None).collect();
    loop {
        for (id, end) in asked.iter().zip(&mut done) {
            if let Some(answer) = host.take(*id) {
                *end = Some(ended(&answer, began, read));
            }
        }
        if done.iter().all(Option::is_some) {
            break;
        }
        tokio::select! {
            biased;
            heard = host.listen() => heard?,
            () = sleep_until(until) => break,
        }
    }
    let mut ends = Vec::new();
    for (id, end) in asked.iter().zip(done) {
        ends.push(match end {
            Some(end) => end,
            None => {
                host.tell("notifications/cancelled", json!({"requestId": id})).await?;
                given_up(began, limits)
            }
        });
    }
    Ok(ends)
}

fn ended(answer: &Value, began: Instant, read: fn(&Value) -> Outcome) -> Done<Outcome> {
    let elapsed_ms = began.elapsed().as_secs_f64() * 1e3;
    let result = &answer["result"];
    let error = answer.get("error").map_or_else(|| doubt_in(result), |error| Some(told(error)));
    let result = error.is_none().then(|| read(result));
    Done { ok: error.is_none(), result, error, elapsed_ms }
}

/// Returns what a user of a host learns from an error: its code, its message, and its facts.
fn told(error: &Value) -> String {
    let words = error["message"].as_str().unwrap_or_default();
    format!("error {}: {words}{}", error["code"], facts(&error["data"]))
}

/// Returns what is told by a result that a bridge of ours made in place of an answer, because the tool may have
/// run; `None` of any other, which is what the tool gave.
fn doubt_in(result: &Value) -> Option<String> {
    let doubt = result["_meta"].get("ridethrough/doubt")?;
    Some(format!("{}{}", texts(result), facts(doubt)))
}

/// Returns what a bridge knows of a call without an answer: the refusal, and whether the call ran.
fn facts(of: &Value) -> String {
    let status = of["status"].as_u64().map(|it| format!("\nstatus: {it}"));
    let said = of["said"].as_str().map(|it| format!("\nsaid: {it}"));
    let delivery = of["mayHaveRun"].as_bool().map(|may_have_run| {
        let did = if may_have_run { "may have run it" } else { "did not run it" };
        format!("\ndelivery: the server {did}")
    });
    [status, said, delivery].into_iter().flatten().collect()
}

fn given_up(began: Instant, limits: Limits) -> Done<Outcome> {
    let why = match limits.cancel_after {
        Some(_) => "was cancelled by its caller",
        None => "passed its deadline",
    };
    let error = format!("the request {why}\ndelivery: the server may have run it");
    let elapsed_ms = began.elapsed().as_secs_f64() * 1e3;
    Done { ok: false, result: None, error: Some(error), elapsed_ms }
}

fn one(ends: Vec<Done<Outcome>>) -> StdioStepEnd {
    let Some(Done { result, error, .. }) = ends.into_iter().next() else { return (None, None) };
    (result.map(Answer::One), error)
}

fn many(ends: Vec<Done<Outcome>>) -> StdioStepEnd {
    let (count, failures) = (ends.len(), ends.iter().filter(|end| !end.ok).count());
    let error = (failures > 0).then(|| format!("{failures} of {count} failed"));
    (Some(Answer::Many(ends)), error)
}

async fn listen_until(host: &mut StdioHost, until: Instant) -> io::Result<()> {
    loop {
        tokio::select! {
            biased;
            heard = host.listen() => heard?,
            () = sleep_until(until) => return Ok(()),
        }
    }
}

fn call(tool: &str, args: Map<String, Value>) -> Value {
    json!({"name": tool, "arguments": args})
}

fn text_of(result: &Value) -> Outcome {
    let is_error = Some(result["isError"].as_bool().unwrap_or_default());
    Outcome { text: Some(texts(result)), is_error, json: None }
}

fn texts(result: &Value) -> String {
    let content = result["content"].as_array().map(Vec::as_slice).unwrap_or_default();
    let texts: Vec<_> = content.iter().filter_map(|part| part["text"].as_str()).collect();
    texts.join("\n")
}

fn whole(result: &Value) -> Outcome {
    Outcome { json: Some(result.clone()), ..Outcome::default() }
}

fn not_connected() -> io::Error {
    io::Error::other("not connected: no `initialize` before this step started a server")
}

/// Returns a time of a script. A number that is not a time lasts for ever; the reader of scripts refuses it.
fn secs(given: f64) -> Duration {
    Duration::try_from_secs_f64(given).unwrap_or(LONGEST)
}

/// The longest wait of a host without a limit of its own.
const LONGEST: Duration = Duration::from_secs(24 * 3600);
