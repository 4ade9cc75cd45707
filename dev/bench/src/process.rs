//! A bridge as a process: lines of MCP in, lines of MCP out.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::contestant::Contestant;

/// A bridge that runs until it is dropped.
pub(crate) struct Process {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    line: String,
    last: u64,
}

impl Process {
    /// Starts it, initializes it, and returns it with the time that this took.
    pub(crate) fn start(bridge: &Contestant, url: &str, home: &Path) -> Result<(Self, Duration)> {
        let program = &bridge.program;
        let began = Instant::now();
        let mut command = Command::new(program);
        command.args(&bridge.args).arg(url).env_clear().env("HOME", home);
        // Scripts find their interpreter by it.
        command.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let started = command.spawn();
        let mut child =
            started.with_context(|| format!("{} cannot be started", program.display()))?;
        let stdin = child.stdin.take().context("it has no stdin")?;
        let stdout = BufReader::new(child.stdout.take().context("it has no stdout")?);
        let mut process = Self { child, stdin, stdout, line: String::new(), last: 0 };
        process.ask("initialize", INITIALIZE)?;
        let took = began.elapsed();
        writeln!(process.stdin, r#"{{"jsonrpc":"2.0","method":"notifications/initialized"}}"#)?;
        Ok((process, took))
    }

    /// Makes one call and returns the time it took.
    pub(crate) fn call(&mut self) -> Result<Duration> {
        self.ask("tools/call", CALL)
    }

    fn ask(&mut self, method: &str, params: &str) -> Result<Duration> {
        self.last += 1;
        let id = self.last;
        let line = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":{params}}}\n"
        );
        let began = Instant::now();
        self.stdin.write_all(line.as_bytes())?;
        loop {
            self.line.clear();
            let length = self.stdout.read_line(&mut self.line)?;
            let took = began.elapsed();
            let said = self.line.trim_end();
            ensure!(length > 0, "the bridge ended at {method}");
            let answer: Answer<'_> = serde_json::from_str(said)
                .with_context(|| format!("the bridge said `{said}` to {method}"))?;
            // Some bridges send other messages in between.
            if answer.id == Some(id) {
                ensure!(answer.result.is_some(), "the bridge answered `{said}` to {method}");
                return Ok(took);
            }
        }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }
}

#[derive(Deserialize)]
struct Answer<'a> {
    id: Option<u64>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may be gone already; how it ended does not matter.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const INITIALIZE: &str = r#"{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}"#;
const CALL: &str = r#"{"name":"echo","arguments":{"msg":"0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789"}}"#;
