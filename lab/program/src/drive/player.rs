//! Plays a script on a client of ours, step by step, and reports each step's line.
//!
//! It knows neither files nor stdout: its caller provides the clients and takes the lines. Every step has
//! exactly one line, whatever becomes of it.

use std::io;
use std::time::Duration;

use futures_util::future::join_all;
use ridethrough::credentials::StaticToken;
use ridethrough::{Client, ClientBuilder};
use ridethrough_lab::adapter::{Answer, Done, Line, Outcome, Step};
use tokio::time::{Instant, sleep};

use super::ask::{self, ToolCall};
use super::ear::Ear;
use crate::login::Login;

/// Plays the steps in order. `begin` begins each client that the script asks for, with the token or login
/// that it is given; `login` is how one of them logs in. `tell` is given each line as soon as its step has
/// ended. Only `tell` can fail.
///
/// Clients that were not closed by the script are dropped at the end.
pub(crate) async fn play(
    begin: impl Fn(ScriptAccess) -> Result<ClientBuilder, String>,
    login: Login,
    script: Vec<Step>,
    mut tell: impl FnMut(Line) -> io::Result<()>,
) -> io::Result<()> {
    let mut player = DrivePlayer { begin, login, client: None, ear: Ear::default() };
    for (place, step) in script.into_iter().enumerate() {
        let began = Instant::now();
        let StepEnd { result, error } = player.play(step).await;
        let done = Done { ok: error.is_none(), result, error, elapsed_ms: millis_since(began) };
        tell(Line { step: place, done, notifications: player.ear.take() })?;
    }
    Ok(())
}

/// How a client of a script is let in by the server: by a token, by a login, or without either.
#[derive(Clone)]
pub(crate) struct ScriptAccess {
    bearer: Option<String>,
    login: Option<Login>,
}

impl ScriptAccess {
    /// Gives a client the token or the login.
    pub(crate) fn on(self, mut builder: ClientBuilder) -> Result<ClientBuilder, String> {
        if let Some(login) = self.login {
            builder = login.on(builder)?;
        }
        if let Some(token) = self.bearer {
            let token = StaticToken::new(token)
                .map_err(|error| format!("`bearer` is no token: {error}"))?;
            builder = builder.credentials(token);
        }
        Ok(builder)
    }
}

struct DrivePlayer<Begin> {
    begin: Begin,
    /// The login, whose store outlives clients.
    login: Login,
    /// The client. It stays when it could not connect: its next call tries again by itself.
    client: Option<Client>,
    ear: Ear,
}

impl<Begin: Fn(ScriptAccess) -> Result<ClientBuilder, String>> DrivePlayer<Begin> {
    async fn play(&mut self, step: Step) -> StepEnd {
        match step {
            Step::Call { tool, args, timeout_s, concurrency, cancel_after_s } => {
                let (deadline, cancel_after) = (timeout_s.map(secs), cancel_after_s.map(secs));
                let call = ToolCall { tool, args, deadline, cancel_after };
                match concurrency {
                    None => self.call(call).await,
                    Some(count) => self.call_at_once(call, count).await,
                }
            }
            Step::Close {} => self.close().await,
            Step::Initialize { bearer, login } => {
                let within = login.map(|login| secs(login.within_s));
                self.initialize(bearer, within).await
            }
            Step::Request { method, params, timeout_s } => {
                let Some(client) = self.client.clone() else { return StepEnd::not_connected() };
                let asking = ask::request(&client, method, params, timeout_s.map(secs));
                self.ear.during(asking).await.into()
            }
            Step::Sleep { s } => {
                self.ear.during(sleep(secs(s))).await;
                StepEnd::without_answer()
            }
        }
    }

    async fn initialize(&mut self, bearer: Option<String>, within: Option<Duration>) -> StepEnd {
        // The old client ends before the new one sends anything.
        self.client = None;
        let login = within.map(|within| self.login.clone().within(within));
        let made = (self.begin)(ScriptAccess { bearer, login })
            .and_then(|builder| builder.build().map_err(|error| error.to_string()));
        let client = match made {
            Ok(client) => client,
            Err(fault) => return StepEnd::failed(format!("no client was made: {fault}")),
        };
        self.ear.turn_to(&client);
        let connected = self.ear.during(ask::connect(&client)).await;
        self.client = Some(client);
        connected.into()
    }

    async fn call(&mut self, call: ToolCall) -> StepEnd {
        let Some(client) = self.client.clone() else { return StepEnd::not_connected() };
        self.ear.during(call.make(&client)).await.into()
    }

    async fn call_at_once(&mut self, call: ToolCall, count: usize) -> StepEnd {
        let Some(client) = self.client.clone() else { return StepEnd::not_connected() };
        let calls = (0..count).map(|number| timed(call.numbered(number).make(&client)));
        let ends = self.ear.during(join_all(calls)).await;
        let failures = ends.iter().filter(|end| !end.ok).count();
        let error = (failures > 0).then(|| format!("{failures} of {count} failed"));
        StepEnd { result: Some(Answer::Many(ends)), error }
    }

    async fn close(&mut self) -> StepEnd {
        let Some(client) = self.client.take() else { return StepEnd::not_connected() };
        self.ear.during(client.close()).await;
        StepEnd::without_answer()
    }
}

/// The outcome of a step. Several calls at once have both: their outcomes, and an error if one failed.
struct StepEnd {
    result: Option<Answer>,
    error: Option<String>,
}

impl StepEnd {
    const fn failed(error: String) -> Self {
        Self { result: None, error: Some(error) }
    }

    fn not_connected() -> Self {
        Self::failed("not connected: no `initialize` before this step made a client".to_owned())
    }

    const fn without_answer() -> Self {
        Self { result: None, error: None }
    }
}

impl From<Result<Outcome, String>> for StepEnd {
    fn from(asked: Result<Outcome, String>) -> Self {
        match asked {
            Ok(outcome) => Self { result: Some(Answer::One(outcome)), error: None },
            Err(error) => Self::failed(error),
        }
    }
}

/// Returns the outcome of one of several calls, and how long it took.
async fn timed(call: impl Future<Output = Result<Outcome, String>>) -> Done<Outcome> {
    let began = Instant::now();
    let (result, error) = match call.await {
        Ok(outcome) => (Some(outcome), None),
        Err(error) => (None, Some(error)),
    };
    Done { ok: error.is_none(), result, error, elapsed_ms: millis_since(began) }
}

fn millis_since(began: Instant) -> f64 {
    began.elapsed().as_secs_f64() * 1e3
}

/// Returns a time of a script. A number that is not a time lasts for ever; the reader of scripts refuses it.
fn secs(given: f64) -> Duration {
    Duration::try_from_secs_f64(given).unwrap_or(Duration::MAX)
}
