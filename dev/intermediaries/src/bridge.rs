//! Calls through `ridethrough bridge`, as a host does that has started it.
//!
//! The host is written by hand: lines of JSON-RPC on stdin and stdout.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

use crate::case::{Case, DEADLINE, Ended, GRACE, LIST_LIMIT};

/// The program under test, and the folder in which it keeps what it learns.
#[derive(Clone, Debug)]
pub(crate) struct BridgeProgram {
    pub(crate) path: PathBuf,
    pub(crate) home: PathBuf,
}

impl BridgeProgram {
    /// Makes the call through a bridge of its own.
    pub(crate) async fn call(&self, url: &str, case: &Case) -> Ended {
        let mut host = match timeout(DEADLINE + GRACE, Host::start(self, url)).await {
            Ok(Ok(host)) => host,
            Ok(Err(error)) => return Ended::NotMade(format!("{error:#}")),
            Err(_) => return Ended::NotMade("the bridge did not list the tools".to_owned()),
        };
        let params = json!({"name": case.tool.name(), "arguments": case.arguments()});
        let answer = timeout(DEADLINE + GRACE, host.ask("tools/call", &params)).await;
        match answer {
            Ok(Ok(answer)) => of(&answer),
            Ok(Err(error)) => Ended::NotMade(format!("{error:#}")),
            Err(_) => Ended::Hung,
        }
    }
}

/// A host and its bridge, which ends with it.
struct Host {
    _child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    last: u32,
}

impl Host {
    async fn start(program: &BridgeProgram, url: &str) -> Result<Self> {
        let mut child = command(&program.path, &program.home, url)
            .spawn()
            .with_context(|| format!("`{}` does not start", program.path.display()))?;
        let input = child.stdin.take().context("a bridge has no input")?;
        let output = child.stdout.take().context("a bridge has no output")?;
        let output = BufReader::new(output).lines();
        let mut host = Self { _child: child, input, output, last: 0 };
        let info = json!({"name": "intermediaries", "version": "1"});
        let initialize =
            json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info});
        host.ask("initialize", &initialize).await?;
        host.write(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await?;
        // A host asks again until it has the tools.
        while !host.lists().await? {}
        Ok(host)
    }

    /// Whether the tools were listed in time.
    async fn lists(&mut self) -> Result<bool> {
        match timeout(LIST_LIMIT, self.ask("tools/list", &json!({}))).await {
            Ok(answer) => Ok(!answer?["result"]["tools"].is_null()),
            Err(_) => Ok(false),
        }
    }

    async fn ask(&mut self, method: &str, params: &Value) -> Result<Value> {
        self.last += 1;
        let id = self.last;
        self.write(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
            .await?;
        loop {
            let line = self.output.next_line().await?.context("the bridge ended")?;
            let message: Value = serde_json::from_str(&line)?;
            if message["id"] == id && message["method"].is_null() {
                return Ok(message);
            }
        }
    }

    async fn write(&mut self, message: &Value) -> Result<()> {
        self.input.write_all(format!("{message}\n").as_bytes()).await?;
        Ok(self.input.flush().await?)
    }
}

fn command(program: &Path, home: &Path, url: &str) -> Command {
    let mut command = Command::new(program);
    command
        .args(["bridge", "--silent", "--timeout", &DEADLINE.as_secs().to_string(), url])
        .env("HOME", home)
        .envs(["CACHE", "CONFIG", "DATA", "STATE"].map(|it| (format!("XDG_{it}_HOME"), home)))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true);
    command
}

/// Reads what a host was told. Doubt comes as a result that models read, or as an error.
fn of(answer: &Value) -> Ended {
    let (result, error) = (&answer["result"], &answer["error"]);
    let text = result["content"][0]["text"].as_str().unwrap_or_default().to_owned();
    if !result["_meta"]["ridethrough/doubt"].is_null() {
        return Ended::Doubt(text);
    }
    if !result.is_null() {
        return Ended::Answered(text);
    }
    let said = error["message"].as_str().unwrap_or_default().to_owned();
    // An error of the server itself says nothing of it, and was made by whoever has run the tool.
    match error["data"]["mayHaveRun"].as_bool() {
        Some(false) => Ended::Refused(said),
        _ => Ended::Doubt(said),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubt_is_doubt_in_both_forms_and_only_a_denial_is_a_refusal() {
        let result = json!({"result": {"isError": true, "content": [{"text": "look"}],
            "_meta": {"ridethrough/doubt": {"attempts": 1}}}});
        let error = json!({"error": {"message": "look", "data": {"mayHaveRun": true}}});
        let denial = json!({"error": {"message": "no", "data": {"mayHaveRun": false}}});
        let foreign = json!({"error": {"message": "Internal error"}});

        assert_eq!(of(&result), Ended::Doubt("look".to_owned()));
        assert_eq!(of(&error), Ended::Doubt("look".to_owned()));
        assert_eq!(of(&denial), Ended::Refused("no".to_owned()));
        assert_eq!(of(&foreign), Ended::Doubt("Internal error".to_owned()));
    }
}
