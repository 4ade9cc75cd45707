//! A proxy as a process: it prints its URL, and carries calls until it is dropped.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use ridethrough_testkit::place::beside;
use ridethrough_testkit::process;
use serde_json::{Value, json};

use crate::cost;
use crate::rivals::RivalProxy;

/// A proxy that runs until it is dropped.
pub(crate) struct Proxy {
    child: Child,
    /// What it printed first.
    pub(crate) url: String,
}

impl Proxy {
    /// Starts a proxy that does nothing but carry, in front of a server.
    pub(crate) fn floor(server: &str) -> Result<Self> {
        Self::start(Command::new(beside("floor-proxy")?).arg(server))
    }

    /// Starts our gateway in front of these servers, each a name and an entry of its config.
    pub(crate) fn gateway(home: &Path, servers: &[(String, Value)]) -> Result<Self> {
        let config: PathBuf = home.join("gateway.json");
        let servers: serde_json::Map<_, _> = servers.iter().cloned().collect();
        fs::write(&config, json!({ "servers": servers }).to_string())?;
        let mut command = Command::new(beside("ridethrough")?);
        command.args(["gateway", "--no-token", "--listen", "127.0.0.1:0", "--sessions", "20000"]);
        command.arg("--config").arg(config).envs(process::home(home));
        Self::start(&mut command)
    }

    /// Starts a program that prints its URL.
    pub(crate) fn start(command: &mut Command) -> Result<Self> {
        let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().context("the proxy cannot be started")?;
        let stdout = child.stdout.take().context("it has no stdout")?;
        let mut proxy = Self { child, url: String::new() };
        BufReader::new(stdout).read_line(&mut proxy.url)?;
        proxy.url = proxy.url.trim().to_owned();
        ensure!(proxy.url.starts_with("http://"), "it printed `{}` and no URL", proxy.url);
        Ok(proxy)
    }

    /// Starts a proxy of others in front of a server. It does not print where it listens, so it is given a port.
    pub(crate) fn rival(rival: &RivalProxy, home: &Path, server: &str) -> Result<Self> {
        let port = process::free_port()?;
        let mut command = rival.command(port, home, server)?;
        let command = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().context("the proxy cannot be started")?;
        let proxy = Self { child, url: rival.url(port) };
        let began = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            ensure!(began.elapsed() < LONGEST_START, "it does not listen");
            thread::sleep(Duration::from_millis(50));
        }
        Ok(proxy)
    }

    /// Returns the CPU time of the process and of those that it has started.
    pub(crate) fn cpu(&self) -> Result<Duration> {
        family(self.child.id()).into_iter().map(cost::cpu).sum()
    }

    /// Returns the memory of the process and of those that it has started, in bytes.
    pub(crate) fn memory(&self) -> Result<u64> {
        family(self.child.id()).into_iter().map(cost::memory).sum()
    }

    /// Returns the most memory that the process has ever had, in bytes.
    pub(crate) fn peak(&self) -> Result<u64> {
        cost::peak(self.child.id())
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        for process in family(self.child.id()).into_iter().skip(1) {
            // It may be gone already; how it ended does not matter.
            let _ = Command::new("kill").arg(process.to_string()).status();
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A process, and all that it has started and that have started others.
fn family(process: u32) -> Vec<u32> {
    let mut all = vec![process];
    let mut at = 0;
    while let Some(next) = all.get(at) {
        let children = fs::read_to_string(format!("/proc/{next}/task/{next}/children"));
        let children = children.unwrap_or_default();
        all.extend(children.split_whitespace().filter_map(|it| it.parse::<u32>().ok()));
        at += 1;
    }
    all
}

/// An interpreter and its libraries take a while.
const LONGEST_START: Duration = Duration::from_secs(30);
