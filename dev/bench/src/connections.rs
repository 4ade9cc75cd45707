//! How many connections a client makes, counted by the server: P1 (one call after the other) and P2 (64 at
//! once).

use anyhow::Result;
use ridethrough_testkit::place::ScratchFolder;

use crate::contestant::Contestant;
use crate::cost::number;
use crate::field::Field;
use crate::figure::{Figure, median};
use crate::pace::Pace;
use crate::progress::Progress;
use crate::server::{Authority, Server};

/// Measures calls, one after the other. The standing stream counts, too.
pub(crate) fn sequential(field: &Field, pace: Pace) -> Result<Vec<Figure>> {
    let server = Server::start()?;
    let named = |answers| format!("connections for {} calls one by one, {answers}", amount(pace));
    let plain = Figure::less("P1", named("JSON answers"), "").bars(2.0, 2.0);
    let mut figures = vec![count(field, &server, Case { way: "json", at_once: 1 }, plain, pace)?];
    let events = Figure::less("P1", named("SSE answers"), "").bars(2.0, 2.0);
    figures.push(count(field, &server, Case { way: "sse", at_once: 1 }, events, pace)?);
    let apart = Figure::less("P1", named("SSE, the end in a write of its own"), "").bars(3.0, 3.0);
    figures.push(count(field, &server, Case { way: "sse-apart", at_once: 1 }, apart, pace)?);
    figures.extend(over_tls(field, pace)?);
    Ok(figures)
}

/// Measures 64 calls at a time.
pub(crate) fn crowded(field: &Field, pace: Pace) -> Result<Vec<Figure>> {
    let server = Server::start()?;
    let mut figures = Vec::new();
    for (way, answers) in [("json", "JSON"), ("sse", "SSE")] {
        let what = format!("connections, 64 calls at once, {answers} answers");
        let figure = Figure::less("P2", what, "").bars(65.0, 65.0);
        figures.push(count(field, &server, Case { way, at_once: 64 }, figure, pace)?);
    }
    Ok(figures)
}

/// How calls are made and answered.
#[derive(Clone, Copy)]
struct Case {
    way: &'static str,
    at_once: usize,
}

fn count(field: &Field, server: &Server, case: Case, figure: Figure, pace: Pace) -> Result<Figure> {
    let progress = Progress::new(format!("{}: {}", figure.bar, figure.what), pace.rounds);
    let mut counted: Vec<Vec<f64>> = field.clients().map(|_| Vec::new()).collect();
    for round in 0..pace.rounds {
        progress.round(round);
        for (place, (contestant, counts)) in field.clients().zip(&mut counted).enumerate() {
            match once(contestant, server, case, pace) {
                Ok(connections) => counts.push(connections),
                Err(error) if place < 2 => return Err(error),
                Err(error) if round == 0 => {
                    eprintln!("warning: {} is left out: {error:#}", contestant.name);
                }
                Err(_) => {}
            }
        }
    }
    let mut counted = counted.into_iter();
    let floor = median(&counted.next().unwrap_or_default());
    let figure = figure.floor(floor).rounds(counted.next().unwrap_or_default());
    let rivals = field.rivals.iter().zip(counted).filter(|(_, counts)| !counts.is_empty());
    Ok(rivals.fold(figure, |figure, (rival, counts)| figure.beside(rival.name.as_str(), counts)))
}

/// Measures a fresh process: its handshake and its standing stream count, too.
fn once(contestant: &Contestant, server: &Server, case: Case, pace: Pace) -> Result<f64> {
    let before = server.connections(case.way, &contestant.name);
    let mut running = contestant.start(&server.url(case.way, &contestant.name))?;
    running.calls(pace.connected_calls * case.at_once.min(4), case.at_once)?;
    Ok(number(server.connections(case.way, &contestant.name) - before))
}

fn over_tls(field: &Field, pace: Pace) -> Result<Vec<Figure>> {
    let (authority, home) = (Authority::new()?, ScratchFolder::new("bench")?);
    let file = home.path().join("root.pem");
    std::fs::write(&file, authority.pem())?;
    let server = Server::start_tls(&authority)?;
    let mut ours = field.ours.clone();
    ours.args = vec!["--trust".into(), file.display().to_string()];
    let mut figures = Vec::new();
    for (way, answers) in [("json", "JSON"), ("sse-apart", "SSE, the end in a write of its own")] {
        let calls = amount(pace);
        let what = format!("connections for {calls} calls one by one over TLS, {answers}");
        let progress = Progress::new(format!("P1: {what}"), pace.rounds);
        let mut counts = Vec::new();
        for round in 0..pace.rounds {
            progress.round(round);
            counts.push(once(&ours, &server, Case { way, at_once: 1 }, pace)?);
        }
        figures.push(Figure::less("P1", what, "").bars(3.0, 3.0).rounds(counts));
    }
    Ok(figures)
}

/// Writes how many calls are made one by one, as people write it.
fn amount(pace: Pace) -> String {
    match (pace.connected_calls / 1_000, pace.connected_calls % 1_000) {
        (0, calls) => calls.to_string(),
        (thousands, rest) => format!("{thousands},{rest:03}"),
    }
}
