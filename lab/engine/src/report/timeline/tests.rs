use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::sleep;

use super::bar::{BarEnd, BarKind};
use super::layout::Layout;
use super::*;
use crate::Deed;
use crate::adapter::{Done, Line, Step};
use crate::contestant::Inside;
use crate::journal::{Asked, Happened, Journal, Marked, Visited, Which};
use crate::run::run_on;
use crate::scenario::Scenario;
use crate::score::{ClientTimes, Figures, Verdict};
use crate::stage::{Stage, StageTransport};

#[test]
fn bars_stand_where_their_time_is_and_are_as_long_as_it_is() {
    let marks = |to| [(to, Deed::Cut)];
    let requests = vec![asked(200.0, &marks(400.0)), asked(1000.0, &marks(1600.0))];
    let score = score(requests, 2000.0);
    let story = Story::of(&score);

    for format in [Format::Narrow, Format::Wide] {
        let layout = Layout::new(&story, format);

        let [one, other] = &layout.lanes.last().unwrap().bars[..] else { panic!("two bars") };
        let (one, other) = (&one.1, &other.1);
        let is_close = |one: f64, other: f64| (one - other).abs() < 1e-6;
        assert!(is_close(3.0 * (one.to - one.from), other.to - other.from), "{layout:?}");
        assert!(is_close(4.0 * (one.to - one.from), other.from - one.from), "{layout:?}");
        let (x, width) = ((one.from * 10.0).round() / 10.0, one.to - one.from);
        let width = (width * 10.0).round() / 10.0;
        let svg = drawn(&score);
        let bar = svg.split("<rect ").find(|it| it.starts_with(&format!("x=\"{x}\" ")));
        let bar = bar.expect("a bar begins where the request arrived");
        assert!(bar.contains(&format!(" width=\"{width}\" height=\"18\"/>")), "{bar}");
    }
}

#[test]
fn the_time_in_which_a_program_starts_is_left_out() {
    let mut score = score(vec![asked(1600.0, &[])], 2000.0);
    score.journal.connections[0].opened_ms = 1500.0;

    assert_eq!(Story::of(&score).begin_ms, 1500.0);

    score.journal.connections[0].opened_ms = 150.0;

    assert_eq!(Story::of(&score).begin_ms, 0.0);
}

#[test]
fn a_request_ends_as_its_last_word_says() {
    let cases = [
        (vec![(7.0, Deed::Answered(200))], BarKind::Good, BarEnd::Proper, "x: 200", 7.0),
        (vec![(7.0, Deed::Answered(503))], BarKind::Refused, BarEnd::Proper, "x: 503", 7.0),
        (vec![(7.0, Deed::Opened), (8.0, Deed::Cut)], BarKind::Broken, BarEnd::Cut, "x: cut", 8.0),
        (vec![(7.0, Deed::Reset)], BarKind::Broken, BarEnd::Reset, "x: reset", 7.0),
        (vec![(7.0, Deed::Gone)], BarKind::Quiet, BarEnd::Gone, "x: client left", 7.0),
        (vec![(7.0, Deed::Ran)], BarKind::Quiet, BarEnd::Open, "x: no answer", 90.0),
    ];
    for (marks, kind, end, label, to) in cases {
        let story = Story::of(&score(vec![asked(5.0, &marks)], 100.0));

        let bar = &story.lanes[0].bars[0];
        assert_eq!((bar.kind, bar.end, bar.label.as_str(), bar.to), (kind, end, label, to));
    }
}

#[test]
fn a_step_ends_when_its_line_is_heard_and_began_as_long_before_as_it_took() {
    let mut score = score(vec![asked(705.0, &[])], 2000.0);
    score.journal.connections[0].opened_ms = 700.0;
    score.lines = vec![line(0, 20.0), line(1, 400.0)];
    score.times.heard_ms = vec![720.0, 1600.0];

    let story = Story::of(&score);

    assert_eq!(times(&story), [(700.0, 720.0), (1200.0, 1600.0)]);
    assert_eq!(story.steps[1].label, "call echo");
}

#[test]
fn steps_of_a_client_that_keeps_its_lines_back_are_over_before_the_next_one_begins() {
    let mut score = score(vec![asked(305.0, &[])], 1000.0);
    score.journal.connections[0].opened_ms = 300.0;
    score.lines = vec![line(0, 20.0), line(1, 400.0)];
    score.times.heard_ms = vec![990.0, 990.0];

    let story = Story::of(&score);

    assert_eq!(times(&story), [(300.0, 320.0), (590.0, 990.0)]);
}

#[test]
fn no_step_begins_before_its_client() {
    let mut score = score(Vec::new(), 1000.0);
    score.times.began_ms = 100.0;
    score.lines = vec![line(0, 5000.0)];
    score.times.heard_ms = vec![600.0];

    let story = Story::of(&score);

    assert_eq!(story.steps[0].from, 100.0);
}

