//! A login in a real Chromium: once to the page that the library serves, once pasted by hand.
//!
//! The person's program is this one, started as `log-in`: a browser that it opens by itself, or a terminal.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use ridethrough::{Client, Era};
use ridethrough_oauth::person::{Browser, Terminal};
use ridethrough_oauth::store::FileStore;
use ridethrough_oauth::{ClientBuilderExt, OAuth};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use crate::authorization::OIDC_PROVIDER;
use crate::catalog::{Installer, NPM_PINS, Package};
use crate::install::{Installed, Places};
use crate::partner::story;
use crate::process::{Process, Recipe};

const CHROMIUM: Package = Package {
    folder: "chromium",
    pins: NPM_PINS,
    name: "@sparticuz/chromium",
    installer: Installer::Npm { script: "browse.mjs", argument: None },
};

/// How the person of `log-in` logs in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum LoginBy {
    /// The program opens `$BROWSER`.
    Browser,
    /// The program shows a URL, and is told where the browser was sent.
    Terminal,
}

/// Calls a tool as a program does that a person has started, and prints its result.
pub(crate) async fn log_in(url: &str, folder: PathBuf, by: LoginBy) -> Result<bool> {
    let oauth = OAuth::new("ridethrough interop").store(FileStore::at(folder));
    let oauth = match by {
        LoginBy::Browser => oauth.person(Browser::new()),
        LoginBy::Terminal => oauth.person(Terminal::new().reading_stdin()),
    };
    let client = Client::builder(url).no_proxy().eras(Era::Legacy).oauth(oauth)?.build()?;
    let called = client.call_tool("let_in", serde_json::json!({})).await;
    let called = called.map_err(|error| anyhow::anyhow!(story(error)))?;
    println!("{}", called.text());
    // A read of stdin may still be under way, which would hold the runtime.
    std::process::exit(0)
}

/// Logs in both ways. Returns whether that succeeded, or there is no Chromium.
pub(crate) async fn run() -> Result<bool> {
    let places = Places::find()?;
    let mut recipes = Vec::new();
    for package in [OIDC_PROVIDER, CHROMIUM] {
        match places.install(package).await? {
            Installed::Ready(recipe) => recipes.push(recipe),
            Installed::Skipped(why) => return Ok(skipped(&why)),
        }
    }
    let [server, browser] = recipes.as_slice() else { bail!("two were installed") };
    let server = Recipe { log: server.folder.join("chromium.log"), ..server.clone() };
    let mut server = Process::start(server).await?;
    let visit = Visit::new(&browser.folder, server.url())?;
    for by in [LoginBy::Browser, LoginBy::Terminal] {
        let seen = timeout(LIMIT, visit.log_in(by)).await.context("it did not end in time")??;
        if let Some(why) = seen["skipped"].as_str() {
            server.kill().await?;
            return Ok(skipped(why));
        }
        println!("chromium: a login by {by:?}: yes ({})", seen["version"].as_str().unwrap_or("?"));
    }
    server.kill().await?;
    Ok(true)
}

fn skipped(why: &str) -> bool {
    println!("chromium: skipped: {why}");
    true
}

/// A Chromium, a server, and a folder for the login.
struct Visit {
    browser: PathBuf,
    folder: PathBuf,
    url: String,
}

impl Visit {
    fn new(folder: &Path, url: String) -> Result<Self> {
        let browser = folder.join("browse.mjs").canonicalize()?;
        make_executable(&browser)?;
        Ok(Self { browser, folder: folder.canonicalize()?, url })
    }

