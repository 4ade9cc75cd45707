//! The cost of a call through the gateway, against a proxy that does nothing but carry: G3.

use anyhow::Result;
use ridethrough_testkit::place::ScratchFolder;
use serde_json::json;

use super::proxy::Proxy;
use crate::contestant::Running;
use crate::cost::{micros, number};
use crate::field::Field;
use crate::figure::Figure;
use crate::pace::Pace;
use crate::progress::Progress;
use crate::server::Server;

/// What is measured is started anew so many times: a process is as fast as the place that it got in memory and on the
/// cores, and keeps that.
const STARTS: usize = 5;

/// Each round is played in so many turns, so that a machine that slows down slows down all who take part.
const TURNS: usize = 4;

/// Measures one call after the other: CPU of the proxy and time of the caller.
pub(crate) fn calls(field: &Field, pace: Pace) -> Result<Vec<Figure>> {
    let (server, home) = (Server::start()?, ScratchFolder::new("bench")?);
    let mut figures = Vec::new();
    for (way, answers) in [("json", "JSON"), ("sse", "SSE")] {
        let progress = Progress::new(format!("G3: gateway calls, {answers} answers"), pace.rounds);
        let mut seen = Vec::new();
        let mut all = Vec::new();
        for round in 0..pace.rounds {
            progress.round(round);
            if round % pace.rounds.div_ceil(STARTS) == 0 {
                // The last ones are gone before the next ones come.
                all.clear();
                all = start(way, &server, &home, field)?;
                // At first, buffers grow and pages are touched.
                turn(&mut all, pace)?;
            }
            for _ in 0..TURNS {
                seen.push(turn(&mut all, pace)?);
            }
        }
        let cpu = Figure::less("G3", format!("gateway CPU per call, {answers} answers"), "x");
        let p50 = Figure::less("G3", format!("gateway p50, {answers} answers"), "x");
        figures.push(against_floor(cpu.bars(2.5, 1.8), &seen, |cost| cost.cpu));
        figures.push(against_floor(p50.bars(2.0, 1.5), &seen, |cost| cost.p50));
    }
    Ok(figures)
}

/// Starts the floor, our gateway and the proxies of others, each with a client.
fn start(way: &str, server: &Server, home: &ScratchFolder, field: &Field) -> Result<Vec<Player>> {
    let floor = Proxy::floor(&format!("http://{}", server.address()))?;
    let floor_url = format!("{}/{way}/floor", floor.url);
    let entry = json!({ "url": server.url(way, "gateway") });
    let ours = Proxy::gateway(home.path(), &[("bench".to_owned(), entry)])?;
    let ours_url = format!("{}/bench", ours.url);
    let mut all = vec![
        Player::new(FLOOR, floor, &floor_url, "echo", field)?,
        Player::new(OURS, ours, &ours_url, "echo", field)?,
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
    Ok(all)
}

/// What a call cost with each proxy, in one turn.
type Turn = Vec<(&'static str, Cost)>;

/// What a call cost, in microseconds.
#[derive(Clone, Copy)]
struct Cost {
    cpu: f64,
    p50: f64,
}

/// Lets each client call for a part of a round.
fn turn(all: &mut [Player], pace: Pace) -> Result<Turn> {
    all.iter_mut().map(|player| Ok((player.name, player.turn(pace.calls / TURNS)?))).collect()
}

/// A proxy, and the client that calls through it.
struct Player {
    name: &'static str,
    proxy: Proxy,
    client: Running,
    /// It makes so many times fewer calls than ours.
    fewer: usize,
}

impl Player {
    /// Connects a client, which calls `echo` by the name that the proxy has for it.
    fn new(name: &'static str, proxy: Proxy, url: &str, echo: &str, field: &Field) -> Result<Self> {
        // The cheapest client, so that the proxy is what is seen.
        let mut client = field.floor.clone();
        client.args.extend(["--tool".to_owned(), echo.to_owned()]);
        let client = client.start(url)?;
        Ok(Self { name, proxy, client, fewer: 1 })
    }

    fn turn(&mut self, calls: usize) -> Result<Cost> {
        let calls = (calls / self.fewer).max(1);
        let before = self.proxy.cpu()?;
        let p50 = self.client.calls(calls, 1)?.p50_us;
        let spent = self.proxy.cpu()?.saturating_sub(before);
        Ok(Cost { cpu: micros(spent) / number(calls as u64), p50 })
    }
}

const FLOOR: &str = "floor";
const OURS: &str = "gateway";

/// Compares each proxy with the floor of the same turn.
fn against_floor(figure: Figure, turns: &[Turn], pick: fn(Cost) -> f64) -> Figure {
    let ratios = |name: &str| {
        let of = |turn: &Turn, name| {
            turn.iter().find(|(it, _)| *it == name).map(|(_, cost)| pick(*cost))
        };
        let ratios = turns.iter().filter_map(|turn| Some(of(turn, name)? / of(turn, FLOOR)?));
        ratios.collect::<Vec<_>>()
    };
    let mut rivals: Vec<_> = turns.iter().flatten().map(|(name, _)| *name).collect();
    rivals.sort_unstable();
    rivals.dedup();
    rivals.retain(|name| ![FLOOR, OURS].contains(name));
    let figure = figure.rounds(ratios(OURS));
    rivals.into_iter().fold(figure, |figure, name| figure.beside(name, ratios(name)))
}
