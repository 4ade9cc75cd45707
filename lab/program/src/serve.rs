//! `ridethrough-lab serve`: the servers of all scenarios at once, for clients that are driven by hand.

use std::collections::BTreeMap;
use std::io;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result};
use bytes::Bytes;
use http::{Method, Response, StatusCode};
use ridethrough_lab::journal::Journal;
use ridethrough_lab::scenario::Scenario;
use ridethrough_lab::stage::{Stage, StageTransport};
use ridethrough_lab::{Protocol, Request, Server, Turn};
use tokio::sync::Mutex;

use super::choice::ScenarioChoice;
use ridethrough_terminal::misuse::Misuse;
use ridethrough_terminal::{out, until};

/// The arguments of `ridethrough-lab serve`.
#[derive(clap::Args)]
#[command(after_long_help = AFTER)]
pub(crate) struct ServeArgs {
    /// The port of the log; the scenarios take the ports after it [default: any that are free]
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    port: u16,
    #[command(flatten)]
    choice: ScenarioChoice,
}

pub(super) fn play(args: &ServeArgs) -> Result<ExitCode> {
    let scenarios = args.choice.scenarios()?;
    match until::stopped(serve(args.port, scenarios))? {
        Ok(failed) => failed.map(|()| ExitCode::SUCCESS),
        Err(stopped) => Ok(stopped.tell("the servers are gone")),
    }
}

async fn serve(port: u16, scenarios: Vec<Scenario>) -> Result<()> {
    let board = Stages::open(port, scenarios).await?;
    let terminal = board.clone();
    let server = Server::new(Protocol::Http1, move |turn: Turn| {
        let board = terminal.clone();
        async move {
            let answer = board.answer(&turn.request).await;
            turn.reply.respond(answer).await;
        }
    });
    let address = server.listen_at(port).await.map_err(|error| taken(port, &error))?;
    let urls = board.urls().await;
    out::print(|out| {
        writeln!(out, "log   http://{address}/log")?;
        urls.iter().try_for_each(|(id, url, title)| writeln!(out, "{id:<5} {url}  {title}"))
    })?;
    eprintln!("Point a client at one of these. Before the next: POST http://{address}/reset/A1");
    eprintln!("Ctrl-C stops.");
    std::future::pending().await
}

/// All stages, by the ids of their scenarios.
#[derive(Clone)]
struct Stages(Arc<Mutex<BTreeMap<String, Set>>>);

/// A scenario and its stage. The order is that of the scenarios.
struct Set {
    place: usize,
    scenario: Scenario,
    stage: Stage,
}

impl Stages {
    async fn open(port: u16, scenarios: Vec<Scenario>) -> Result<Self> {
        let mut sets = BTreeMap::new();
        for (place, scenario) in scenarios.into_iter().enumerate() {
            let port = match (port, u16::try_from(place + 1)) {
                (0, _) | (_, Err(_)) => 0,
                (port, Ok(place)) => port.checked_add(place).unwrap_or(0),
            };
            let stage = open(&scenario, port).await?;
            sets.insert(scenario.id.clone(), Set { place, scenario, stage });
        }
        Ok(Self(Arc::new(Mutex::new(sets))))
    }

    /// Returns id, URL and title of each scenario.
    async fn urls(&self) -> Vec<(String, String, String)> {
        let sets = self.0.lock().await;
        let mut sets: Vec<_> = sets.values().collect();
        sets.sort_by_key(|set| set.place);
        let line = |set: &&Set| {
            let Scenario { id, title, .. } = &set.scenario;
            (id.clone(), set.stage.url().to_owned(), title.clone())
        };
        sets.iter().map(line).collect()
    }

    async fn answer(&self, request: &Request) -> Response<Bytes> {
        let path = request.target.split('?').next().unwrap_or_default();
        let words: Vec<_> = path.split('/').filter(|word| !word.is_empty()).collect();
        match (&request.method, words.as_slice()) {
            (&Method::GET, ["log"]) => json(&self.journals().await),
            (&Method::GET, ["log", id]) => match self.journal(id).await {
                Some(journal) => json(&journal),
                None => plain(StatusCode::NOT_FOUND, &format!("there is no scenario `{id}`\n")),
            },
            (&Method::POST, ["reset", id]) => match self.reset(id).await {
                Some(Ok(())) => plain(StatusCode::OK, "as new\n"),
                Some(Err(error)) => plain(StatusCode::INTERNAL_SERVER_ERROR, &format!("{error}\n")),
                None => plain(StatusCode::NOT_FOUND, &format!("there is no scenario `{id}`\n")),
            },
            _ => plain(StatusCode::NOT_FOUND, "GET /log, GET /log/ID or POST /reset/ID\n"),
        }
    }

    async fn journals(&self) -> BTreeMap<String, Journal> {
        let sets = self.0.lock().await;
        sets.iter().map(|(id, set)| (id.clone(), set.stage.journal())).collect()
    }

    async fn journal(&self, id: &str) -> Option<Journal> {
        let sets = self.0.lock().await;
        Some(sets.get(&id.to_ascii_uppercase())?.stage.journal())
    }

    /// Restarts a scenario at its URL.
    async fn reset(&self, id: &str) -> Option<Result<()>> {
        let mut sets = self.0.lock().await;
        let set = sets.get_mut(&id.to_ascii_uppercase())?;
        set.stage.close().await;
        Some(match open(&set.scenario, port_of(set.stage.url())).await {
            Ok(stage) => {
                set.stage = stage;
                Ok(())
            }
            Err(error) => Err(error),
        })
    }
}

async fn open(scenario: &Scenario, port: u16) -> Result<Stage> {
    let opened = Stage::open(scenario, StageTransport::Sockets(port)).await;
    let stage = opened.map_err(|error| taken(port, &error))?;
    stage.begin();
    Ok(stage)
}

fn port_of(url: &str) -> u16 {
    let authority = url.trim_start_matches("http://").split('/').next().unwrap_or_default();
    authority.rsplit(':').next().and_then(|port| port.parse().ok()).unwrap_or(0)
}

fn taken(port: u16, error: &io::Error) -> Misuse {
    Misuse {
        what: format!("port {port} of 127.0.0.1 cannot be had: {error}"),
        tried: "it was asked of the system once".to_owned(),
        hint: "choose another with --port, or leave it out for any that is free".to_owned(),
    }
}

fn json(value: &impl serde::Serialize) -> Response<Bytes> {
    match serde_json::to_vec_pretty(value).context("the log cannot be written") {
        Ok(body) => respond(StatusCode::OK, "application/json", body.into()),
        Err(error) => plain(StatusCode::INTERNAL_SERVER_ERROR, &format!("{error:#}\n")),
    }
}

fn plain(status: StatusCode, text: &str) -> Response<Bytes> {
    respond(status, "text/plain; charset=utf-8", Bytes::copy_from_slice(text.as_bytes()))
}

fn respond(status: StatusCode, kind: &'static str, body: Bytes) -> Response<Bytes> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(http::header::CONTENT_TYPE, http::HeaderValue::from_static(kind));
    response
}

const AFTER: &str = "Each scenario has a server of its own and begins at once. What happens only \
once in it has happened when the first client was through: `POST /reset/A1` begins it anew at the \
same URL. `GET /log` gives everything that the servers saw and did, `GET /log/A1` that of one.

`ridethrough-lab show A1 --script` prints what a client is asked to do there.";
