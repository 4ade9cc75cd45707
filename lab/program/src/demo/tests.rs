//! A broken promise is found, shown and ends with exit code 1.

use std::collections::BTreeMap;

use ridethrough::error::Kind;
use ridethrough::event::Event;
use ridethrough_lab::scenario::Scenarios;
use serde_json::Value;

use super::record::{CallEnd, Failed, Record};
use super::*;

#[test]
fn what_each_act_promises_holds_for_a_record_in_which_it_was_kept() {
    for (act, record) in ACTS.iter().zip(good_records()) {
        let verdict = (act.judge)(&record);

        assert_eq!(verdict.broken, Vec::<String>::new(), "{}", act.name);
        assert!(verdict.is_held() && !verdict.outcome.is_empty());
    }
}

#[test]
fn a_call_that_ran_twice_breaks_the_promise_of_every_act() {
    for (act, mut record) in ACTS.iter().zip(good_records()) {
        let (name, _) = record.runs.pop_first().unwrap();
        record.runs.insert(name.clone(), 2);

        assert_broken(act, &record, &format!("`{name}` ran 2 times"));
    }
}

#[test]
fn a_call_that_never_ended_breaks_the_promise_of_every_act() {
    for (act, mut record) in ACTS.iter().zip(good_records()) {
        let end = record.ends.pop().unwrap();

        assert_broken(act, &record, &format!("`{}` never ended", end.name));
    }
}

#[test]
fn a_further_handshake_breaks_the_promise_of_every_act() {
    for (act, mut record) in ACTS.iter().zip(good_records()) {
        record.handshakes += 1;

        assert_broken(act, &record, "handshakes instead of");
    }
}

#[test]
fn what_one_act_alone_promises_can_be_broken_too() {
    let spoils: [(usize, Spoil, &str); 9] = [
        (0, |it| it.resumes = 40, "40 resumes"),
        (0, |it| it.resumes = 0, "0 resumes"),
        (0, |it| it.ends[0].took = Duration::from_secs(31), "`deploy` took longer than 30 s"),
        (0, |it| it.ends[0].result = Ok("deploy".to_owned()), "`deploy` was answered"),
        (1, |it| it.events.clear(), "the standing stream did not come back"),
        (1, |it| it.refusals = 0, "0 requests met a 503"),
        (2, |it| it.carriers = 10, "10 calls took 10 connections"),
        (3, |it| it.ends[4].result = Ok("call 1".to_owned()), "`call 5` was answered `call 1`"),
        (4, |it| it.ends[3].result = failed(Kind::Interrupted, false), "does not say that it may"),
    ];
    for (act, spoil, words) in spoils {
        let mut record = good_records().swap_remove(act);

        spoil(&mut record);

        assert_broken(&ACTS[act], &record, words);
    }
}

#[test]
fn the_scenario_of_each_act_is_about_the_same_report() {
    let scenarios = Scenarios::ours().unwrap();
    for act in &ACTS {
        let (_, number) = act.report.split_once('#').unwrap();

        let scenario = scenarios.find(act.scenario).unwrap();

        assert!(scenario.why.contains(number), "{}: {}", act.report, scenario.why);
    }
}

#[tokio::test(start_paused = true)]
async fn a_broken_promise_is_shown_and_ends_with_exit_code_1() {
    let mut screen = Screen::new(Vec::new(), false);

    let is_good = perform(&[KEPT, BROKEN, KEPT], &mut screen).await.unwrap();

    let said = String::from_utf8(screen.into_inner()).unwrap();
    assert!(!is_good);
    assert_eq!(format!("{:?}", exit(is_good)), format!("{:?}", ExitCode::FAILURE));
    assert!(said.contains("promise broken: it ran twice"), "{said}");
    assert_eq!(said.matches("promise held: ").count(), 2, "{said}");
    assert!(said.contains("BROKEN: as it was"), "{said}");
    assert!(said.trim_end().contains("2 of 3 promises held"), "{said}");
}

#[tokio::test(start_paused = true)]
async fn kept_promises_end_with_exit_code_0() {
    let is_good = perform(&[KEPT], &mut Screen::new(Vec::new(), false)).await.unwrap();

    assert_eq!(format!("{:?}", exit(is_good)), format!("{:?}", ExitCode::SUCCESS));
}

#[tokio::test(start_paused = true)]
async fn an_act_without_end_is_a_broken_promise_and_the_next_one_is_played() {
    let mut json = Json::new(Vec::new());

    let began = Instant::now();
    let is_good = perform(&[ENDLESS, KEPT, ENDLESS, ENDLESS], &mut json).await.unwrap();

    assert!(began.elapsed() < Duration::from_secs(60));
    let said = objects(&json.into_inner());
    assert!(!is_good);
    assert_eq!(said.len(), 5);
    assert_eq!((&said[0]["held"], &said[1]["held"]), (&Value::Bool(false), &Value::Bool(true)));
    assert_eq!(said[0]["broken"][0], "the act had no end within 32 s");
    assert_eq!(
        (&said[4]["acts"], &said[4]["held"], &said[4]["broken"]),
        (&4.into(), &1.into(), &3.into())
    );
}

