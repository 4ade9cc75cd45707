//! What a check works with: a server that all checks share, and the means to start one of its own.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ridethrough::{Client, ClientBuilder, Era};
use ridethrough_testkit::run::until;

use crate::catalog::Server;
use crate::host::{Host, HostEras, HostRecipe};
use crate::partner::{Partner, Verdict, expect, words};
use crate::process::{Process, Recipe, Setting, noted};
use crate::proxy::Proxy;
use crate::said::Said;
use crate::surface::Surface;

/// One server, ready for checks.
#[derive(Clone, Debug)]
pub(crate) struct Bench {
    pub(crate) surface: Surface,
    /// The newest era that its SDK speaks.
    pub(crate) newest: Era,
    /// The era that its clients are pinned to.
    era: Era,
    recipe: Recipe,
    port: u16,
    host: Option<HostRecipe>,
    /// The era that its hosts speak.
    host_era: Era,
    /// Idle hosts of the shared server: one for each pair of eras.
    idle: Arc<Mutex<HashMap<HostEras, Host>>>,
    /// The server's answers that were recorded.
    said: Arc<Mutex<Vec<Said>>>,
}

impl Bench {
    pub(crate) fn new(
        server: &Server,
        recipe: Recipe,
        shared: &Process,
        host: Option<HostRecipe>,
    ) -> Self {
        Self {
            surface: server.surface,
            newest: server.newest,
            era: Era::Legacy,
            recipe,
            port: shared.port(),
            host,
            host_era: Era::Legacy,
            idle: Arc::default(),
            said: Arc::default(),
        }
    }

    /// Returns a bench with clients of the stateless era.
    pub(crate) fn stateless(self) -> Self {
        Self { era: Era::Modern, ..self }
    }

    /// Returns a bench with hosts of the stateless era.
    pub(crate) fn with_stateless_hosts(self) -> Self {
        Self { host_era: Era::Modern, ..self }
    }

    /// Returns a bench whose servers are started with these settings.
    pub(crate) fn with(mut self, settings: &'static [Setting]) -> Self {
        self.recipe.settings = settings;
        self
    }

    /// Records an answer of the server, for the report.
    pub(crate) fn record(&self, when: String, answer: String) {
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        let said_so = Said { when, answer };
        if !said.contains(&said_so) {
            said.push(said_so);
        }
    }

    /// Returns all recorded answers.
    pub(crate) fn said(&self) -> Vec<Said> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns a client of the server that all checks share.
    pub(crate) fn partner(&self) -> Verdict<Partner> {
        self.partner_of(&self.url())
    }

    /// Returns a client of the server at this URL.
    pub(crate) fn partner_of(&self, url: &str) -> Verdict<Partner> {
        Partner::built(Client::builder(url).eras(self.era))
    }

    /// Returns a client that follows tasks.
    pub(crate) fn follower_of(&self, url: &str) -> Verdict<Partner> {
        Partner::built(Client::builder(url).eras(self.era).tasks())
    }

    /// Returns the first request of a client.
    pub(crate) const fn greeting(&self) -> &'static str {
        match self.era {
            Era::Legacy => r#""initialize""#,
            Era::Modern => r#""server/discover""#,
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.port)
    }

    /// Returns a proxy in front of the shared server.
    pub(crate) async fn proxy(&self) -> Verdict<Proxy> {
        Proxy::before(self.port).await.map_err(words)
    }

    /// Returns a server of the check's own, which it may kill.
    pub(crate) async fn process(&self) -> Verdict<Process> {
        Process::start(self.recipe.clone()).await.map_err(words)
    }

    /// Returns a host of the shared server: the idle one, or a new one.
    pub(crate) async fn host(&self) -> Verdict<Host> {
        let idle =
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.host_eras());
        match idle {
            Some(host) => {
                host.forget();
                Ok(host)
            }
            None => self.host_of(&self.url()).await,
        }
    }

    /// Leaves a host to the next check, because interpreters are slow to start.
    pub(crate) fn leave(&self, host: Host) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).insert(self.host_eras(), host);
    }

    /// Returns a host with a bridge to this URL.
    pub(crate) async fn host_of(&self, url: &str) -> Verdict<Host> {
        let recipe = self.host.as_ref().ok_or("there is no host of this SDK")?;
        Host::start(recipe, url, self.host_eras()).await
    }

    const fn host_eras(&self) -> HostEras {
        HostEras { host: self.host_era, server: self.era }
    }

    /// Returns a server of the check's own, which it may kill, and a client that has a session with it.
    pub(crate) async fn own(&self) -> Verdict<(Process, Partner)> {
        let process = self.process().await?;
        let partner = self.partner_of(&process.url())?;
        partner.client.connect().await.map_err(words)?;
        Ok((process, partner))
    }

    /// Returns a server of the check's own over HTTP+SSE, and a client that has a session with it.
    pub(crate) async fn old(&self) -> Verdict<(Process, Partner)> {
        let process = Process::start(self.recipe.old()).await.map_err(words)?;
        let partner = Partner::built(Client::builder(&process.old_url()))?;
        partner.client.connect().await.map_err(words)?;
        Ok((process, partner))
    }

    /// Returns a client that starts the server itself and talks to it over stdio, and the file with the
    /// server's process id.
    pub(crate) fn local(&self) -> Verdict<(Partner, PathBuf)> {
        let (command, id) = self.recipe.local();
        Ok((Partner::built(ClientBuilder::spawn(command).eras(Era::Legacy))?, id))
    }

    /// Returns the key that a check of this name writes into the ledger. It differs for each pair of eras, so
    /// that a check does not take the note of its twin for its own.
    pub(crate) fn key(&self, name: &str) -> String {
        let pair = match (self.host_era, self.era) {
            (Era::Legacy, Era::Legacy) => "",
            (Era::Legacy, Era::Modern) => "stateless-",
            (Era::Modern, Era::Legacy) => "modern-host-",
            (Era::Modern, Era::Modern) => "modern-both-",
        };
        format!("{pair}{name}")
    }

    /// Returns how often the ledger has this note about a key.
    pub(crate) fn noted(&self, what: &str, key: &str) -> usize {
        noted(&self.recipe.ledger, &format!("{what} {key}"))
    }

    /// Checks that a call with this key ran once, as far as this server can tell.
    pub(crate) fn ran_once(&self, key: &str) -> Verdict {
        let ran = self.noted("ran", key);
        expect(!self.surface.has_ledger() || ran == 1, || format!("it ran {ran} times"))
    }

    /// Waits until the ledger has this note about a key.
    pub(crate) async fn notes(&self, what: &str, key: &str) -> Verdict {
        let (within, pause) = (Duration::from_secs(3), Duration::from_millis(10));
        let is_noted = until(within, pause, || self.noted(what, key) > 0).await;
        expect(is_noted, || format!("the server did not note `{what}` within 3 s"))
    }
}
