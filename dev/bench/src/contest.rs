//! The program of a contestant: it connects, says so, and carries out the lines on its stdin.
//!
//! ```text
//!   calls N C       N calls of `echo`, C at a time, over one session
//!   big N           N calls of `big`, one after the other
//!   sessions N      has N further sessions, each with its standing stream
//!   spread N        N calls of `echo`, one after the other, each over the next of the further sessions
//!   outage N        N calls of `echo` that begin over half a second; a line at the first answer
//!   quit            ends, as the end of stdin does
//! ```
//!
//! Each line is answered by one line of JSON: `{"calls":N,"p50_us":F,"p99_us":F,"cpu_us":F}`, where the last
//! is the CPU time of the whole process for each call; or `{"error":"…"}`, after which it ends.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, stdin, stdout};
use tokio::task::JoinSet;

use crate::cost::{cpu, micros, number};

/// A client that takes part in a contest.
pub trait Client: Clone + Send + Sync + 'static {
    /// Calls the tool `echo` and checks that a text came back.
    fn echo(&self) -> impl Future<Output = Result<()>> + Send;

    /// Calls the tool `big` and checks that a text came back.
    fn big(&self) -> impl Future<Output = Result<()>> + Send;

    /// Begins another session with this server, and opens its standing stream.
    fn another(&self) -> impl Future<Output = Result<Self>> + Send;
}

/// Reports that the client is ready, and carries out lines until `quit`.
pub async fn obey<C: Client>(name: &str, version: &str, client: Result<C>) -> Result<()> {
    let done = match client {
        Ok(client) => {
            say(&json!({ "ready": true, "name": name, "version": version })).await?;
            Obedient { client, sessions: Vec::new() }.run().await
        }
        Err(error) => Err(error),
    };
    if let Err(error) = &done {
        say(&json!({ "error": format!("{error:#}") })).await?;
    }
    done
}

/// A hundred bytes: the argument of `echo`, and its result.
pub const TEXT: &str = concat!(
    "0123456789012345678901234567890123456789",
    "012345678901234567890123456789012345678901234567890123456789"
);

struct Obedient<C> {
    client: C,
    sessions: Vec<C>,
}

impl<C: Client> Obedient<C> {
    async fn run(mut self) -> Result<()> {
        let mut lines = BufReader::new(stdin()).lines();
        while let Some(line) = lines.next_line().await? {
            let words: Vec<_> = line.split_whitespace().collect();
            let answer = match *words {
                ["calls", calls, at_once] => self.calls(calls.parse()?, at_once.parse()?).await?,
                ["big", calls] => self.big(calls.parse()?).await?,
                ["sessions", sessions] => self.begin(sessions.parse()?).await?,
                ["spread", calls] => self.spread(calls.parse()?).await?,
                ["outage", calls] => self.outage(calls.parse()?).await?,
                ["quit"] => return Ok(()),
                _ => bail!("`{line}` is no command"),
            };
            say(&answer).await?;
        }
        Ok(())
    }

    async fn calls(&self, calls: u64, at_once: u64) -> Result<Value> {
        let at_once = at_once.clamp(1, calls.max(1));
        let before = cpu("self")?;
        let mut tasks = JoinSet::new();
        for place in 0..at_once {
            let client = self.client.clone();
            let share = calls / at_once + u64::from(place < calls % at_once);
            tasks.spawn(async move {
                let mut times = Vec::with_capacity(usize::try_from(share)?);
                for _ in 0..share {
                    let began = Instant::now();
                    client.echo().await?;
                    times.push(micros(began.elapsed()));
                }
                anyhow::Ok(times)
            });
        }
        let mut times = Vec::new();
        while let Some(done) = tasks.join_next().await {
            times.extend(done??);
        }
        told(times, cpu("self")?.saturating_sub(before))
    }

    async fn big(&self, calls: u64) -> Result<Value> {
        let before = cpu("self")?;
        let mut times = Vec::new();
        for _ in 0..calls {
            let began = Instant::now();
            self.client.big().await?;
            times.push(micros(began.elapsed()));
        }
        told(times, cpu("self")?.saturating_sub(before))
    }

    async fn begin(&mut self, sessions: u64) -> Result<Value> {
        for _ in 0..sessions {
            self.sessions.push(self.client.another().await?);
        }
        Ok(json!({ "sessions": self.sessions.len() }))
    }

    async fn spread(&self, calls: u64) -> Result<Value> {
        let before = cpu("self")?;
        let mut times = Vec::new();
        let mut sessions = self.sessions.iter().cycle();
        for _ in 0..calls {
            let session = sessions.next().context("there are no further sessions")?;
            let began = Instant::now();
            session.echo().await?;
            times.push(micros(began.elapsed()));
        }
        told(times, cpu("self")?.saturating_sub(before))
    }

    /// Makes calls during an outage. The server is gone when this begins, so none of these calls can have
    /// been sent before it is back.
    async fn outage(&self, calls: u64) -> Result<Value> {
        let mut tasks = JoinSet::new();
        let pause = OUTAGE / u32::try_from(calls.max(1))?;
        let client = Arc::new(self.client.clone());
        for place in 0..u32::try_from(calls)? {
            let client = client.clone();
            tasks.spawn(async move {
                tokio::time::sleep(pause * place).await;
                client.echo().await
            });
        }
        let (mut answered, mut failed, mut reason) = (0_u64, 0_u64, None);
        while let Some(done) = tasks.join_next().await {
            match done? {
                Ok(()) => {
                    answered += 1;
                    if answered == 1 {
                        say(&json!({ "first": true })).await?;
                    }
                }
                Err(error) => {
                    failed += 1;
                    reason = Some(format!("{error:#}"));
                }
            }
        }
        Ok(json!({ "answered": answered, "failed": failed, "reason": reason }))
    }
}

fn told(mut times: Vec<f64>, spent: Duration) -> Result<Value> {
    times.sort_by(f64::total_cmp);
    let count = times.len();
    let at = |part: usize| times.get(count * part / 100).copied().unwrap_or_default();
    let cpu = micros(spent) / number(count.max(1) as u64);
    Ok(json!({ "calls": count, "p50_us": at(50), "p99_us": at(99), "cpu_us": cpu }))
}

async fn say(line: &Value) -> Result<()> {
    let mut out = stdout();
    out.write_all(format!("{line}\n").as_bytes()).await?;
    Ok(out.flush().await?)
}

/// The time in which calls begin, which is half of the outage.
const OUTAGE: Duration = Duration::from_millis(500);
