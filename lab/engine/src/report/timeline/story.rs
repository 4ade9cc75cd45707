//! What a picture shows, in milliseconds, independent of its width.

use std::fmt::Write;

use super::bar::{Bar, BarEnd, BarKind};
use super::steps;
use crate::Deed;
use crate::journal::{Asked, Happened, Journal, Visited, Which};
use crate::report::words::{Time, shortened};
use crate::score::Score;

/// Everything that is drawn.
#[derive(Debug)]
pub(super) struct Story {
    /// The scenario that it is about.
    pub(super) about: String,
    /// When the first event happened.
    pub(super) begin_ms: f64,
    /// When the last event happened.
    pub(super) end_ms: f64,
    /// The steps of the client.
    pub(super) steps: Vec<Bar>,
    /// One for each connection, in the order of their opening.
    pub(super) lanes: Vec<ConnectionLane>,
    /// When servers were not up, and what else happened to them.
    pub(super) events: Vec<ServerEvent>,
}

/// One connection.
#[derive(Debug)]
pub(super) struct ConnectionLane {
    pub(super) name: String,
    pub(super) opened: f64,
    /// When it was closed; `None` if it outlived the scenario.
    pub(super) closed: Option<f64>,
    pub(super) bars: Vec<Bar>,
}

/// Something that happened to a server: at a moment, or for a while.
#[derive(Debug)]
pub(super) struct ServerEvent {
    pub(super) from: f64,
    pub(super) to: Option<f64>,
    pub(super) label: String,
}

impl Story {
    pub(super) fn of(score: &Score) -> Self {
        let journal = &score.journal;
        let steps = steps::bars(score);
        let end_ms = end(journal, &steps).max(score.times.ended_ms);
        let begin_ms = begin(journal, &steps, end_ms);
        let visit = |visit| ConnectionLane::new(visit, &journal.requests, end_ms);
        let mut lanes: Vec<_> = journal.connections.iter().map(visit).collect();
        lanes.sort_by(|one, other| one.opened.total_cmp(&other.opened));
        let events = [Which::Main, Which::Other, Which::Issuer]
            .map(|it| events(&journal.events, it, end_ms));
        let events = events.into_iter().flatten().collect();
        Self { about: about(score, end_ms), begin_ms, end_ms, steps, lanes, events }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.steps.is_empty() && self.lanes.is_empty() && self.events.is_empty()
    }
}

fn about(score: &Score, end_ms: f64) -> String {
    let Journal { requests, connections, .. } = &score.journal;
    let (id, requests, connections) = (&score.id, requests.len(), connections.len());
    let end = Time(end_ms);
    format!("Timeline of {id}: requests {requests}, connections {connections}, {end}")
}

/// Returns when the first event happened after the client's program had started; 0 if the start took too
/// little time to leave out.
fn begin(journal: &Journal, steps: &[Bar], end_ms: f64) -> f64 {
    let asked = journal.requests.iter().map(|it| it.at_ms);
    let opened = journal.connections.iter().map(|it| it.opened_ms);
    let happened = journal.events.iter().map(|it| it.at_ms);
    let stepped = steps.iter().map(|it| it.from);
    let first = asked.chain(opened).chain(happened).chain(stepped).fold(end_ms, f64::min);
    if first < end_ms * WORTH_LEAVING_OUT { 0.0 } else { first }
}

/// Returns when the last event happened.
fn end(journal: &Journal, steps: &[Bar]) -> f64 {
    let asked = journal.requests.iter().map(|it| it.at_ms);
    let marked = journal.requests.iter().flat_map(|it| &it.marks).map(|it| it.at_ms);
    let opened = journal.connections.iter().map(|it| it.opened_ms);
    let closed = journal.connections.iter().filter_map(|it| it.closed_ms);
    let happened = journal.events.iter().map(|it| it.at_ms);
    let stepped = steps.iter().map(|it| it.to);
    asked
        .chain(marked)
        .chain(opened)
        .chain(closed)
        .chain(happened)
        .chain(stepped)
        .fold(0.0, f64::max)
}

impl ConnectionLane {
    fn new(visit: &Visited, requests: &[Asked], end_ms: f64) -> Self {
        let name = match visit.server {
            Which::Issuer => format!("authorization server {}", visit.connection),
            Which::Main => format!("connection {}", visit.connection),
            Which::Other => format!("other server {}", visit.connection),
        };
        let is_own = |it: &&Asked| it.server == visit.server && it.connection == visit.connection;
        let until = visit.closed_ms.unwrap_or(end_ms);
        let bars = requests.iter().filter(is_own).map(|it| Bar::of_request(it, until)).collect();
        Self { name, opened: visit.opened_ms, closed: visit.closed_ms, bars }
    }
}