/// Before this was fixed, the steps of a client that no server saw were drawn at the zero of the servers'
/// log, however long the client had taken to start.
#[tokio::test(start_paused = true)]
async fn the_steps_of_a_client_that_starts_slowly_stand_where_the_servers_clock_says() {
    let scenario = Scenario::read(NEVER_UP).unwrap();
    let stage = Stage::open(&scenario, StageTransport::Pipes).await.unwrap();
    let slow = Inside(|_, _, said: UnboundedSender<String>| -> BoxFuture<'static, ()> {
        Box::pin(async move {
            sleep(Duration::from_secs(3)).await;
            sleep(Duration::from_millis(500)).await;
            said.send(r#"{"step":0,"ok":false,"error":"refused","elapsed_ms":500}"#.to_owned())
                .unwrap();
            sleep(Duration::from_secs(1)).await;
        })
    });
    sleep(Duration::from_millis(250)).await;

    let score = run_on(&stage, &scenario, &slow).await;

    assert_eq!((score.times.began_ms, score.times.ended_ms), (250.0, 4750.0));
    let story = Story::of(&score);
    assert_eq!(times(&story), [(3250.0, 3750.0)]);
}

#[test]
fn a_step_that_never_ended_is_shown_until_the_client_was_stopped() {
    let mut score = score(Vec::new(), 5000.0);
    score.journal.connections.clear();
    score.lines = vec![line(0, 20.0)];
    score.times.heard_ms = vec![30.0];

    let story = Story::of(&score);

    let last = story.steps.last().unwrap();
    assert_eq!((last.label.as_str(), last.end), ("call echo: never ended", BarEnd::Open));
    assert_eq!(last.to, 5000.0);
    assert_eq!(last.from, 30.0);
}

#[test]
fn a_server_is_down_until_it_is_up() {
    let mut score = score(Vec::new(), 3000.0);
    score.journal.events = vec![
        happened(500.0, "up"),
        happened(800.0, "sessions forgotten"),
        happened(1000.0, "down"),
        happened(2000.0, "up"),
        happened(2500.0, "black hole"),
    ];

    let story = Story::of(&score);

    let mut events: Vec<_> =
        story.events.iter().map(|it| (it.from, it.to, it.label.as_str())).collect();
    events.sort_by(|one, other| one.0.total_cmp(&other.0));
    let expected = [
        (0.0, Some(500.0), "not up yet"),
        (800.0, None, "sessions forgotten"),
        (1000.0, Some(2000.0), "down"),
        (2500.0, Some(3000.0), "black hole"),
    ];
    assert_eq!(events, expected);
}

#[test]
fn the_picture_for_phones_has_no_details_that_only_a_mouse_can_reach() {
    let story = Story::of(&score(vec![asked(5.0, &[])], 100.0));
    let mut page = Markup::default();

    Picture::new(&story, Format::Narrow).draw(&mut page);

    let svg = page.into_string();
    assert!(!svg.contains("<title>") && svg.contains("x: no answer"), "{svg}");
}

fn times(story: &Story) -> Vec<(f64, f64)> {
    story.steps.iter().map(|step| (step.from, step.to)).collect()
}

fn drawn(score: &Score) -> String {
    let mut page = Markup::default();
    timeline(&mut page, score);
    page.into_string()
}

/// Returns a score of a client on one connection, from 4 ms to 90 ms before the end of 100 ms, or to the end.
fn score(requests: Vec<Asked>, elapsed_ms: f64) -> Score {
    let closed_ms = (elapsed_ms == 100.0).then_some(90.0);
    let connections =
        vec![Visited { server: Which::Main, connection: 1, opened_ms: 4.0, closed_ms }];
    let script = r#"[{"op": "initialize"}, {"op": "call", "tool": "echo"}]"#;
    let script: Vec<Step> = serde_json::from_str(script).unwrap();
    Score {
        id: "A1".to_owned(),
        title: String::new(),
        why: String::new(),
        verdict: Verdict::Pass,
        findings: Vec::new(),
        figures: Figures { elapsed_ms, ..Figures::default() },
        script,
        lines: Vec::new(),
        times: ClientTimes { began_ms: 0.0, ended_ms: elapsed_ms, heard_ms: Vec::new() },
        stderr: String::new(),
        journal: Journal { requests, connections, ..Journal::default() },
    }
}

fn asked(at_ms: f64, marks: &[(f64, Deed)]) -> Asked {
    let marks = marks.iter().map(|(at_ms, deed)| Marked { at_ms: *at_ms, deed: deed.clone() });
    Asked {
        at_ms,
        server: Which::Main,
        connection: 1,
        http: "POST".to_owned(),
        path: "/mcp".to_owned(),
        what: "x".to_owned(),
        method: None,
        tool: None,
        session: None,
        last_event_id: None,
        body_hash: String::new(),
        body_bytes: 0,
        marks: marks.collect(),
    }
}

fn happened(at_ms: f64, what: &str) -> Happened {
    Happened { at_ms, server: Which::Main, what: what.to_owned() }
}

fn line(step: usize, elapsed_ms: f64) -> Line {
    let done = Done { ok: true, result: None, error: None, elapsed_ms };
    Line { step, done, notifications: Vec::new() }
}

const NEVER_UP: &str = r#"
    id = "I1"
    title = "down"
    why = "a server may be down"
    control = { mistake = "dials-once", breaks = "it ends" }
    limit_s = 10
    server = { starts = "down" }
    client = [{ op = "initialize" }]
    [[must]]
    that = "it ends"
    step = { number = 0, within = 99 }
"#;
