//! Each broken promise is noticed, and a kept one is not reported.

use std::time::Duration;

use serde_json::json;

use super::*;
use crate::net::{Harm, Passed, Way};

#[test]
fn a_run_in_which_every_call_was_answered_is_right() {
    assert_eq!(judged(Break::Fin, life()), NOTHING);
}

#[test]
fn an_unsafe_call_that_ends_in_doubt_is_right_whether_it_ran_or_not() {
    for ran in [0, 1] {
        let mut life = life();
        life.ended[0].ending = error(Kind::Interrupted, true);
        life.runs.truncate(ran);

        assert_eq!(judged(Break::Fin, life), NOTHING, "{ran}");
    }
}

#[test]
fn a_second_run_is_seen_whatever_the_call_was_told() {
    for ending in [answer("a"), error(Kind::Interrupted, true)] {
        let mut life = life();
        life.ended[0].ending = ending;
        life.runs.push(life.runs[0].clone());

        assert_eq!(judged(Break::Fin, life), ["deploy a ran 2 times"]);
    }
}

#[test]
fn an_error_that_denies_a_run_is_seen() {
    let mut life = life();
    life.ended[0].ending = error(Kind::Unreachable, false);

    assert_eq!(
        judged(Break::Fin, life),
        ["deploy a ran, and its error says that it cannot have: words"]
    );
}

#[test]
fn an_unsafe_call_that_never_left_and_failed_is_seen() {
    let mut life = life();
    life.ended[0].ending = error(Kind::Unreachable, false);
    life.runs.clear();

    assert_eq!(
        judged(Break::Fin, life),
        ["deploy a cannot have run, and failed all the same: words"]
    );
}

#[test]
fn an_answer_of_another_call_is_seen() {
    let mut life = life();
    life.ended[1].ending = answer("a");

    assert_eq!(judged(Break::Fin, life), ["read b: `a` is not what the server gave"]);
}

#[test]
fn a_safe_call_that_failed_is_seen_but_for_one_that_was_lost_in_silence() {
    let mut life = life();
    life.ended[1].ending = error(Kind::DeadlinePassed, true);

    assert_eq!(judged(Break::Stall, clone(&life)), NOTHING);
    assert_eq!(judged(Break::Fin, life), ["read b failed: words"]);
}

#[test]
fn a_second_call_that_was_lost_in_silence_is_seen() {
    let mut life = life();
    for ended in &mut life.ended {
        ended.ending = error(Kind::DeadlinePassed, true);
    }

    let wrong = judged(Break::Stall, life);

    assert_eq!(wrong, ["2 calls waited in vain for one dead connection"]);
}

#[test]
fn calls_that_hang_are_lost_or_leave_tasks_behind_are_seen() {
    let (mut hung, mut lost, mut left) = (life(), life(), life());
    hung.ended[1].ending = Ending::Hung;
    lost.ended.pop();
    left.tasks = 1;

    assert_eq!(judged(Break::Fin, hung), ["read b hangs: no outcome after 1s"]);
    assert_eq!(judged(Break::Fin, lost), ["read b ended 0 times"]);
    assert_eq!(judged(Break::Fin, left), ["1 tasks are left"]);
}

#[test]
fn news_that_come_twice_or_not_at_all_are_seen() {
    let point = point(Break::Fin);

    assert_eq!(news_fault("[1,3]", "[1,2,3]", &point), None);
    assert!(news_fault("[1,1,3]", "[1,2,3]", &point).is_some());
    assert!(news_fault("[1,2]", "[1,2,3]", &point).is_some());
}

fn judged(breaks: Break, lived: RunRecord) -> Vec<String> {
    judge(&Exchange::PLAIN, &point(breaks), &lived, &life())
}

fn point(breaks: Break) -> Point {
    let harm = Harm { way: Way::ToClient, after: 0, breaks };
    Point { exchange: "plain", protocol: Protocol::Http1, dial: 0, harm }
}

/// Two calls, both answered.
fn life() -> RunRecord {
    let run = Run { request: 0, tool: "deploy".to_owned(), arguments: json!({ "key": "a" }) };
    let ended = [("deploy a", Nature::deploy("a"), "a"), ("read b", Nature::Safe, "b")];
    let ended = ended.map(|(name, nature, text)| Ended {
        name: name.to_owned(),
        nature,
        ending: answer(text),
        took: Duration::from_secs(1),
    });
    let passed = vec![Passed { is_broken: true, ..Passed::default() }];
    RunRecord { ended: ended.into(), runs: vec![run], scripted: passed.clone(), passed, tasks: 0 }
}

fn clone(life: &RunRecord) -> RunRecord {
    let RunRecord { ended, runs, scripted, passed, tasks } = life;
    let (ended, runs) = (ended.clone(), runs.clone());
    RunRecord { ended, runs, scripted: scripted.clone(), passed: passed.clone(), tasks: *tasks }
}

fn answer(text: &str) -> Ending {
    Ending::Answer(text.to_owned())
}

fn error(kind: Kind, may_have_run: bool) -> Ending {
    Ending::Error { kind: Some(kind), may_have_run, words: "words".to_owned() }
}

const NOTHING: [&str; 0] = [];
