//! A host on another SDK: a process that starts the bridge by its SDK's own stdio client, or reaches the gateway
//! by its SDK's own HTTP client. It takes orders as lines of JSON (`dev/interop/servers/README.md`); this module reads its answers.

use std::fs::File;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use ridethrough::Era;
use ridethrough_testkit::process::{signal, start};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::partner::{Verdict, expect, short, words};
use crate::surface::Question;

/// How a host is started, and what it starts.
#[derive(Clone, Debug)]
pub(crate) struct HostRecipe {
    pub(crate) program: PathBuf,
    pub(crate) script: &'static str,
    pub(crate) folder: PathBuf,
    pub(crate) log: PathBuf,
    /// The program `ridethrough`.
    pub(crate) bridge: PathBuf,
}

/// The eras on the two sides of a bridge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct HostEras {
    pub(crate) host: Era,
    pub(crate) server: Era,
}

/// A running host. Dropping it kills its whole process group, and with it the bridge.
#[derive(Debug)]
pub(crate) struct Host {
    child: Child,
    /// `None` once it was told that there are no more orders.
    writer: Option<ChildStdin>,
    said: HostLines,
    asked: u64,
    /// The file into which the bridge writes its process id.
    pub(crate) bridge_id: PathBuf,
}

impl Host {
    /// Starts a host of one era, with a bridge to this URL that is pinned to an era, and waits until the two
    /// have initialized.
    pub(crate) async fn start(recipe: &HostRecipe, url: &str, eras: HostEras) -> Verdict<Self> {
        let host = Self::spawn(recipe, url, eras).map_err(words)?;
        host.answer(0).await?;
        Ok(host)
    }

    /// Starts a host of one era that reaches this URL by itself, and offers this revision if one is given.
    pub(crate) async fn start_at(
        recipe: &HostRecipe,
        url: &str,
        era: Era,
        revision: Option<&str>,
    ) -> Verdict<Self> {
        let mut command = Command::new(&recipe.program);
        command.args([recipe.script, url]);
        command.env("INTEROP_HOST_REVISION", revision.unwrap_or_default());
        let host = Self::spawned(recipe, command, era).map_err(words)?;
        host.answer(0).await?;
        Ok(host)
    }

