//! The servers of one scenario, ready for a client.
//!
//! A stage turns a scenario into servers and rules, and keeps what they saw. It knows nothing of clients: any
//! client with the URL, or the pipes, may connect.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::issuer::{AddressBook, Addresses, Extent, Guard, IssuedSecret, Issuer, Issues, Vault};
use crate::journal::{Happened, Journal, Which, millis};
use crate::lock::lock;
use crate::scenario::{EraTurn, Rule, Scenario, Setting, Way};
use crate::{Ask, Entry, Mark, Mcp, Mood, OldMcp, Pipe, Protocol, Server, Spoken, When};

mod fill;
mod gzip;
mod play;

use fill::Blanks;

/// The servers of one scenario. They run until [`close`](Self::close) or the end of the runtime.
#[derive(Debug)]
pub struct Stage {
    main: Place,
    other: Option<Place>,
    issuer: Option<Place>,
}

/// How a stage can be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StageTransport {
    /// Through pipes only, see [`Stage::dial`].
    Pipes,
    /// Through sockets on 127.0.0.1: this port, or any if it is 0. A second server gets any port.
    Sockets(u16),
}

/// One server, and what its rules need.
#[derive(Clone, Debug)]
struct Place {
    which: Which,
    server: Server,
    mcp: Mcp,
    url: String,
    addresses: AddressBook,
    /// The secrets and tokens that all authorization servers of the stage have issued.
    vault: Vault,
    up_after: Option<Duration>,
    turns: Vec<EraTurn>,
    events: Arc<Mutex<Vec<Happened>>>,
    /// Events that happen later by themselves; they end with the stage.
    timers: Arc<Mutex<JoinSet<()>>>,
    /// The request of the stream that is resumed, by event id.
    threads: Arc<Mutex<HashMap<String, Blanks>>>,
}

/// The log of the servers of one stage.
struct Log {
    /// The zero of every time, for all servers.
    opened: Instant,
    events: Arc<Mutex<Vec<Happened>>>,
    addresses: AddressBook,
    vault: Vault,
}

/// What one server saw and did, as far as it is judged.
pub(crate) struct Account {
    pub(crate) which: Which,
    pub(crate) origin: String,
    pub(crate) log: Vec<Entry>,
    pub(crate) marks: Vec<Mark>,
}

impl Stage {
    /// Creates the servers. Those that do not start as up stay shut until [`begin`](Self::begin).
    ///
    /// # Errors
    ///
    /// Fails if the system has no free port.
    pub async fn open(scenario: &Scenario, transport: StageTransport) -> io::Result<Self> {
        let log = Log {
            opened: Instant::now(),
            events: Arc::default(),
            addresses: AddressBook::default(),
            vault: Vault::default(),
        };
        let any =
            if transport == StageTransport::Pipes { transport } else { StageTransport::Sockets(0) };
        let other = Place::open_if(Which::Other, scenario.other.as_ref(), any, &log).await?;
        let issuer = Place::open_if(Which::Issuer, scenario.issuer.as_ref(), any, &log).await?;
        let main = Place::open(Which::Main, &scenario.server, transport, &log).await?;
        let url = |place: &Option<Place>| place.as_ref().map(|it| it.url.clone());
        let addresses = Addresses {
            main: main.url.clone(),
            other: url(&other).unwrap_or_default(),
            issuer: issuer.as_ref().map(|it| it.origin().to_owned()).unwrap_or_default(),
        };
        // The cell is filled here and nowhere else.
        let _ = log.addresses.set(addresses);
        Ok(Self { main, other, issuer })
    }

    /// Returns the URL for the client.
    pub fn url(&self) -> &str {
        &self.main.url
    }

    /// Starts the clock of the scenario when the client starts: times after the start are counted from here.
    pub fn begin(&self) {
        for place in self.places() {
            place.begin();
        }
    }

