//! The login of a client: how it gets a token, and a better one.
//!
//! The correct habits: one login for all calls, a refresh before a login, the refresh token again after a
//! failure that says nothing about it, and every secret to its issuer only. The login outlives the client, as
//! one in a file would.

use std::sync::Mutex;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::mistake::{Habit, Mistake};
use super::target::Target;
use crate::http1_client::Dialer;
use crate::lock::lock;

mod fetch;
mod find;
mod page;
mod tokens;

use find::Document;
use tokens::{TokenQuestion, TokenTrouble};

pub(super) struct WrongLogin {
    mistake: Mistake,
    dial: Dialer,
    server: Target,
    /// How long the person has.
    within: Duration,
    held: Mutex<Held>,
    /// Held while a token is asked for, so that only one caller does it.
    turn: tokio::sync::Mutex<()>,
}

/// The tokens that a login has brought.
#[derive(Clone, Default)]
struct Held {
    document: Option<Document>,
    client: Option<String>,
    access: Option<String>,
    refresh: Option<String>,
    scope: String,
    /// When a login failed, and why.
    failed: Option<(Instant, String)>,
    /// How many logins were begun; names contain this number.
    begun: u64,
}

/// The answer of a server to a request that it refused for want of a better token.
pub(super) struct Challenge<'a> {
    /// The token that was refused.
    pub(super) used: Option<String>,
    /// The header `WWW-Authenticate`.
    pub(super) header: &'a str,
}

impl WrongLogin {
    pub(super) fn new(mistake: Mistake, dial: Dialer, server: Target, within: Duration) -> Self {
        let (held, turn) = (Mutex::default(), tokio::sync::Mutex::default());
        Self { mistake, dial, server, within, held, turn }
    }

    pub(super) fn access(&self) -> Option<String> {
        lock(&self.held).access.clone()
    }

    fn has(&self, habit: Habit) -> bool {
        self.mistake.has(habit)
    }

    fn held(&self) -> Held {
        lock(&self.held).clone()
    }

    /// Refreshes a token that has ended by its own times, where that is the habit.
    pub(super) async fn before_request(&self) {
        let is_over = self.access().is_some_and(|token| tokens::is_over_by_its_times(&token));
        if is_over && self.has(Habit::BelievesTokenTimes) {
            // The request is sent even if this fails.
            drop(self.refresh().await);
        }
    }

    /// Gets a better token than the one that was refused.
    pub(super) async fn better(&self, challenge: &Challenge<'_>) -> Result<(), String> {
        let is_alone = self.has(Habit::RefreshesPerCall);
        let _turn = if is_alone { None } else { Some(self.turn.lock().await) };
        if self.access() != challenge.used && !is_alone {
            return Ok(());
        }
        let more = find::parameter(challenge.header, "scope");
        let more = more.filter(|_| challenge.header.contains("insufficient_scope"));
        if more.is_none() && self.held().refresh.is_some() && !self.has(Habit::NeverRefreshes) {
            match self.refreshed().await {
                Ok(()) => return Ok(()),
                Err(TokenTrouble::Dead(why)) if self.has(Habit::InsistsOnGrant) => return Err(why),
                Err(TokenTrouble::Failed(why)) if !self.has(Habit::LogsInOnTrouble) => {
                    return Err(why);
                }
                Err(TokenTrouble::ClientDead(why)) if self.has(Habit::KeepsDeadClient) => {
                    return Err(why);
                }
                Err(TokenTrouble::ClientDead(_)) => lock(&self.held).client = None,
                Err(TokenTrouble::Dead(_) | TokenTrouble::Failed(_)) => {}
            }
            lock(&self.held).refresh = None;
        }
        self.log_in(challenge.header, more.as_deref()).await
    }

    /// Sends the refresh token, and again after failures that do not end it.
    async fn refreshed(&self) -> Result<(), TokenTrouble> {
        let mut tries = 0;
        loop {
            tries += 1;
            match self.refresh().await {
                Err(TokenTrouble::Failed(_))
                    if tries < MOST_REFRESHES && !self.has(Habit::LogsInOnTrouble) =>
                {
                    sleep(REFRESH_PAUSE).await;
                }
                end => return end,
            }
        }
    }

    async fn refresh(&self) -> Result<(), TokenTrouble> {
        let Held { document, client, refresh, .. } = self.held();
        let (Some(mut document), Some(client), Some(refresh)) = (document, client, refresh) else {
            return Err(TokenTrouble::Dead("there is no refresh token".to_owned()));
        };
        let is_led = self.has(Habit::TakesSecretsAlong) || self.has(Habit::FetchesEndpointsAnew);
        if is_led {
            document = self.find("").await.map_err(TokenTrouble::Failed)?.0;
        }
        let asked = TokenQuestion {
            url: document.token.clone(),
            form: vec![
                ("grant_type", "refresh_token".to_owned()),
                ("refresh_token", refresh),
                ("client_id", client),
                ("resource", self.resource()),
            ],
        };
        self.ask_for_tokens(asked).await
    }

    async fn log_in(&self, header: &str, more: Option<&str>) -> Result<(), String> {
        let failed = self.held().failed.filter(|(at, _)| at.elapsed() < PATIENCE_OF_PEOPLE);
        if let Some((_, why)) = failed.filter(|_| !self.has(Habit::AsksAgain)) {
            return Err(why);
        }
        let done = self.log_in_once(header, more).await;
        let done = match done {
            Err(TokenTrouble::ClientDead(_)) if !self.has(Habit::KeepsDeadClient) => {
                lock(&self.held).client = None;
                self.log_in_once(header, more).await
            }
            done => done,
        };
        done.map_err(|trouble| {
            let why = trouble.into_text();
            lock(&self.held).failed = Some((Instant::now(), why.clone()));
            why
        })
    }

    async fn log_in_once(&self, header: &str, more: Option<&str>) -> Result<(), TokenTrouble> {
        let (document, offered) = self.find(header).await.map_err(TokenTrouble::Failed)?;
        {
            let mut held = lock(&self.held);
            let is_moved = held.document.as_ref().is_some_and(|it| it.issuer != document.issuer);
            if is_moved && !self.has(Habit::TakesSecretsAlong) {
                *held = Held { begun: held.begun, ..Held::default() };
            }
            held.document = Some(document.clone());
            held.begun += 1;
        }
        let scope = match more {
            Some(more) if self.has(Habit::DropsScopes) => more.to_owned(),
            Some(more) => union(&self.held().scope, more),
            None => offered,
        };
        let client = self.client(&document).await?;
        let asked = self.authorize(&document, &client, &scope).await?;
        self.ask_for_tokens(asked).await?;
        lock(&self.held).scope = scope;
        Ok(())
    }

    /// Returns the URL of the MCP server.
    fn resource(&self) -> String {
        format!("http://{}{}", self.server.authority, self.server.path)
    }
}

fn union(held: &str, more: &str) -> String {
    let more = more.split(' ').filter(|it| !held.split(' ').any(|held| held == *it));
    let all: Vec<_> = held.split(' ').filter(|it| !it.is_empty()).chain(more).collect();
    all.join(" ")
}

const MOST_REFRESHES: u32 = 4;
const REFRESH_PAUSE: Duration = Duration::from_millis(300);
/// How long after a failed login the person is not asked again.
const PATIENCE_OF_PEOPLE: Duration = Duration::from_secs(60);
/// The address that browsers are sent back to. No program listens there: the client reads where its browser
/// is sent.
const REDIRECT_URI: &str = "http://127.0.0.1:9/callback";