    fn spawn(recipe: &HostRecipe, url: &str, eras: HostEras) -> Result<Self> {
        let era = format!("{:?}", eras.server).to_lowercase();
        // SDKs pass few variables on to their children, so the file is an argument.
        let mut command = Command::new(&recipe.program);
        command
            .arg(recipe.script)
            .args(["sh", "-c", r#"echo $$ > "$0"; exec "$@""#])
            .args([&recipe.folder.join("bridge.pid"), &recipe.bridge])
            .args(["bridge", url, "--no-catalogue", "--era", &era]);
        Self::spawned(recipe, command, eras.host)
    }

    fn spawned(recipe: &HostRecipe, mut command: Command, era: Era) -> Result<Self> {
        let log = File::options().create(true).append(true).open(&recipe.log)?;
        let bridge_id = recipe.folder.join("bridge.pid");
        command.env("INTEROP_HOST_ERA", format!("{era:?}")).current_dir(&recipe.folder);
        command.process_group(0);
        let mut child = start(&mut command, Stdio::piped(), Stdio::piped(), log.into())?;
        let writer = child.stdin.take().context("it has no input")?;
        let output = child.stdout.take().context("it has no output")?;
        let said = HostLines::default();
        tokio::spawn(remember(output, said.clone()));
        Ok(Self { child, writer: Some(writer), said, asked: 0, bridge_id })
    }

    /// Sends the host an order, and returns the number of its answer.
    pub(crate) async fn begin(&mut self, mut deed: Value) -> Verdict<u64> {
        self.asked += 1;
        deed["id"] = json!(self.asked);
        let writer = self.writer.as_mut().ok_or("the host was closed")?;
        writer.write_all(format!("{deed}\n").as_bytes()).await.map_err(words)?;
        Ok(self.asked)
    }

    pub(crate) async fn begin_call(&mut self, question: &Question) -> Verdict<u64> {
        let Question { tool, arguments, .. } = question;
        self.begin(json!({ "do": "call", "tool": tool, "arguments": arguments })).await
    }

    /// Sends the host an order, and waits for its answer.
    pub(crate) async fn does(&mut self, deed: Value) -> Verdict<Value> {
        let number = self.begin(deed).await?;
        self.answer(number).await
    }

    /// Calls a tool, and checks that the answer contains what is expected.
    pub(crate) async fn calls(&mut self, question: Question) -> Verdict<String> {
        let number = self.begin_call(&question).await?;
        let result = self.answer(number).await?;
        let text = result["text"].as_str().unwrap_or_default();
        expect(result["isError"] == false && text.contains(&question.answer), || {
            format!("expected `{}`, got `{}`", question.answer, short(&result.to_string()))
        })?;
        Ok(text.to_owned())
    }

    /// Waits for the answer of this number; an error is returned in the host's own words.
    pub(crate) async fn answer(&self, number: u64) -> Verdict<Value> {
        let line = self.said(|line| line["id"] == number).await?;
        match &line["error"] {
            Value::Null => Ok(line["result"].clone()),
            error => Err(format!("the host has an error: {}", short(&error.to_string()))),
        }
    }

    /// Waits for the error of this number.
    pub(crate) async fn error(&self, number: u64) -> Verdict<Value> {
        let line = self.said(|line| line["id"] == number).await?;
        let error = line["error"].clone();
        expect(error.is_object(), || format!("no error: {}", short(&line.to_string())))?;
        Ok(error)
    }

    /// Waits for a notification of this method, and returns its parameters.
    pub(crate) async fn hears(&self, method: &str) -> Verdict<Value> {
        let line = self.said(|line| line["told"] == method).await;
        line.map(|line| line["params"].clone()).map_err(|why| format!("`{method}`: {why}"))
    }

    /// Returns the parameters of all notifications of this method so far.
    pub(crate) fn told(&self, method: &str) -> Vec<Value> {
        let lines = self.said.lines();
        let those = lines.iter().filter(|line| line["told"] == method);
        those.map(|line| line["params"].clone()).collect()
    }

    /// Forgets all lines so far.
    pub(crate) fn forget(&self) {
        self.said.lines().clear();
    }

    async fn said(&self, is_it: impl Fn(&Value) -> bool) -> Verdict<Value> {
        let hearing = async {
            loop {
                let news = self.said.news.notified();
                if let Some(line) = self.said.lines().iter().find(|line| is_it(line)) {
                    return Ok(line.clone());
                }
                if self.said.lines().last().is_some_and(|line| line["over"] == true) {
                    return Err("the host has ended; see its log".to_owned());
                }
                news.await;
            }
        };
        let heard = timeout(PATIENCE, hearing).await;
        heard.unwrap_or_else(|_| Err(format!("nothing came within {} s", PATIENCE.as_secs())))
    }

    /// Tells the host that there are no more orders, and waits for its end.
    pub(crate) async fn close(mut self) -> Verdict {
        self.writer = None;
        let ended = timeout(PATIENCE, self.child.wait()).await;
        ended.map_err(|_| "the host did not end".to_owned())?.map(drop).map_err(words)
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        if let Some(id) = self.child.id() {
            // A bridge in a group of its own ends with its stdin.
            signal("KILL", &format!("-{id}"));
        }
    }
}

/// All lines of a host.
#[derive(Clone, Debug, Default)]
struct HostLines {
    lines: Arc<Mutex<Vec<Value>>>,
    news: Arc<Notify>,
}

impl HostLines {
    fn lines(&self) -> MutexGuard<'_, Vec<Value>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, line: Value) {
        self.lines().push(line);
        self.news.notify_waiters();
    }
}

async fn remember(output: ChildStdout, said: HostLines) {
    let mut lines = BufReader::new(output).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        said.add(serde_json::from_str(&line).unwrap_or_else(|_| json!({ "no JSON": line })));
    }
    said.add(json!({ "over": true }));
}

/// How long a host may take for anything: an interpreter starts, a server restarts.
const PATIENCE: Duration = Duration::from_secs(25);