    /// Connects through a pipe to the server of this name and port.
    ///
    /// # Errors
    ///
    /// Fails with `ConnectionRefused` while that server is down, and for an unknown name.
    pub async fn dial(&self, authority: &str) -> io::Result<Pipe> {
        let place = self.places().find(|place| place.authority() == authority);
        match place {
            Some(place) => place.server.dial().await,
            None => Err(io::ErrorKind::ConnectionRefused.into()),
        }
    }

    /// Returns this moment on the clock of the journal.
    pub(crate) fn at_ms(&self, moment: Instant) -> f64 {
        millis(self.main.mcp.age(moment))
    }

    /// Returns everything that the servers saw and did so far.
    pub fn journal(&self) -> Journal {
        let mut journal = Journal { events: lock(&self.main.events).clone(), ..Journal::default() };
        for place in self.places() {
            journal.add(place.which, &place.server, &place.mcp);
        }
        journal
    }

    pub(crate) fn account(&self, which: Which) -> Account {
        let place = self.places().find(|place| place.which == which);
        let (log, marks) = place.map(|it| (it.mcp.log(), it.mcp.marks())).unwrap_or_default();
        let place = self.places().find(|place| place.which == which);
        let origin = place.map(|it| it.origin().to_owned()).unwrap_or_default();
        Account { which, origin, log, marks }
    }

    /// Returns everything that was issued here and must be kept secret.
    pub(crate) fn secrets(&self) -> Vec<IssuedSecret> {
        self.main.vault.secrets()
    }

    /// Ends the servers: every connection is reset, and nothing happens any more.
    pub async fn close(&self) {
        for place in self.places() {
            // Handlers first, because they could start more; and again, in case a server restarted meanwhile.
            place.server.kill().await;
            let mut timers = std::mem::take(&mut *lock(&place.timers));
            timers.shutdown().await;
            place.server.kill().await;
            // Rules hold their place, which holds the rules: a cycle that would never be freed.
            place.mcp.clear_rules();
        }
    }

    fn places(&self) -> impl Iterator<Item = &Place> {
        std::iter::once(&self.main).chain(&self.other).chain(&self.issuer)
    }
}

impl Place {
    async fn open_if(
        which: Which,
        setting: Option<&Setting>,
        transport: StageTransport,
        log: &Log,
    ) -> io::Result<Option<Self>> {
        match setting {
            Some(setting) => Self::open(which, setting, transport, log).await.map(Some),
            None => Ok(None),
        }
    }

    async fn open(
        which: Which,
        setting: &Setting,
        transport: StageTransport,
        log: &Log,
    ) -> io::Result<Self> {
        let (mcp, server) = server(setting.way, log.opened);
        server.set_mood(setting.starts);
        let authority = match transport {
            StageTransport::Pipes => pipe_name(which).to_owned(),
            StageTransport::Sockets(port) => server.listen_at(port).await?.to_string(),
        };
        let url = format!("http://{authority}/mcp");
        let up_after = setting.up_after.map(Duration::from_secs_f64);
        let place = Self {
            which,
            server,
            mcp,
            url,
            addresses: log.addresses.clone(),
            vault: log.vault.clone(),
            up_after,
            turns: setting.turn.clone(),
            events: log.events.clone(),
            timers: Arc::default(),
            threads: Arc::default(),
        };
        place.furnish(setting);
        Ok(place)
    }

    /// Applies the settings to the server.
    fn furnish(&self, setting: &Setting) {
        self.mcp.speaks(setting.era);
        for inquiry in &setting.inquiry {
            self.mcp.asks_for_input(&inquiry.tool, inquiry.rounds.clone());
        }
        self.mcp.answers(setting.answers);
        self.mcp.issue_sessions(!setting.sessionless);
        self.mcp.replicas(setting.replicas.unwrap_or(1));
        self.mcp.require_bearer(setting.bearer.as_deref());
        self.guard(setting);
        if let Some(tools) = &setting.tools {
            self.mcp.tools(Value::from(tools.clone()));
        }
        if let Some(lost) = &setting.lost_session {
            self.mcp.lost_session(lost.status, lost.body.clone());
        }
        for rule in &setting.rule {
            self.add(rule.clone());
        }
    }

