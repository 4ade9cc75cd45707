//! A server as a process in a group of its own, so that nothing of it stays behind.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use ridethrough::Era;
use ridethrough_testkit::process::{signal, start};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep, timeout};

/// How a server is started: always in one way, so that it can restart.
#[derive(Clone, Debug)]
pub(crate) struct Recipe {
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<String>,
    pub(crate) folder: PathBuf,
    pub(crate) ledger: PathBuf,
    pub(crate) log: PathBuf,
    /// Whether it prints where it listens; otherwise its port is polled.
    pub(crate) announces: bool,
    /// The only era that it speaks, as after a rollback or a rollout.
    pub(crate) only: Option<Era>,
    /// Variables of its environment that change how it keeps sessions.
    pub(crate) settings: &'static [Setting],
}

impl Recipe {
    /// Returns the command for this server over stdin and stdout, and the file into which it writes its
    /// process id, so that it can be killed.
    pub(crate) fn local(&self) -> (ridethrough::Command, PathBuf) {
        let id = self.folder.join("stdio.pid");
        let program = self.program.display().to_string();
        // The first argument is its script, if it has one; the others are about HTTP.
        let script = self.arguments.first();
        let command = ridethrough::Command::new("sh")
            .args(["-c", r#"echo $$ > "$INTEROP_ID"; exec "$@""#, "sh"])
            .arg(program)
            .args(script)
            .arg("stdio")
            .current_dir(&self.folder)
            .env("INTEROP_ID", &id)
            .env("INTEROP_LEDGER", &self.ledger);
        (command, id)
    }

    /// Returns this server over HTTP+SSE, the transport of 2024-11-05.
    pub(crate) fn old(&self) -> Self {
        // The first argument is its script, if it has one; the others are about Streamable HTTP.
        let script = self.arguments.first().cloned();
        let arguments = script.into_iter().chain(["sse".to_owned()]).collect();
        Self { arguments, ..self.clone() }
    }

    /// Removes what an earlier run wrote, because its keys could be those of this one.
    pub(crate) fn forget(&self) -> Result<()> {
        for path in [&self.ledger, &self.log] {
            File::create(path).with_context(|| path.display().to_string())?;
        }
        Ok(())
    }
}

/// A variable of a server's environment; `dev/interop/servers/README.md` says what each means.
pub(crate) type Setting = (&'static str, &'static str);

/// A running server. Dropping it kills its whole group.
#[derive(Debug)]
pub(crate) struct Process {
    recipe: Recipe,
    child: Child,
    port: u16,
}

impl Process {
    pub(crate) async fn start(recipe: Recipe) -> Result<Self> {
        Self::start_on(recipe, free_port().await?).await
    }

    async fn start_on(recipe: Recipe, port: u16) -> Result<Self> {
        let log = File::options().create(true).append(true).open(&recipe.log)?;
        let mut command = Command::new(&recipe.program);
        command
            .args(&recipe.arguments)
            .current_dir(&recipe.folder)
            .env("PORT", port.to_string())
            .env("INTEROP_ERA", recipe.only.map(|era| format!("{era:?}")).unwrap_or_default())
            .env("INTEROP_LEDGER", &recipe.ledger)
            .envs(recipe.settings.iter().copied())
            .process_group(0);
        let child = start(&mut command, Stdio::null(), Stdio::piped(), log.into())?;
        let mut process = Self { recipe, child, port };
        let ready = timeout(READY_LIMIT, process.ready()).await;
        let log = process.recipe.log.display().to_string();
        ready.with_context(|| format!("not ready within 30 s; see {log}"))??;
        Ok(process)
    }

    /// Waits until it listens, and reads its output for as long as it lives: a full pipe would stop it.
    async fn ready(&mut self) -> Result<()> {
        let output = self.child.stdout.take().context("it has no output")?;
        let mut lines = BufReader::new(output).lines();
        while self.recipe.announces {
            let Some(line) = lines.next_line().await? else {
                bail!("it ended; see {}", self.recipe.log.display());
            };
            if let Some(port) = announced(&line) {
                self.port = port;
                break;
            }
        }
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        while TcpStream::connect(("127.0.0.1", self.port)).await.is_err() {
            if let Some(status) = self.child.try_wait()? {
                bail!("it ended with {status}; see {}", self.recipe.log.display());
            }
            sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }

    pub(crate) const fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.port)
    }

    /// Returns the URL of the stream of a server that was started by [`Recipe::old`].
    pub(crate) fn old_url(&self) -> String {
        format!("http://127.0.0.1:{}/sse", self.port)
    }

    /// Kills it by `kill -9`, and waits for its end.
    pub(crate) async fn kill(&mut self) -> Result<()> {
        self.signal("KILL");
        self.child.wait().await?;
        Ok(())
    }

    /// Asks it to end, and returns whether it did within 5 s.
    pub(crate) async fn terminate(&mut self) -> Result<bool> {
        self.signal("TERM");
        let ended = timeout(Duration::from_secs(5), self.child.wait()).await.is_ok();
        if !ended {
            self.kill().await?;
        }
        Ok(ended)
    }

    /// Restarts it on its port, as a release that speaks this era only.
    pub(crate) async fn come_back_as(&mut self, era: Era) -> Result<()> {
        self.recipe.only = Some(era);
        self.come_back().await
    }

    /// Restarts it on its port.
    pub(crate) async fn come_back(&mut self) -> Result<()> {
        let began = Instant::now();
        loop {
            match Self::start_on(self.recipe.clone(), self.port).await {
                Ok(process) => {
                    *self = process;
                    return Ok(());
                }
                // The port may be held by connections that are still closing.
                Err(_) if began.elapsed() < Duration::from_secs(5) => {
                    sleep(Duration::from_millis(100)).await;
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn signal(&self, name: &str) {
        if let Some(id) = self.child.id() {
            // A group that is gone already needs no signal.
            signal(name, &format!("-{id}"));
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.signal("KILL");
    }
}

/// Returns the port in `listening on http://127.0.0.1:1234/mcp`.
fn announced(line: &str) -> Option<u16> {
    let address = line.strip_prefix("listening on http://")?;
    let (_, port) = address.split_once(':')?;
    port.split('/').next()?.parse().ok()
}

/// Returns a free port that the system gives to no other socket: it is below those for sockets that name
/// none. Otherwise another socket could take it while its server is down, and the server could not come back.
async fn free_port() -> Result<u16> {
    /// The ports of this process.
    static OURS: OnceLock<Option<PortRange>> = OnceLock::new();
    /// How many of them this process has tried.
    static TRIED: AtomicU16 = AtomicU16::new(0);
    let ours = OURS.get_or_init(PortRange::take).as_ref().context("too many runs at once")?;
    for _ in 0..RANGE {
        let port = ours.first + TRIED.fetch_add(1, Ordering::Relaxed) % RANGE;
        if TcpListener::bind(("127.0.0.1", port)).await.is_ok() {
            return Ok(port);
        }
    }
    bail!("no port from {} to {} is free", ours.first, ours.first + RANGE - 1);
}

/// A range of ports that no other run has, as long as this process lives.
struct PortRange {
    first: u16,
    /// The port below the first one: while it is taken, so is the range.
    _mark: std::net::TcpListener,
}

impl PortRange {
    /// Takes a range that is free.
    fn take() -> Option<Self> {
        (0..RANGES).find_map(|range| {
            let mark = FIRST_PORT + range * (RANGE + 1);
            let bound = std::net::TcpListener::bind(("127.0.0.1", mark)).ok()?;
            Some(Self { first: mark + 1, _mark: bound })
        })
    }
}

/// The first port. Linux gives ports from 32768 on, other systems from 49152 on.
const FIRST_PORT: u16 = 20_000;
const RANGES: u16 = 12;
const RANGE: u16 = 999;

/// Returns how many lines of a ledger are exactly this.
pub(crate) fn noted(ledger: &Path, line: &str) -> usize {
    let text = std::fs::read_to_string(ledger).unwrap_or_default();
    text.lines().filter(|it| *it == line).count()
}

const READY_LIMIT: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_runs_at_once_have_different_ports() {
        let (one, two) = (PortRange::take().unwrap(), PortRange::take().unwrap());

        assert!(one.first.abs_diff(two.first) >= RANGE, "{} and {}", one.first, two.first);
    }

    #[test]
    fn a_port_is_read_from_the_line_that_announces_it() {
        assert_eq!(announced("listening on http://127.0.0.1:8123/mcp"), Some(8123));
        assert_eq!(announced("Starting Streamable HTTP server..."), None);
    }
}
