//! The proxies of `proxies.toml`: each with the settings that its package comes with, and each as its manual
//! recommends.
//!
//! Every proxy is an ordinary process with a folder of its own, on a port that the system has given. Nothing of
//! what the package has installed is started or changed.

use std::collections::BTreeMap;
use std::fs::{File, Permissions, create_dir_all, read_to_string, set_permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::LazyLock;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use ridethrough_testkit::process::{free_port, home, signal, start};
use serde::Deserialize;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep, timeout};

/// A proxy with one configuration.
#[derive(Debug)]
pub(crate) struct Setup {
    pub(crate) kind: ProxyKind,
    pub(crate) variant: Variant,
    /// The packages of Debian that bring it.
    pub(crate) packages: Vec<String>,
    /// What stands in place of each name of the files.
    with: BTreeMap<String, String>,
}

/// How a proxy is configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Variant {
    /// With nothing but what makes it a reverse proxy.
    Defaults,
    /// With health checks and retries as its manual recommends.
    Manual,
    /// With something that makes a status of its own after the call was forwarded.
    Named(String),
}

/// One proxy of `proxies.toml`, which says what the fields mean.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ProxyKind {
    pub(crate) name: String,
    packages: Vec<String>,
    program: PathBuf,
    arguments: Vec<String>,
    #[serde(default)]
    as_root: String,
    #[serde(default)]
    folders: Vec<String>,
    #[serde(default)]
    copies: BTreeMap<String, PathBuf>,
    files: BTreeMap<String, String>,
    setup: Vec<WrittenSetup>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenSetup {
    of: String,
    #[serde(default)]
    packages: Vec<String>,
    #[serde(default)]
    with: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct Proxies {
    proxy: Vec<ProxyKind>,
}

/// A running proxy. Dropping it ends its process and those that it started.
#[derive(Debug)]
pub(crate) struct Proxy {
    port: u16,
    child: Child,
}

/// Returns every setup, in the order of the report.
pub(crate) fn all() -> impl Iterator<Item = &'static Setup> {
    static ALL: LazyLock<Vec<Setup>> = LazyLock::new(|| {
        let read: Proxies = toml::from_str(PROXIES).expect("a test reads it");
        read.proxy.into_iter().flat_map(setups).collect()
    });
    ALL.iter()
}

fn setups(kind: ProxyKind) -> Vec<Setup> {
    let names = kind.setup.iter().flat_map(|it| it.with.keys().cloned());
    let nothing: BTreeMap<_, _> = names.map(|name| (name, String::new())).collect();
    let setup = |WrittenSetup { of, packages, with }| {
        let variant = match &*of {
            "defaults" => Variant::Defaults,
            "manual" => Variant::Manual,
            _ => Variant::Named(of),
        };
        let packages = [kind.packages.clone(), packages].concat();
        let with = nothing.clone().into_iter().chain(with).collect();
        Setup { kind: kind.clone(), variant, packages, with }
    };
    kind.setup.clone().into_iter().map(setup).collect()
}

impl Setup {
    /// Returns the name of the proxy with that of its configuration.
    pub(crate) fn label(&self) -> String {
        let name = &self.kind.name;
        match &self.variant {
            Variant::Defaults => name.clone(),
            Variant::Manual => format!("{name}, by its manual"),
            Variant::Named(variant) => format!("{name}, {variant}"),
        }
    }

    pub(crate) fn is_installed(&self) -> bool {
        self.kind.program.exists()
    }

    /// Starts it in front of a backend, and waits until it forwards requests.
    pub(crate) async fn start(&self, folder: PathBuf, backend: u16) -> Result<Proxy> {
        let port = free_port()?;
        let arguments = self.configure(&folder, port, backend)?;
        let log = folder.join("output.log");
        let output = File::create(&log)?;
        let mut command = Command::new(&self.kind.program);
        command.args(arguments).current_dir(&folder).envs(home(&folder)).process_group(0);
        let child = start(&mut command, Stdio::null(), output.try_clone()?.into(), output.into())?;
        let mut proxy = Proxy { port, child };
        if let Err(error) = proxy.ready().await {
            // The folder goes with the run.
            let said = read_to_string(&log).unwrap_or_default();
            let said = said.lines().last().unwrap_or_default();
            return Err(error).context(format!("{} is not ready: {said}", self.label()));
        }
        Ok(proxy)
    }

    /// Writes all files, and returns the arguments.
    fn configure(&self, folder: &Path, front: u16, backend: u16) -> Result<Vec<String>> {
        let ProxyKind { arguments, as_root, folders, copies, files, .. } = &self.kind;
        let user = if is_root() { as_root.as_str() } else { "" };
        let site = [
            ("front", front.to_string()),
            ("backend", backend.to_string()),
            ("folder", folder.display().to_string()),
            ("user", user.to_owned()),
        ];
        let filled = |text: &str| {
            // What stands in place of a name may have names itself.
            let with = self.with.iter().chain(&self.with);
            let text = with.fold(text.to_owned(), |text, (name, it)| put(&text, name, it));
            site.iter().fold(text, |text, (name, it)| put(&text, name, it))
        };
        make_folder(folder)?;
        folders.iter().try_for_each(|it| make_folder(&folder.join(it)))?;
        let mut texts: BTreeMap<_, _> = files.iter().map(|(it, text)| (it, filled(text))).collect();
        for (name, from) in copies {
            let copy = read_to_string(from).with_context(|| from.display().to_string())?;
            let text = texts.entry(name).or_insert_with(|| "@copy@".to_owned());
            *text = put(text, "copy", &copy);
        }
        for (name, text) in texts {
            let path = folder.join(name);
            path.parent().map_or(Ok(()), make_folder)?;
            std::fs::write(&path, text).with_context(|| path.display().to_string())?;
        }
        Ok(arguments.iter().map(|it| filled(it)).collect())
    }
}

fn put(text: &str, name: &str, value: &str) -> String {
    text.replace(&format!("@{name}@"), value)
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
        signal("TERM", &format!("-{id}"));
        let asked = std::time::Instant::now();
        while asked.elapsed() < END_LIMIT && matches!(self.child.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(5));
        }
        signal("KILL", &format!("-{id}"));
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

/// Makes a folder which the user can use that a proxy of root changes to.
fn make_folder(folder: &Path) -> Result<()> {
    create_dir_all(folder).with_context(|| folder.display().to_string())?;
    Ok(set_permissions(folder, Permissions::from_mode(0o777))?)
}

pub(crate) fn is_root() -> bool {
    let id = std::process::Command::new("id").arg("-u").output();
    id.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

const PROXIES: &str = include_str!("../proxies.toml");
const HEALTH: &str = "GET /health HTTP/1.1\r\nhost: localhost\r\nuser-agent: intermediaries\r\naccept: */*\r\nconnection: close\r\n\r\n";
const READY_LIMIT: Duration = Duration::from_secs(20);
const END_LIMIT: Duration = Duration::from_millis(500);

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn nine_proxies_are_read_in_23_setups_each_with_a_label_of_its_own() {
        let labels: BTreeSet<_> = all().map(Setup::label).collect();
        let kinds: BTreeSet<_> = all().map(|it| &it.kind.name).collect();

        assert_eq!((kinds.len(), labels.len(), all().count()), (9, 23, 23));
    }
}
