//! Invented scores, and what the reports make of them.

use serde_json::Value;

use super::*;
use crate::Deed;
use crate::adapter::{Done, Line, Step};
use crate::journal::{Asked, Journal, Marked, Visited, Which};
use crate::scenario::{Group, Level};
use crate::score::{ClientTimes, Figures, Finding, Score, Verdict};

#[test]
fn a_page_has_every_scenario_in_its_table_and_in_a_section() {
    let card = card("ours", everywhere());

    let page = html(std::slice::from_ref(&card), "today");

    for score in &card.scores {
        let id = &score.id;
        assert_eq!(page.matches(&format!("href=\"#{id}\"")).count(), 2, "{id}: title and verdict");
        assert_eq!(page.matches(&format!("id=\"{id}\"")).count(), 1, "{id}");
    }
    assert!(page.contains("ours through 24 faults") && page.contains("today"));
}

#[test]
fn a_page_of_several_clients_has_a_place_for_each_and_says_who_was_not_run() {
    let cards = [card("ours", vec![score("A1"), score("A2")]), card("theirs", vec![score("A2")])];

    let page = html(&cards, "today");

    for anchor in ["A1-1", "A2-1", "A2-2"] {
        assert_eq!(page.matches(&format!("id=\"{anchor}\"")).count(), 1, "{anchor}");
        assert_eq!(page.matches(&format!("href=\"#{anchor}\"")).count(), 1, "{anchor}");
    }
    assert!(!page.contains("id=\"A1-2\""));
    assert_eq!(page.matches("not run").count(), 1);
}

#[test]
fn scenarios_stand_in_the_order_of_their_numbers() {
    let page = html(&[card("ours", vec![score("B1"), score("A10"), score("A2")])], "today");

    let at = |id: &str| page.find(&format!("id=\"{id}\"")).unwrap();
    assert!(at("A2") < at("A10") && at("A10") < at("B1"));
}

#[test]
fn nothing_that_a_client_prints_becomes_markup() {
    let card = hostile();

    let (page, xml) = (html(std::slice::from_ref(&card), EVIL), junit(&card));

    for text in [&page, &xml] {
        assert!(!text.contains("<script") && !text.contains("<img"), "{text}");
        assert!(text.contains("&lt;script&gt;"));
        assert!(!text.contains(['\u{0}', '\u{1b}', '\u{202e}', '\u{ffff}']));
        is_balanced(text);
    }
}

#[test]
fn a_page_needs_no_network_and_no_script() {
    let page = html(&[card("ours", everywhere())], "today");

    for word in ["http://", "https://", "<script", "@import", "url(", " src="] {
        assert!(!page.contains(word), "{word}");
    }
    assert!(page.contains("default-src 'none'"));
}

#[test]
fn verdicts_are_words_and_shapes_and_what_failed_is_open() {
    let scores = vec![judged("A1", false, true), judged("A2", true, false), score("A3")];

    let page = html(&[card("ours", scores)], "today");

    for (word, is_open) in [("fail", true), ("soft", true), ("pass", false)] {
        let open = if is_open { " open=\"\"" } else { "" };
        assert!(page.contains(&format!("<details class=\"run {word}\"{open}>")), "{word}");
        assert!(page.contains(&format!("<use href=\"#s-{word}\"/></svg>{word}</span>")), "{word}");
    }
    assert!(page.contains("<pre>it ran twice</pre>"));
}

#[test]
fn a_page_of_75_scenarios_stays_small() {
    let ids = (0..75).map(|it| format!("{}{}", Group::ALL[it % 10].letter(), it / 10 + 1));
    let page = html(&[card("ours", ids.map(|id| score(&id)).collect())], "today");

    assert!(page.len() < 1_500_000, "{} bytes", page.len());
}

#[test]
fn a_client_that_hammers_does_not_make_a_page_without_end() {
    let mut score = score("A1");
    let (request, visit) =
        (score.journal.requests[0].clone(), score.journal.connections[0].clone());
    for connection in 3..2000 {
        let at_ms = connection as f64;
        score.journal.requests.push(Asked { connection, at_ms, ..request.clone() });
        score.journal.connections.push(Visited { connection, opened_ms: at_ms, ..visit });
    }

    let page = html(&[card("ours", vec![score])], "today");

    assert!(page.len() < 90_000, "{} bytes", page.len());
    assert!(page.contains("1985 more"));
}

#[test]
fn an_empty_log_is_said_to_be_empty() {
    let mut score = score("A1");
    (score.journal, score.lines, score.script) = (Journal::default(), Vec::new(), Vec::new());

    let page = html(&[card("ours", vec![score])], "today");

    assert!(page.contains("The log is empty") && page.contains("It reported no step"));
    assert!(!page.contains("<figure"));
}

