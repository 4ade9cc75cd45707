//! The proxies: each with the settings that its package comes with, and each as its manual recommends.
//!
//! Every proxy is an ordinary process with a folder of its own, on a port that the system has given. Nothing of
//! what the package has installed is started or changed.

mod apache;
mod caddy;
mod h2o;
mod haproxy;
mod lighttpd;
mod nginx;
mod squid;
mod trafficserver;
mod varnish;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep, timeout};

/// A proxy with one configuration.
#[derive(Debug)]
pub(crate) struct Setup {
    /// The proxy's name.
    pub(crate) proxy: &'static str,
    pub(crate) variant: Variant,
    /// The program, as an absolute path: a shell's `PATH` need not name the folder of daemons.
    pub(crate) program: &'static str,
    /// The packages of Debian that bring it.
    pub(crate) packages: &'static [&'static str],
    /// Writes the configuration, and returns the arguments.
    configure: fn(&Site) -> Result<Vec<String>>,
}

/// How a proxy is configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Variant {
    /// With nothing but what makes it a reverse proxy.
    Defaults,
    /// With health checks and retries as its manual recommends.
    Manual,
    /// With something that makes a status of its own after the call was forwarded.
    Named(&'static str),
}

/// Where a proxy runs, and in front of what.
#[derive(Debug)]
struct Site {
    folder: PathBuf,
    /// The port on which it listens.
    front: u16,
    /// The port of the backend.
    backend: u16,
    is_root: bool,
}

/// A running proxy. Dropping it ends its process and those that it started.
#[derive(Debug)]
pub(crate) struct Proxy {
    port: u16,
    child: Child,
}

/// Returns every setup, in the order of the report.
pub(crate) fn all() -> impl Iterator<Item = &'static Setup> {
    let proxies: [&[Setup]; 9] = [
        &varnish::SETUPS,
        &nginx::SETUPS,
        &haproxy::SETUPS,
        &apache::SETUPS,
        &caddy::SETUPS,
        &squid::SETUPS,
        &lighttpd::SETUPS,
        &h2o::SETUPS,
        &trafficserver::SETUPS,
    ];
    proxies.into_iter().flatten()
}

impl Setup {
    /// Returns the name of the proxy with that of its configuration.
    pub(crate) fn label(&self) -> String {
        match self.variant {
            Variant::Defaults => self.proxy.to_owned(),
            Variant::Manual => format!("{}, by its manual", self.proxy),
            Variant::Named(name) => format!("{}, {name}", self.proxy),
        }
    }

    pub(crate) fn is_installed(&self) -> bool {
        Path::new(self.program).exists()
    }

    /// Starts it in front of a backend, and waits until it forwards requests.
    pub(crate) async fn start(&self, folder: PathBuf, backend: u16) -> Result<Proxy> {
        make_folder(&folder)?;
        let front = free_port().await?;
        let site = Site { folder, front, backend, is_root: is_root() };
        let arguments = (self.configure)(&site)?;
        let log = site.folder.join("output.log");
        let output = File::create(&log)?;
        let child = Command::new(self.program)
            .args(arguments)
            .current_dir(&site.folder)
            .env("HOME", &site.folder)
            .env("XDG_CONFIG_HOME", &site.folder)
            .env("XDG_DATA_HOME", &site.folder)
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("`{}` does not start", self.program))?;
        let mut proxy = Proxy { port: front, child };
        if let Err(error) = proxy.ready().await {
            // The folder goes with the run.
            let said = std::fs::read_to_string(&log).unwrap_or_default();
            let said = said.lines().last().unwrap_or_default();
            return Err(error).context(format!("{} is not ready: {said}", self.label()));
        }
        Ok(proxy)
    }
}

impl Proxy {
    pub(crate) const fn port(&self) -> u16 {
        self.port
    }

    async fn ready(&mut self) -> Result<()> {
        let began = Instant::now();
        let mut last = String::new();
        while began.elapsed() < READY_LIMIT {
            if let Some(status) = self.child.try_wait()? {
                bail!("it ended with {status}");
            }
            match timeout(Duration::from_secs(2), ask(self.port, HEALTH)).await {
                Ok(Ok(answer)) if answer.contains("\"well\"") => return Ok(()),
                Ok(Ok(answer)) => last = answer.lines().next().unwrap_or_default().to_owned(),
                Ok(Err(error)) => last = error.to_string(),
                Err(_) => "no answer".clone_into(&mut last),
            }
            sleep(Duration::from_millis(50)).await;
        }
        bail!("{last}")
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let Some(id) = self.child.id() else { return };
        // The whole group, because most proxies have workers; asked first, because some clean up behind them.
        signal("-TERM", id);
        let asked = std::time::Instant::now();
        while asked.elapsed() < END_LIMIT && matches!(self.child.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(5));
        }
        signal("-KILL", id);
    }
}

/// Sends a signal to a group of processes. One that is gone already needs none.
fn signal(signal: &str, group: u32) {
    let group = format!("-{group}");
    let kill = std::process::Command::new("kill")
        .args([signal, "--", &group])
        .stderr(Stdio::null())
        .status();
    if let Err(error) = kill {
        eprintln!("the processes of group {group} could not be ended: {error}");
    }
}

/// Sends a request to a port of this machine, and returns all that comes until the other side closes.
pub(crate) async fn ask(port: u16, request: &str) -> Result<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await?;
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    // What came before a reset still counts.
    let _ = stream.read_to_end(&mut answer).await;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

/// Writes a file of the configuration, and returns its path.
fn write(site: &Site, name: &str, text: &str) -> Result<String> {
    let path = site.folder.join(name);
    if let Some(folder) = path.parent() {
        make_folder(folder)?;
    }
    std::fs::write(&path, text).with_context(|| path.display().to_string())?;
    Ok(path.display().to_string())
}

/// Makes a folder which the user can use that a proxy of root changes to.
fn make_folder(folder: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;

    std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o777))?;
    Ok(())
}

/// Returns a port that is free at the moment.
async fn free_port() -> Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0)).await?.local_addr()?.port())
}

pub(crate) fn is_root() -> bool {
    let id = std::process::Command::new("id").arg("-u").output();
    id.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

const HEALTH: &str = "GET /health HTTP/1.1\r\nhost: localhost\r\nuser-agent: intermediaries\r\naccept: */*\r\nconnection: close\r\n\r\n";

const READY_LIMIT: Duration = Duration::from_secs(20);
const END_LIMIT: Duration = Duration::from_millis(500);