    /// Makes it an authorization server, or a server that wants tokens of one.
    fn guard(&self, setting: &Setting) {
        let (vault, addresses) = (self.vault.clone(), self.addresses.clone());
        if setting.guards != Extent::Nothing {
            let scope_of = setting.scope_of.clone().into_iter().collect();
            self.mcp.guard_by(Guard { vault, addresses, extent: setting.guards, scope_of });
        }
        let issues = setting.issues.clone();
        let issues = issues.or_else(|| (self.which == Which::Issuer).then(Issues::default));
        if let Some(issues) = issues.map(Arc::new) {
            let (origin, vault) = (self.origin().to_owned(), self.vault.clone());
            self.mcp.issue_tokens(Issuer { origin, issues, vault });
        }
    }

    fn add(&self, rule: Rule) {
        let share = rule.share();
        let Rule { when, acts, .. } = rule;
        let (acts, place) = (Arc::<[_]>::from(acts), self.clone());
        let when = When::matches(move |entry| when.holds(entry));
        self.mcp.rule(when, share, move |ask: Ask| -> BoxFuture<'static, ()> {
            Box::pin(play::play(ask, acts.clone(), place.clone()))
        });
    }

    fn begin(&self) {
        if let Some(wait) = self.up_after {
            self.later(wait, |place| async move { place.be(Mood::Up) });
        }
        for EraTurn { after, era } in self.turns.iter().copied() {
            let after = Duration::from_secs_f64(after);
            self.later(after, move |place| async move { place.speak(era) });
        }
    }

    /// Changes the eras that the server speaks, and logs it.
    fn speak(&self, era: Spoken) {
        self.mcp.speaks(era);
        self.tell(match era {
            Spoken::Both => "speaks both eras",
            Spoken::Legacy => "speaks the legacy era",
            Spoken::Modern => "speaks the stateless revision",
        });
    }

    /// Does something after a while, unless the stage is closed before.
    fn later<Doing>(&self, wait: Duration, act: impl FnOnce(Self) -> Doing + Send + 'static)
    where
        Doing: Future<Output = ()> + Send + 'static,
    {
        let place = self.clone();
        lock(&self.timers).spawn(async move {
            tokio::time::sleep(wait).await;
            act(place).await;
        });
    }

    /// Changes how new connections are treated, and logs it.
    fn be(&self, mood: Mood) {
        self.server.set_mood(mood);
        self.tell(match mood {
            Mood::BlackHole => "black hole",
            Mood::CloseOnAccept => "closes what connects",
            Mood::Down => "down",
            Mood::ResetOnAccept => "resets what connects",
            Mood::Up => "up",
        });
    }

    fn tell(&self, what: &str) {
        let at_ms = millis(self.mcp.age(Instant::now()));
        let event = Happened { at_ms, server: self.which, what: what.to_owned() };
        lock(&self.events).push(event);
    }

    fn origin(&self) -> &str {
        self.url.trim_end_matches("/mcp")
    }

    fn authority(&self) -> &str {
        self.url.trim_start_matches("http://").trim_end_matches("/mcp")
    }
}

/// Returns a server with this transport, whose times are counted from this moment.
fn server(way: Way, opened: Instant) -> (Mcp, Server) {
    let mcp = Mcp::counting_from(opened);
    let server = match way {
        Way::HttpSse => Server::new(Protocol::Http1, OldMcp::around(mcp.clone())),
        Way::StreamableHttp => Server::new(Protocol::Http1, mcp.clone()),
    };
    (mcp, server)
}

/// Returns the name of a server behind pipes: one on this machine, because no client logs in over plain HTTP
/// anywhere else.
const fn pipe_name(which: Which) -> &'static str {
    match which {
        Which::Main => "127.0.0.1:81",
        Which::Other => "127.0.0.1:82",
        Which::Issuer => "127.0.0.1:83",
    }
}

#[cfg(test)]
mod tests;
