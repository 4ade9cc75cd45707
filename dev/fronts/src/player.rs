//! Plays a sequence at a door, and returns what the host heard.

use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;
use tokio::time::{Instant, timeout, timeout_at};

use crate::door::{self, Door, Host, StandingDoor};
use crate::normal::Heard;
use crate::script::{self, Beginning, FENCE, INITIALIZED, Sequence, Step};

/// What a sequence is played with.
pub(crate) struct Stage {
    pub(crate) program: PathBuf,
    pub(crate) home: PathBuf,
    pub(crate) upstream: String,
    pub(crate) door: Door,
    /// A door that stands open.
    pub(crate) standing: Option<StandingDoor>,
}

/// A host in the middle of a sequence.
struct Player<'a> {
    host: Host,
    sequence: &'a Sequence,
    /// Every message so far, but for those of the opening and of fences.
    heard: Vec<Heard>,
    /// How many answers, and how many messages of each method, the steps so far have waited for.
    claimed: HashMap<&'static str, usize>,
    fences: u64,
    /// Whether the program says no more.
    has_ended: bool,
}

/// Plays a sequence. Returns what was heard, and the door if it stands open.
pub(crate) async fn play(
    sequence: &Sequence,
    stage: Stage,
) -> Result<(Vec<Heard>, Option<StandingDoor>)> {
    let Stage { program, home, upstream, door, standing } = stage;
    let revision = sequence.revision();
    let opening = door::Opening { program: &program, home, upstream, revision };
    let host = Host::open(door, opening, standing).await?;
    let (heard, claimed) = (Vec::new(), HashMap::new());
    let mut player = Player { host, sequence, heard, claimed, fences: 0, has_ended: false };
    player.open().await?;
    for step in &sequence.steps {
        player.take(step).await?;
    }
    player.settle().await?;
    let Player { host, heard, .. } = player;
    Ok((heard, host.end().await?))
}