impl Bar {
    /// Returns a request on a connection that was open until this moment.
    fn of_request(asked: &Asked, until: f64) -> Self {
        let last = asked.marks.iter().rev().find_map(|it| Some((it.at_ms, end_of(&it.deed)?)));
        let (to, (kind, end, how)) = match last {
            Some((at, how)) => (at, how),
            None => {
                (until.max(asked.at_ms), (BarKind::Quiet, BarEnd::Open, "no answer".to_owned()))
            }
        };
        let when = |is: fn(&Deed) -> bool| {
            asked.marks.iter().filter(move |it| is(&it.deed)).map(|it| it.at_ms).collect()
        };
        let name = asked.what.strip_prefix("notifications/").unwrap_or(&asked.what);
        Self {
            from: asked.at_ms,
            to,
            label: format!("{}: {how}", shortened(name, MOST_NAME)),
            kind,
            end,
            sent: when(|deed| matches!(deed, Deed::Sent(_))),
            ran: when(|deed| *deed == Deed::Ran),
            about: in_words(asked),
        }
    }
}

/// Returns how a request went, if this deed is its end.
fn end_of(deed: &Deed) -> Option<(BarKind, BarEnd, String)> {
    Some(match deed {
        Deed::Answered(status @ 0..300) => (BarKind::Good, BarEnd::Proper, status.to_string()),
        Deed::Answered(status) => (BarKind::Refused, BarEnd::Proper, status.to_string()),
        Deed::Cancelled => (BarKind::Quiet, BarEnd::Gone, "cancelled".to_owned()),
        Deed::Cut => (BarKind::Broken, BarEnd::Cut, "cut".to_owned()),
        Deed::Ended => (BarKind::Good, BarEnd::Proper, "ended".to_owned()),
        Deed::Gone => (BarKind::Quiet, BarEnd::Gone, "client left".to_owned()),
        Deed::Reset => (BarKind::Broken, BarEnd::Reset, "reset".to_owned()),
        Deed::Opened | Deed::Ran | Deed::Sent(_) => return None,
    })
}

fn in_words(asked: &Asked) -> String {
    let mut text = shortened(&asked.what, MOST_ABOUT);
    // Writing into a string cannot fail.
    let _ = write!(text, "\n{} {}", asked.http, shortened(&asked.path, MOST_ABOUT));
    let _ = write!(text, "\n{}: arrived", Time(asked.at_ms));
    for mark in asked.marks.iter().take(MOST_MARKS) {
        let deed = shortened(&mark.deed.to_string(), MOST_ABOUT);
        let _ = write!(text, "\n{}: {deed}", Time(mark.at_ms));
    }
    if asked.marks.len() > MOST_MARKS {
        let _ = write!(text, "\nand {} more", asked.marks.len() - MOST_MARKS);
    }
    text
}

/// Returns the events of one server. A mood lasts until the next one; before its first `up` a server was not
/// up.
fn events(happened: &[Happened], server: Which, end_ms: f64) -> Vec<ServerEvent> {
    let happened: Vec<_> = happened.iter().filter(|it| it.server == server).collect();
    let prefix = match server {
        Which::Issuer => "authorization: ",
        Which::Main => "",
        Which::Other => "other: ",
    };
    let moods: Vec<_> = happened.iter().filter(|it| is_mood(it)).collect();
    let mut events = Vec::new();
    if let Some(first) = moods.first().filter(|it| it.what == UP) {
        let label = format!("{prefix}not up yet");
        events.push(ServerEvent { from: 0.0, to: Some(first.at_ms), label });
    }
    for (place, mood) in moods.iter().enumerate().filter(|(_, it)| it.what != UP) {
        let to = moods.get(place + 1).map_or(end_ms, |next| next.at_ms);
        let label = format!("{prefix}{}", mood.what);
        events.push(ServerEvent { from: mood.at_ms, to: Some(to), label });
    }
    for moment in happened.iter().filter(|it| !is_mood(it)) {
        let label = format!("{prefix}{}", moment.what);
        events.push(ServerEvent { from: moment.at_ms, to: None, label });
    }
    events
}

/// Whether the event changes how a server treats new connections.
fn is_mood(event: &Happened) -> bool {
    MOODS.contains(&event.what.as_str())
}

const UP: &str = "up";
const WORTH_LEAVING_OUT: f64 = 0.1;
const MOODS: &[&str] = &["black hole", "closes what connects", "down", "resets what connects", UP];
const MOST_NAME: usize = 30;
const MOST_ABOUT: usize = 80;
const MOST_MARKS: usize = 12;
