//! One race: a login, processes that share it, and a killer.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use ridethrough::Client;
use ridethrough::probe::Question;
use ridethrough_oauth::person::{LoginPrompt, from_fn};
use ridethrough_oauth::store::FileStore;
use ridethrough_oauth::{Account, OAuth};
use ridethrough_testkit::place::ScratchFolder;
use ridethrough_testkit::run::until;
use tokio::time::{Instant, sleep};

use crate::authorization::{Authorization, Replay};
use crate::process::{Crew, Order};
use crate::server::{Ambush, Server};
use crate::verdict::{Facts, Way};

/// How large a race is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    pub(crate) processes: usize,
    /// Calls under way at a time, of all processes.
    pub(crate) calls: usize,
    pub(crate) time: Duration,
    pub(crate) token_life: Duration,
}

/// A race that is running.
pub(crate) struct Race {
    way: Way,
    size: Size,
    began: Instant,
    server: Server,
    crew: Crew,
    account: Account,
    folder: ScratchFolder,
    random: Random,
    /// Requests to the token endpoint after a login had ended, and before the next.
    asked_in_vain: usize,
}

impl Race {
    /// Starts the server, logs in, and starts the processes.
    pub(crate) async fn start(way: Way, size: Size) -> Result<Self> {
        let replay = if way == Way::Forgiven { Replay::Forgiven } else { Replay::EndsLogin };
        let began = Instant::now();
        let server = Server::start(Authorization::new(replay, size.token_life), began).await?;
        let folder = ScratchFolder::new("races")?;
        let logins = folder.path().join("logins");
        let account = account(&server.mcp_url(), &logins)?;
        account.log_in().await.context("the first login")?;
        let calls = size.calls / size.processes;
        let order = Order { url: server.mcp_url(), folder: logins, calls };
        let crew = Crew::new(order, began);
        for _ in 0..size.processes {
            crew.start()?;
        }
        let random = Random(0x9e37_79b9_7f4a_7c15);
        Ok(Self { way, size, began, server, crew, account, folder, random, asked_in_vain: 0 })
    }

    /// Runs it to its end.
    pub(crate) async fn run(mut self) -> Result<Facts> {
        let mut ended = 0;
        let mut told = Instant::now();
        // Without a lost answer a race with kills shows nothing.
        while self.began.elapsed() < self.size.time
            || self.way != Way::Calm
                && !self.server.has_seen_a_repetition()
                && self.began.elapsed() < self.size.time * 5
        {
            sleep(TICK).await;
            if self.server.ended() > ended {
                ended = self.server.ended();
                self.log_in_again().await?;
            }
            if self.way != Way::Calm {
                self.kill_somebody()?;
            }
            if told.elapsed() > TELL_EVERY {
                told = Instant::now();
                let (now, seen) = (self.began.elapsed().as_secs(), self.server.seen());
                let (calls, sent) = (seen.answered, seen.sent.len());
                eprintln!("{:?}: {now} s, {calls} calls, {sent} refreshes", self.way);
            }
        }
        self.server.forget_ambush();
        if self.server.ended() > ended {
            self.log_in_again().await?;
        }
        self.crew.end().await?;
        drop(self.folder);
        Ok(Facts {
            way: self.way,
            time: self.began.elapsed(),
            token_life: self.size.token_life,
            seen: self.server.seen(),
            heard: self.crew.heard(),
            killed: self.crew.killed(),
            asked_in_vain: self.asked_in_vain,
        })
    }

    /// Kills a process now and then, or has the next process killed that refreshes; killed processes are
    /// replaced.
    fn kill_somebody(&mut self) -> Result<()> {
        match self.random.below(12) {
            0 => self.server.lie_in_wait(Ambush::BeforeAnswer, &self.crew),
            1 => self.server.lie_in_wait(Ambush::AfterAnswer, &self.crew),
            2 => {
                let alive = self.crew.alive();
                let at = self.random.below(alive.len().max(1));
                alive.get(at).map(|number| self.crew.kill(*number));
            }
            _ => {}
        }
        while self.crew.alive().len() < self.size.processes {
            self.crew.start()?;
        }
        Ok(())
    }

    /// Logs in again after a login has ended, and checks that every process said so, that none asked the
    /// server again, and that all go on.
    async fn log_in_again(&mut self) -> Result<()> {
        self.server.forget_ambush();
        let before = self.crew.heard().unauthorized;
        let everybody = self.size.calls as u64 / 2;
        let heard = || self.crew.heard().unauthorized >= before + everybody;
        wait_for(heard).await.context("a login has ended, and nobody says so")?;
        let sent = self.server.seen().sent.len();
        sleep(self.size.token_life).await;
        self.asked_in_vain += self.server.seen().sent.len() - sent;
        self.account.log_in().await.context("the next login")?;
        let answered = self.server.seen().answered;
        let goes_on = || self.server.seen().answered > answered + self.size.calls as u64;
        wait_for(goes_on).await.context("after the next login nobody goes on")
    }
}

async fn wait_for(holds: impl Fn() -> bool) -> Result<()> {
    anyhow::ensure!(until(PATIENCE, TICK, holds).await, "not within {PATIENCE:?}");
    Ok(())
}

/// Returns the account of the person, who consents to everything.
fn account(url: &str, folder: &Path) -> Result<Account> {
    let oauth = OAuth::new(crate::NAME).client_id(crate::NAME).store(FileStore::at(folder)).person(
        from_fn(|prompt: &LoginPrompt| {
            let url = prompt.url.clone();
            tokio::spawn(async move {
                if let Err(error) = browse(url).await {
                    eprintln!("the browser: {error:#}");
                }
            });
        }),
    );
    Ok(oauth.account(&Client::builder(url).no_proxy())?)
}

/// Follows redirects from the authorization endpoint to the callback.
async fn browse(mut url: String) -> Result<()> {
    for _ in 0..3 {
        let probe = Client::builder(&url).no_proxy().probe()?;
        let mut line = probe.connect().await.map_err(|failure| anyhow::anyhow!("{failure}"))?;
        let found = line.ask(Question::get()).await.map_err(|it| anyhow::anyhow!("{it}"))?;
        let Some(location) = found.headers.get("location") else { return Ok(()) };
        url = location.to_str()?.to_owned();
    }
    bail!("it leads nowhere")
}

/// Random numbers that repeat from run to run; the timing of the processes does not.
struct Random(u64);

impl Random {
    /// Returns a number below `bound`.
    const fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }
}

const TICK: Duration = Duration::from_millis(100);
const TELL_EVERY: Duration = Duration::from_secs(30);
const PATIENCE: Duration = Duration::from_secs(20);