    /// Logs in, and returns what the browser saw.
    async fn log_in(&self, by: LoginBy) -> Result<Value> {
        let seen = self.folder.join("seen.json");
        let store = self.folder.join("auth");
        // A login of an earlier run would make this one needless.
        let _ = std::fs::remove_dir_all(&store);
        let _ = std::fs::remove_file(&seen);
        let mut program = self.program(by, &store).spawn().context("the program does not start")?;
        if by == LoginBy::Terminal {
            self.paste(&mut program).await?;
        }
        let output = program.wait_with_output().await?;
        let seen: Value = match std::fs::read_to_string(&seen) {
            Ok(text) => serde_json::from_str(&text)?,
            Err(_) => bail!("the browser was not opened"),
        };
        if seen["skipped"].is_string() {
            return Ok(seen);
        }
        check(by, &seen)?;
        let said = String::from_utf8_lossy(&output.stdout);
        anyhow::ensure!(said.trim() == "let in", "the program says `{said}`; Chromium saw {seen}");
        Ok(seen)
    }

    fn program(&self, by: LoginBy, store: &Path) -> Command {
        let program = std::env::current_exe().unwrap_or_default();
        let mut command = Command::new(program);
        let by = if by == LoginBy::Browser { "browser" } else { "terminal" };
        command.arg("log-in").arg(&self.url).arg(store).arg(by);
        self.surround(&mut command);
        command.env("BROWSER", &self.browser).stdin(Stdio::piped()).stdout(Stdio::piped());
        // The browser ends with its program.
        command.stderr(Stdio::piped()).kill_on_drop(true);
        command
    }

    /// Sets the browser's environment; it unpacks itself into the folder for temporary files.
    fn surround(&self, command: &mut Command) {
        command.env("INTEROP_SEEN", self.folder.join("seen.json")).env("TMPDIR", &self.folder);
    }

    /// Opens the URL of the terminal in a browser that is elsewhere, and pastes the URL that the browser was
    /// sent to.
    async fn paste(&self, program: &mut Child) -> Result<()> {
        let shown = program.stderr.take().context("no stderr")?;
        let mut lines = BufReader::new(shown).lines();
        let url = loop {
            let line = lines.next_line().await?.context("the terminal shows no URL")?;
            if let Some(url) = line.strip_prefix("  http") {
                break format!("http{url}");
            }
        };
        let mut browser = Command::new(&self.browser);
        self.surround(&mut browser);
        let ended =
            browser.arg(url).env("INTEROP_BROWSER", "elsewhere").kill_on_drop(true).status();
        ended.await.context("the browser does not start")?;
        let text = std::fs::read_to_string(self.folder.join("seen.json"))?;
        let seen: Value = serde_json::from_str(&text)?;
        let mut input = program.stdin.take().context("no stdin")?;
        match seen["url"].as_str() {
            Some(url) => input.write_all(format!("{url}\n").as_bytes()).await?,
            // The URL is not known, so the program would wait in vain.
            None => program.start_kill()?,
        }
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        Ok(())
    }
}

/// Checks what a person must see, and what no page may contain.
fn check(by: LoginBy, seen: &Value) -> Result<()> {
    if by == LoginBy::Terminal {
        anyhow::ensure!(seen["url"].is_string(), "Chromium was sent nowhere: {seen}");
        return Ok(());
    }
    let text = seen["text"].as_str().unwrap_or_default();
    anyhow::ensure!(text.starts_with("The login has arrived."), "Chromium shows {seen}");
    let header = |name: &str| seen["headers"][name].as_str().unwrap_or_default().to_owned();
    let is_plain = header("content-type").starts_with("text/plain");
    let is_private = header("cache-control") == "no-store";
    let is_unsniffed = header("x-content-type-options") == "nosniff";
    let is_sound = seen["status"] == 200 && is_plain && is_private && is_unsniffed;
    anyhow::ensure!(is_sound, "the page is not as it should be: {seen}");
    Ok(())
}

/// Makes a copy executable: it has the permissions that the system gives to a new file.
fn make_executable(path: &Path) -> Result<()> {
    let made = std::process::Command::new("chmod").arg("+x").arg(path).status()?;
    anyhow::ensure!(made.success(), "{} cannot be started", path.display());
    Ok(())
}

const LIMIT: Duration = Duration::from_secs(120);
