//! The cost of a call: P3 (CPU) and P4 (time), P5 (many at once, beside the official SDK), P6 (a megabyte).

use anyhow::Result;

use crate::contestant::{Contestant, Round, Running};
use crate::field::Field;
use crate::figure::Figure;
use crate::pace::Pace;
use crate::progress::Progress;
use crate::rivals::{RMCP, RMCP_POOLED};
use crate::server::Server;

/// Measures one call after the other: P3 and P4.
pub(crate) fn sequential(field: &Field, pace: Pace) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for (way, answers) in WAYS {
        let title = format!("P3, P4: calls one by one, {answers} answers");
        let turns = Turns::take(field, way, pace, &title, |running, share| {
            running.calls(share(pace.calls), 1)
        })?;
        let what = format!("client CPU per call, {answers} answers");
        let cpu = Figure::less("P3", what, "x").bars(2.0, 1.5);
        figures.push(turns.against_floor(cpu, |round| round.cpu_us));
        let p50 = Figure::less("P4", format!("client p50, {answers} answers"), "x").bars(1.8, 1.3);
        figures.push(turns.against_floor(p50, |round| round.p50_us));
    }
    figures.sort_by_key(|figure| figure.bar);
    Ok(figures)
}

/// Measures 64 calls at a time: P5.
pub(crate) fn crowded(field: &Field, pace: Pace) -> Result<Vec<Figure>> {
    let as_it_comes = "rmcp as it comes / ours, CPU per call, 64 at once";
    let as_it_comes = Figure::more("P5", as_it_comes, "x").bars(3.0, 5.0);
    let pooled = Figure::more("P5", "rmcp pooled / ours, CPU per call, 64 at once", "x");
    let wanted = [(RMCP, as_it_comes), (RMCP_POOLED, pooled.bars(1.7, 2.5))];
    if field.rivals.is_empty() {
        return Ok(wanted.map(|(_, figure)| figure.not_measured("needs --rivals")).into());
    }
    let turns = Turns::take(field, "json", pace, "P5: 64 calls at once", |running, share| {
        running.calls(share(pace.calls).max(64), 64)
    })?;
    Ok(wanted.map(|(name, figure)| turns.over_ours(figure, name)).into())
}

/// Measures answers of a megabyte: P6.
pub(crate) fn big(field: &Field, pace: Pace) -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for (way, answers) in WAYS {
        let title = format!("P6: a megabyte, {answers} answers");
        let turns = Turns::take(field, way, pace, &title, |running, share| {
            running.ask(&format!("big {}", share(pace.calls / 100)))
        })?;
        let what = format!("client CPU per call, 1 MB, {answers} answers");
        let figure = Figure::less("P6", what, "x").bars(3.0, 1.5);
        figures.push(turns.against_floor(figure, |round| round.cpu_us));
    }
    Ok(figures)
}

/// The results of rounds in which all contestants took turns.
struct Turns {
    /// The contestants, the floor first and ours second.
    all: Vec<(String, Vec<Round>)>,
}

/// How many of this number of calls a contestant makes.
type Share<'a> = &'a dyn Fn(usize) -> usize;

impl Turns {
    fn take(
        field: &Field,
        way: &str,
        pace: Pace,
        title: &str,
        play: impl Fn(&mut Running, Share<'_>) -> Result<Round>,
    ) -> Result<Self> {
        let server = Server::start()?;
        let mut playing = Vec::new();
        for (place, contestant) in field.clients().enumerate() {
            let turn = |running: &mut Running| play(running, &|calls| contestant.share(calls));
            // The first round is not counted, because buffers grow, and pages are touched, once.
            let started = contestant.start(&server.url(way, &contestant.name));
            match started.and_then(|mut it| turn(&mut it).map(|_| it)) {
                Ok(running) => playing.push((contestant, running, Vec::new())),
                Err(error) => excuse(place, contestant, error)?,
            }
        }
        let progress = Progress::new(title, pace.rounds);
        for number in 0..pace.rounds {
            progress.round(number);
            for (contestant, running, rounds) in &mut playing {
                rounds.push(play(running, &|calls| contestant.share(calls))?);
            }
        }
        let all = playing.into_iter().map(|(who, _, rounds)| (who.name.clone(), rounds));
        Ok(Self { all: all.collect() })
    }

    /// Returns our values, and beside them the rivals', each round as a ratio to the floor's.
    fn against_floor(&self, figure: Figure, cost: fn(&Round) -> f64) -> Figure {
        let [(_, floor), (_, ours), rivals @ ..] = &*self.all else { return figure };
        let figure = figure.rounds(ratios(ours, floor, cost));
        rivals.iter().fold(figure, |figure, (name, rounds)| {
            figure.beside(name.as_str(), ratios(rounds, floor, cost))
        })
    }

    /// Returns a rival's CPU time as a ratio to ours.
    fn over_ours(&self, figure: Figure, name: &str) -> Figure {
        let rival = self.all.iter().find(|(it, _)| it == name);
        match (&*self.all, rival) {
            ([_, (_, ours), ..], Some((_, rival))) => {
                figure.rounds(ratios(rival, ours, |round| round.cpu_us))
            }
            _ => figure.not_measured("this rival does not run here"),
        }
    }
}

fn ratios(upper: &[Round], lower: &[Round], cost: fn(&Round) -> f64) -> Vec<f64> {
    upper.iter().zip(lower).map(|(upper, lower)| cost(upper) / cost(lower)).collect()
}

/// Leaves out a rival that does not run; the floor and ours must run.
fn excuse(place: usize, contestant: &Contestant, error: anyhow::Error) -> Result<()> {
    if place < 2 {
        return Err(error);
    }
    eprintln!("warning: {} is left out: {error:#}", contestant.name);
    Ok(())
}

const WAYS: [(&str, &str); 2] = [("json", "JSON"), ("sse", "SSE")];