#[test]
fn junit_has_a_suite_for_each_group_and_counts_what_failed() {
    let scores = vec![judged("A1", false, true), judged("A2", true, false), score("B1")];

    let xml = junit(&card("ours", scores));

    is_balanced(&xml);
    let a = r#"<testsuite name="A reconnection" tests="2" failures="1" errors="0" time="0.840">"#;
    assert!(xml.contains(a), "{xml}");
    assert!(xml.contains(r#"name="ridethrough lab: ours" tests="3" failures="1""#), "{xml}");
    assert!(xml.contains(r#"<testcase classname="ours.A" name="A1 a title" time="0.420">"#));
    assert_eq!(xml.matches("<testcase ").count(), 3);
    assert_eq!(xml.matches("<failure message=\"it runs once\" type=\"must\">").count(), 1);
    assert!(xml.contains("it runs once\n  it ran twice"), "{xml}");
    assert!(xml.contains("<system-out>passed softly; missed ideals:\nit is quick"), "{xml}");
}

#[test]
fn json_has_everything_that_was_seen() {
    let report: Value = serde_json::from_str(&json(&[card("ours", vec![score("A1")])])).unwrap();

    assert_eq!(report["format"], 1);
    let score = &report["clients"][0]["scores"][0];
    assert_eq!(score["verdict"], "pass");
    assert_eq!(score["script"][1]["tool"], "echo");
    assert_eq!(score["journal"]["requests"][0]["marks"][1]["deed"], "cut");
}

const EVIL: &str = "\"'><script>alert(1)</script><img src=x>\u{0}\u{1b}[31m\u{202e}\u{ffff}]]>&";

/// Twenty scenarios, two in each group.
fn everywhere() -> Vec<Score> {
    let ids = Group::ALL.iter().flat_map(|it| [1, 2].map(|n| format!("{}{n}", it.letter())));
    ids.map(|id| score(&id)).collect()
}

/// Returns a score with one malicious text in every place where a client can put one.
fn hostile() -> Scorecard {
    let evil = || EVIL.to_owned();
    let mut score = judged("A1", false, false);
    (score.title, score.why, score.stderr) = (evil(), evil(), evil());
    score.findings.iter_mut().for_each(|it| (it.that, it.evidence) = (evil(), evil()));
    let line = &mut score.lines[1];
    (line.done.ok, line.done.error, line.notifications) = (false, Some(evil()), vec![evil()]);
    let asked = &mut score.journal.requests[0];
    (asked.what, asked.path, asked.http, asked.session) = (evil(), evil(), evil(), Some(evil()));
    asked.marks.insert(0, Marked { at_ms: 6.0, deed: Deed::Sent(evil()) });
    Scorecard { command: evil(), ..card(EVIL, vec![score]) }
}

fn card(client: &str, scores: Vec<Score>) -> Scorecard {
    Scorecard { client: client.to_owned(), command: String::new(), scores, elapsed_ms: 1234.5 }
}

/// Returns a score of a call that was cut and then answered.
fn score(id: &str) -> Score {
    judged(id, true, true)
}

fn judged(id: &str, must: bool, ideal: bool) -> Score {
    let finding = |level, that: &str, held: bool, evidence: &str| Finding {
        level,
        that: that.to_owned(),
        held,
        is_late: false,
        evidence: if held { String::new() } else { evidence.to_owned() },
    };
    let verdict = match (must, ideal) {
        (false, _) => Verdict::Fail,
        (true, false) => Verdict::Soft,
        (true, true) => Verdict::Pass,
    };
    let call = r#"[{"op": "initialize"}, {"op": "call", "tool": "echo"}]"#;
    let script: Vec<Step> = serde_json::from_str(call).unwrap();
    Score {
        id: id.to_owned(),
        title: "a title".to_owned(),
        why: "Because.".to_owned(),
        verdict,
        findings: vec![
            finding(Level::Must, "it runs once", must, "it ran twice"),
            finding(Level::Ideal, "it is quick", ideal, "it took 3 s"),
        ],
        figures: Figures { elapsed_ms: 420.0, ..Figures::default() },
        script,
        lines: vec![line(0, 10.0), line(1, 400.0)],
        times: ClientTimes { began_ms: 0.0, ended_ms: 420.0, heard_ms: vec![15.0, 415.0] },
        stderr: String::new(),
        journal: journal(),
    }
}

fn line(step: usize, elapsed_ms: f64) -> Line {
    let done = Done { ok: true, result: None, error: None, elapsed_ms };
    Line { step, done, notifications: Vec::new() }
}

fn journal() -> Journal {
    let visit = |connection, opened_ms, closed_ms| Visited {
        server: Which::Main,
        connection,
        opened_ms,
        closed_ms,
    };
    let marks = |marks: &[(f64, Deed)]| {
        marks.iter().map(|(at_ms, deed)| Marked { at_ms: *at_ms, deed: deed.clone() }).collect()
    };
    let cut = marks(&[(6.0, Deed::Ran), (100.0, Deed::Cut)]);
    let answered = marks(&[(300.0, Deed::Answered(200))]);
    Journal {
        requests: vec![asked(5.0, 1, cut), asked(250.0, 2, answered)],
        connections: vec![visit(1, 4.0, Some(100.0)), visit(2, 249.0, None)],
        ..Journal::default()
    }
}

fn asked(at_ms: f64, connection: u64, marks: Vec<Marked>) -> Asked {
    Asked {
        at_ms,
        server: Which::Main,
        connection,
        http: "POST".to_owned(),
        path: "/mcp".to_owned(),
        what: "tools/call echo".to_owned(),
        method: Some("tools/call".to_owned()),
        tool: Some("echo".to_owned()),
        session: None,
        last_event_id: None,
        body_hash: "0".to_owned(),
        body_bytes: 80,
        marks,
    }
}

/// Reads tags one after another: each end must be that of the last one that is open.
fn is_balanced(text: &str) {
    let mut open = Vec::new();
    let mut rest = text;
    while let Some((_, after)) = rest.split_once('<') {
        let (tag, after) = after.split_once('>').expect("a tag has an end");
        rest = after;
        let name = tag.split([' ', '\n']).next().unwrap();
        if let Some(name) = name.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "at {tag}");
        } else if !tag.ends_with('/') && !tag.starts_with(['!', '?']) && !VOID.contains(&name) {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

const VOID: &[&str] = &["input", "link", "meta"];