impl Player<'_> {
    async fn open(&mut self) -> Result<()> {
        let Beginning::Session { revision, capabilities } = self.sequence.beginning else {
            return Ok(());
        };
        let greeting = script::initialize(r#""greeting""#, revision, capabilities);
        self.host.write(greeting.as_bytes()).await?;
        let greeted = timeout(OPENING, self.host.next()).await.context("no greeting in time")?;
        let greeted = greeted.context("the door ended before it greeted")?;
        if !greeted.contains("protocolVersion") {
            bail!("the door refused the greeting: {greeted}");
        }
        self.host.write(INITIALIZED.as_bytes()).await
    }

    async fn take(&mut self, step: &Step) -> Result<()> {
        match step {
            Step::Answer(result) => {
                let question = self.heard.iter().rev().find_map(Heard::question);
                let Some(id) = question else { return Ok(()) };
                let answer = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
                self.host.write(answer.as_bytes()).await
            }
            Step::Cancel(id) => self.host.cancel(id, self.sequence.is_stateless()).await,
            Step::Kept(bytes) => {
                let is_kept = self.heard.iter().any(|it| it.text().contains(bytes));
                self.heard.push(Heard::noted(if is_kept { "bytes kept" } else { "bytes changed" }));
                Ok(())
            }
            Step::Settle => self.settle().await,
            Step::Until(method) => self.until(method, 1, Heard::is_of).await,
            Step::UntilAnswered(count) => {
                let before = self.heard.len();
                self.until(ANSWER, *count, |heard, _| heard.is_answer()).await?;
                if *count > 1 {
                    // Members of a batch are answered in any order.
                    self.heard[before..].sort_by(|one, other| one.text().cmp(other.text()));
                }
                Ok(())
            }
            Step::UntilEnd => self.until_end().await,
            Step::Write(line) => {
                let line = self.filled(line);
                self.host.write(&line).await
            }
            Step::WriteLast(line) => self.host.write_last(line).await,
        }
    }

    /// Reads until `count` more messages came that are wanted, or until the door has had its time.
    async fn until(
        &mut self,
        what: &'static str,
        count: usize,
        is_wanted: impl Fn(&Heard, &str) -> bool,
    ) -> Result<()> {
        let claimed = self.claimed.entry(what).or_default();
        *claimed += count;
        let wanted = *claimed;
        let came = |heard: &[Heard]| heard.iter().filter(|it| is_wanted(it, what)).count();
        let until = Instant::now() + PATIENCE;
        while came(&self.heard) < wanted && !self.has_ended {
            match timeout_at(until, self.host.next()).await {
                Ok(message) => self.hear(message).await?,
                // On a busy machine a message is late, and so is the fence behind it.
                Err(_) => {
                    self.settle().await?;
                    break;
                }
            }
        }
        // What did not come is not waited for again.
        self.claimed.insert(what, came(&self.heard).min(wanted));
        Ok(())
    }

    /// Makes two calls one after the other: when the second is answered, what came before has been handled.
    async fn settle(&mut self) -> Result<()> {
        for _ in 0..2 {
            let is_stateless = self.sequence.is_stateless();
            if self.has_ended || !self.host.can_call(is_stateless) {
                return Ok(());
            }
            self.fences += 1;
            let fence = script::fence(self.fences, is_stateless);
            self.host.write(fence.as_bytes()).await?;
            let answer = format!("{FENCE}{}\"", self.fences);
            let until = Instant::now() + FENCE_PATIENCE;
            loop {
                match timeout_at(until, self.host.next()).await {
                    Ok(Some(message)) if message.contains(&answer) => break,
                    Ok(None) => {
                        return self.hear(None).await;
                    }
                    Ok(message) => self.hear(message).await?,
                    Err(_) => {
                        self.heard.push(Heard::noted("no answer to anything"));
                        self.has_ended = true;
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }

    async fn until_end(&mut self) -> Result<()> {
        self.host.finish().await?;
        while !self.has_ended {
            match timeout(END, self.host.next()).await {
                Ok(None) => self.has_ended = true,
                Ok(message) => self.hear(message).await?,
                Err(_) => {
                    self.heard.push(Heard::noted("no end"));
                    self.has_ended = true;
                }
            }
        }
        Ok(())
    }

    async fn hear(&mut self, message: Option<String>) -> Result<()> {
        match message.map(Heard::message) {
            // A host answers every ping.
            Some(ping) if ping.is_of("ping") => {
                let Some(id) = ping.question() else { return Ok(()) };
                let answer = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#);
                self.host.write(answer.as_bytes()).await?;
            }
            Some(message) => self.heard.push(message),
            None => {
                self.heard.push(Heard::noted("the end"));
                self.has_ended = true;
            }
        }
        Ok(())
    }

    /// Fills in what only the door knows: the state of a round, the key of its question, the id of a task.
    fn filled(&self, line: &[u8]) -> Vec<u8> {
        let Ok(text) = std::str::from_utf8(line) else { return line.to_vec() };
        if !text.contains("${") {
            return line.to_vec();
        }
        let results: Vec<Value> = self.heard.iter().filter_map(Heard::result).collect();
        let last = |pick: fn(&Value) -> Option<String>| results.iter().rev().find_map(pick);
        let state = last(|it| it.get("requestState").map(Value::to_string));
        let task = last(|it| it["task"]["taskId"].as_str().map(str::to_owned));
        let key = last(|it| it["inputRequests"].as_object()?.keys().next().cloned());
        let text = text.replace("${state}", &state.unwrap_or_else(|| r#""nothing""#.to_owned()));
        let text = text.replace("${task}", task.as_deref().unwrap_or("nothing"));
        text.replace("${key}", key.as_deref().unwrap_or("nothing")).into_bytes()
    }
}

const ANSWER: &str = "an answer";
const OPENING: Duration = Duration::from_secs(20);
/// How long a message is waited for before a fence decides.
const PATIENCE: Duration = Duration::from_secs(2);
const FENCE_PATIENCE: Duration = Duration::from_secs(10);
const END: Duration = Duration::from_secs(15);
