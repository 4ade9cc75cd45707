//! Many sessions at the gateway: the memory of each, and the time to open them: G4.

use std::time::Instant;

use anyhow::{Context, Result};
use futures_util::future::try_join_all;
use hyper::header::HeaderValue;
use ridethrough_testkit::place::ScratchFolder;
use serde_json::json;

use super::http_caller::HttpCaller;
use super::measuring::runtime;
use super::proxy::Proxy;
use crate::cost::number;
use crate::field::Field;
use crate::figure::Figure;
use crate::pace::Pace;
use crate::progress::Progress;
use crate::rivals::RivalProxy;
use crate::server::Server;

/// Measures the memory of sessions without a link to a server, a tenth of them with an open stream; then the
/// memory of sessions with a link.
pub(crate) fn sessions(field: &Field, pace: Pace) -> Result<Vec<Figure>> {
    let (resting, linked) = if pace == Pace::SMOKE { (200, 20) } else { (10_000, 1_000) };
    let rounds = pace.rounds.min(3);
    let progress = Progress::new("G4: sessions at the gateway", rounds);
    let (mut memory, mut linked_memory, mut times) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..rounds {
        progress.round(round);
        let (kilobytes, seconds) = Hall::open()?.rest(resting)?;
        memory.push(kilobytes);
        times.push(seconds);
        linked_memory.push(Hall::open()?.link(linked)?);
    }
    let idle = format!("memory per session, {resting} sessions, a tenth with a stream");
    let with_link = format!("memory per session with a link to a server, {linked} sessions");
    let opening = format!("time to open {resting} sessions");
    let mut idle = Figure::less("G4", idle, "KB").bars(40.0, 20.0).rounds(memory);
    let mut with_link = Figure::less("G4", with_link, "KB").bars(90.0, 60.0).rounds(linked_memory);
    // There is no bar; a minute for ten thousand would be too long for anybody.
    let mut opening = Figure::less("G4", opening, "s").bars(60.0, 10.0).rounds(times);
    for rival in &field.proxies {
        let fewer = rival.fewer();
        let measured = Hall::of(rival).and_then(|hall| hall.rest(resting / fewer));
        let linked = Hall::of(rival).and_then(|hall| hall.link(linked / fewer));
        match measured.and_then(|measured| Ok((measured, linked?))) {
            Ok(((kilobytes, seconds), linked)) => {
                idle = idle.beside(rival.name(), vec![kilobytes]);
                with_link = with_link.beside(rival.name(), vec![linked]);
                opening = opening.beside(rival.name(), vec![seconds * number(fewer as u64)]);
            }
            Err(error) => eprintln!("warning: {} is left out of G4: {error:#}", rival.name()),
        }
    }
    Ok(vec![idle, with_link, opening])
}

/// A gateway, and the server behind it.
struct Hall {
    gateway: Proxy,
    url: String,
    /// Its name for the tool `echo`.
    echo: &'static str,
    _server: Server,
    _home: ScratchFolder,
}

impl Hall {
    fn open() -> Result<Self> {
        let (server, home) = (Server::start()?, ScratchFolder::new("bench")?);
        let entry = json!({ "url": server.url("json", "gateway"), "links": 10_000 });
        let gateway = Proxy::gateway(home.path(), &[("bench".to_owned(), entry)])?;
        let url = format!("{}/bench", gateway.url);
        Ok(Self { gateway, url, echo: "echo", _server: server, _home: home })
    }

    /// A proxy of others in the place of the gateway.
    fn of(rival: &RivalProxy) -> Result<Self> {
        let (server, home) = (Server::start()?, ScratchFolder::new("bench")?);
        let gateway = Proxy::rival(rival, home.path(), &server.url("json", rival.name()))?;
        let url = gateway.url.clone();
        Ok(Self { gateway, url, echo: rival.echo(), _server: server, _home: home })
    }

    /// Returns the memory of each of this many sessions, in kilobytes, and the seconds that it took to open
    /// them.
    fn rest(self, count: usize) -> Result<(f64, f64)> {
        runtime()?.block_on(async {
            self.warm_up().await?;
            let before = self.gateway.memory()?;
            let began = Instant::now();
            let sessions = self.sessions(count).await?;
            let seconds = began.elapsed().as_secs_f64();
            let mut streams = Vec::new();
            for session in sessions.iter().step_by(10) {
                let mut caller = HttpCaller::connect(&self.url).await?;
                caller.session = Some(session.clone());
                streams.push(caller.listen().await.context("a stream is refused")?);
            }
            let grown = self.gateway.memory()?.saturating_sub(before);
            Ok((number(grown) / number(count as u64) / 1e3, seconds))
        })
    }

    /// Returns the memory of each of this many sessions that have called a tool, in kilobytes.
    fn link(self, count: usize) -> Result<f64> {
        runtime()?.block_on(async {
            self.warm_up().await?;
            let before = self.gateway.memory()?;
            let sessions = self.sessions(count).await?;
            let mut caller = HttpCaller::connect(&self.url).await?;
            for session in sessions {
                caller.session = Some(session);
                caller.call(self.echo).await?;
            }
            let grown = self.gateway.memory()?.saturating_sub(before);
            Ok(number(grown) / number(count as u64) / 1e3)
        })
    }

    /// The first sessions also load code and fill what all share.
    async fn warm_up(&self) -> Result<()> {
        let mut caller = HttpCaller::connect(&self.url).await?;
        for _ in 0..20 {
            caller.begin().await?;
            caller.call(self.echo).await?;
        }
        Ok(())
    }

    /// Opens sessions, over a few connections.
    async fn sessions(&self, count: usize) -> Result<Vec<HeaderValue>> {
        let opening = (0..CONNECTIONS).map(|place| async move {
            let mut caller = HttpCaller::connect(&self.url).await?;
            let mut sessions = Vec::new();
            for _ in (place..count).step_by(CONNECTIONS) {
                sessions.push(caller.begin().await?);
            }
            anyhow::Ok(sessions)
        });
        Ok(try_join_all(opening).await?.into_iter().flatten().collect())
    }
}

const CONNECTIONS: usize = 8;
