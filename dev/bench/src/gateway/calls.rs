//! The cost of a call through the gateway, against a proxy that does nothing but carry: G3.

use anyhow::Result;
use serde_json::json;

use super::proxy::Proxy;
use crate::contestant::Running;
use crate::cost::{micros, number};
use crate::field::Field;
use crate::figure::Figure;
use crate::host::{Home, Progress};
use crate::pace::Pace;
use crate::server::Server;

/// Measures one call after the other: CPU of the proxy and time of the caller.
pub(crate) fn calls(field: &Field, pace: Pace) -> Result<Vec<Figure>> {
    let (server, home) = (Server::start()?, Home::new()?);
    let base = format!("http://{}", server.address());
    let mut figures = Vec::new();
    for (way, answers) in [("json", "JSON"), ("sse", "SSE")] {
        let floor = Proxy::floor(&base)?;
        let floor_url = format!("{}/{way}/floor", floor.url);
        let entry = json!({ "url": server.url(way, "gateway") });
        let ours = Proxy::gateway(home.path(), &[("bench".to_owned(), entry)])?;
        let ours_url = format!("{}/bench", ours.url);
        let mut all = vec![
            Player::new("floor", floor, &floor_url, "echo", field)?,
            Player::new("gateway", ours, &ours_url, "echo", field)?,
        ];
        for rival in &field.proxies {
            let server = server.url(way, rival.name());
            let player = Proxy::rival(rival, home.path(), &server).and_then(|proxy| {
                let url = proxy.url.clone();
                Player::new(rival.name(), proxy, &url, rival.echo(), field)
            });
            match player {
                Ok(player) => all.push(Player { fewer: rival.fewer(), ..player }),
                Err(error) => eprintln!("warning: {} is left out: {error:#}", rival.name()),
            }
        }
        let progress = Progress::new(format!("G3: gateway calls, {answers} answers"), pace.rounds);
        for round in 0..=pace.rounds {
            progress.round(round.saturating_sub(1));
            for player in &mut all {
                let calls = (pace.calls / player.fewer).max(1);
                let (p50, cpu) = player.round(calls)?;
                // In the first, buffers grow and pages are touched.
                if round > 0 {
                    player.rounds.push((p50, cpu));
                }
            }
        }
        let cpu = Figure::less("G3", format!("gateway CPU per call, {answers} answers"), "x");
        let p50 = Figure::less("G3", format!("gateway p50, {answers} answers"), "x");
        figures.push(against_floor(cpu.bars(2.5, 1.8), &all, |(_, cpu)| cpu));
        figures.push(against_floor(p50.bars(2.0, 1.5), &all, |(p50, _)| p50));
    }
    Ok(figures)
}

/// A proxy, and the client that calls through it.
struct Player {
    name: String,
    proxy: Proxy,
    client: Running,
    fewer: usize,
    /// Time and CPU of each round, in microseconds.
    rounds: Vec<(f64, f64)>,
}

impl Player {
    /// Connects a client, which calls `echo` by the name that the proxy has for it.
    fn new(name: &str, proxy: Proxy, url: &str, echo: &str, field: &Field) -> Result<Self> {
        // The cheapest client, so that the proxy is what is seen.
        let mut client = field.floor.clone();
        client.args.extend(["--tool".to_owned(), echo.to_owned()]);
        let client = client.start(url)?;
        Ok(Self { name: name.to_owned(), proxy, client, fewer: 1, rounds: Vec::new() })
    }

    fn round(&mut self, calls: usize) -> Result<(f64, f64)> {
        let before = self.proxy.cpu()?;
        let round = self.client.calls(calls, 1)?;
        let spent = self.proxy.cpu()?.saturating_sub(before);
        Ok((round.p50_us, micros(spent) / number(calls as u64)))
    }
}

fn against_floor(figure: Figure, all: &[Player], pick: fn((f64, f64)) -> f64) -> Figure {
    let [floor, ours, rivals @ ..] = all else { return figure };
    let ratios = |player: &Player| {
        let pairs = player.rounds.iter().zip(&floor.rounds);
        pairs.map(|(it, floor)| pick(*it) / pick(*floor)).collect::<Vec<_>>()
    };
    let figure = figure.rounds(ratios(ours));
    rivals.iter().fold(figure, |figure, rival| figure.beside(&*rival.name, ratios(rival)))
}