#[tokio::test(start_paused = true)]
async fn callers_with_one_fate_are_one_line_for_people_and_all_there_for_machines() {
    let (mut screen, mut json) = (Screen::new(Vec::new(), false), Json::new(Vec::new()));

    perform(&[KEPT], &mut screen).await.unwrap();
    perform(&[KEPT], &mut json).await.unwrap();

    let said = String::from_utf8(screen.into_inner()).unwrap();
    assert!(said.contains("  you     call `echo` (3 times)\n"), "{said}");
    let events = objects(&json.into_inner())[0]["events"].clone();
    assert_eq!(events.as_array().map(Vec::len), Some(3));
    assert_eq!((&events[0]["who"], &events[0]["what"]), (&"you".into(), &"call `echo`".into()));
}

#[tokio::test(start_paused = true)]
async fn colour_is_for_terminals_only() {
    let mut screen = Screen::new(Vec::new(), true);
    let mut plain = Screen::new(Vec::new(), false);

    perform(&[KEPT, BROKEN], &mut screen).await.unwrap();
    perform(&[KEPT, BROKEN], &mut plain).await.unwrap();

    assert!(screen.into_inner().contains(&0x1b));
    assert!(!plain.into_inner().contains(&0x1b));
}

#[test]
fn a_reader_that_left_is_no_failure_and_every_other_error_is() {
    let left = io::Error::from(io::ErrorKind::BrokenPipe);
    let full = io::Error::from(io::ErrorKind::StorageFull);

    assert!(forgive(left.into()).is_ok());
    assert!(forgive(full.into()).is_err());
    assert!(forgive(anyhow::anyhow!("no port")).is_err());
}

const KEPT: Act = Act {
    name: "kept",
    breaks: "nothing at all",
    report: "nobody",
    scenario: "Z1",
    promise: "as always",
    play: |tell| {
        Box::pin(async move {
            let diary = line::Diary::begin(tell);
            (0..3).for_each(|_| diary.caller("call `echo`"));
            Ok(Record::default())
        })
    },
    judge: |_| ActVerdict { outcome: "as it should be".to_owned(), broken: Vec::new() },
};

const BROKEN: Act = Act {
    judge: |_| ActVerdict {
        outcome: "as it was".to_owned(),
        broken: vec!["it ran twice".to_owned()],
    },
    ..KEPT
};

const ENDLESS: Act = Act { play: |_| Box::pin(std::future::pending()), ..KEPT };

type Spoil = fn(&mut Record);

fn assert_broken(act: &Act, record: &Record, words: &str) {
    let broken = (act.judge)(record).broken.join("; ");
    assert!(broken.contains(words), "{}: `{words}` is not in `{broken}`", act.name);
}

/// Returns a record for each act, as a client makes it that keeps its promises.
fn good_records() -> Vec<Record> {
    let back = Event::ListenerBack { gap: Duration::from_secs(1) };
    let mut dropped = record(&["deploy", "after"], 1);
    dropped.ends[0].result = failed(Kind::Exhausted, true);
    dropped.resumes = 8;
    let refused = record(&["deploy", "after"], 1);
    let refused = Record { refusals: 4, events: vec![back], ..refused };
    let ten: Vec<_> = (1..=10).map(|number| format!("call {number}")).collect();
    let ten: Vec<_> = ten.iter().map(String::as_str).collect();
    let mut restarted = record(&["call 1", "call 2", "call 3", "deploy"], 2);
    restarted.ends[3].result = failed(Kind::Interrupted, true);
    let reused = Record { carriers: 1, connections: 2, ..record(&ten, 1) };
    vec![dropped, refused, reused, record(&ten, 2), restarted]
}

/// Returns a record of calls that were answered and ran once.
fn record(names: &[&str], handshakes: usize) -> Record {
    let took = Duration::from_secs(1);
    let end = |name: &&str| CallEnd { name: name.to_string(), took, result: Ok(name.to_string()) };
    let runs: BTreeMap<_, _> = names.iter().map(|name| (name.to_string(), 1)).collect();
    Record { ends: names.iter().map(end).collect(), runs, handshakes, ..Record::default() }
}

fn failed(kind: Kind, may_have_run: bool) -> Result<String, Failed> {
    Err(Failed { kind: Some(kind), may_have_run, report: "it failed".to_owned() })
}

fn objects(said: &[u8]) -> Vec<Value> {
    let said = std::str::from_utf8(said).unwrap();
    said.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}
