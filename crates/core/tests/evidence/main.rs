//! Evidence before repetition: the promise, checked against every answer that a server can give.
//!
//! A tool ran, and then an answer came: any status, any body, any words, in any era. The number of cases is
//! finite: with `RIDETHROUGH_TESTS=all` every one is tried in every world. Elsewhere each world takes every fourth,
//! and the next world begins one later, so that it takes others. Faults are collected, counted and reported
//! together, so that one run shows all of them.

#![allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helpers too"
)]

mod bench;
#[expect(dead_code, reason = "how a stream is written on the wire is HTTP's business")]
mod case;
mod judge;
mod pool;
mod rules;
#[expect(dead_code, reason = "what is quoted is masked by the client, and tried there")]
mod server;
mod tally;

mod sequences;

use ridethrough_core::{Era, Eras};

use bench::Bench;
use case::{Carrier, cases};
use server::{Speaks, Then};
use tally::Tally;

#[test]
fn an_answer_of_a_server_that_lives_is_evidence() {
    all_live(&WORLDS);
}

#[test]
fn an_answer_by_http_sse_is_evidence() {
    all_live(&BY_HTTP_SSE);
}

#[test]
fn an_answer_of_one_of_two_replicas_is_evidence() {
    all_live(&REPLICAS);
}

#[test]
fn a_lost_session_is_believed_only_when_something_else_is_refused_likewise() {
    all_lose_their_session(&WORLDS);
}

#[test]
fn a_lost_stream_of_http_sse_is_believed_only_when_something_else_is_refused_likewise() {
    all_lose_their_session(&BY_HTTP_SSE);
}

#[test]
fn a_session_that_one_of_two_replicas_lost_is_believed_only_when_something_else_is_refused_likewise()
 {
    all_lose_their_session(&REPLICAS);
}

#[test]
fn a_changed_era_is_no_proof_that_a_call_did_not_run() {
    let mut tally = Tally::default();
    let changes = [(Speaks::Stateless, Speaks::WithIds), (Speaks::WithIds, Speaks::Stateless)];
    for (number, (speaks, becomes)) in changes.into_iter().enumerate() {
        for case in sampled(number, speaks) {
            let then = Then::Becomes(becomes);
            let seen = Bench::live(Eras::Either, speaks, &case, then, 2);
            judge::changed(tally.of(&format!("from {speaks:?}")), speaks, &case, &seen);
        }
    }
    tally.finish();
}

#[test]
fn the_answer_to_a_resume_makes_no_doubt_less() {
    all_resume(&WORLDS);
}

#[test]
fn the_answer_of_one_of_two_replicas_to_a_resume_makes_no_doubt_less() {
    all_resume(&REPLICAS);
}

fn all_live(worlds: &[World]) {
    let mut tally = Tally::default();
    for (number, &(speaks, eras)) in worlds.iter().enumerate() {
        for case in sampled(number, speaks) {
            let seen = Bench::live(eras, speaks, &case, Then::Lives, 1);
            judge::living(tally.of(&format!("{speaks:?} {eras:?}")), speaks, &case, &seen);
        }
    }
    tally.finish();
}

fn all_lose_their_session(worlds: &[World]) {
    let mut tally = Tally::default();
    let with_sessions = worlds.iter().filter(|(speaks, _)| *speaks != Speaks::Stateless);
    for (number, &(speaks, eras)) in with_sessions.enumerate() {
        for case in sampled(number, speaks) {
            let seen = Bench::live(eras, speaks, &case, Then::LosesSession, 1);
            judge::lost(tally.of(&format!("{speaks:?} {eras:?}")), speaks, &case, &seen);
        }
    }
    tally.finish();
}

fn all_resume(worlds: &[World]) {
    let mut tally = Tally::default();
    let with_sessions = worlds.iter().filter(|(speaks, _)| *speaks != Speaks::Stateless);
    for (number, &(speaks, eras)) in with_sessions.enumerate() {
        for case in sampled(number, speaks) {
            let seen = Bench::live(eras, speaks, &case, Then::ResumesOddly, 1);
            judge::resumed(tally.of(&format!("{speaks:?} {eras:?}")), &case, &seen);
        }
    }
    tally.finish();
}

/// Returns what such a server can answer, for the world of this number.
fn sampled(world: usize, speaks: Speaks) -> impl Iterator<Item = case::Case> {
    let all = cases(Carrier::Body).into_iter().chain(cases(Carrier::EventStream));
    let possible = all.filter(move |case| rules::can_answer(speaks, case));
    let step = case::sampled(4);
    possible.skip(world % step).step_by(step)
}

/// Whether challenges have words. The core learns that a challenge asks for credentials, and not in which
/// words.
const CHALLENGES_HAVE_WORDS: bool = false;

/// A kind of server, and the eras that its client may speak.
type World = (Speaks, Eras);

/// Each kind of server, with a client that is pinned to its era and with one that finds it out.
const WORLDS: [World; 6] = [
    (Speaks::WithIds, Eras::Only(Era::Legacy)),
    (Speaks::WithIds, Eras::Either),
    (Speaks::WithoutIds, Eras::Only(Era::Legacy)),
    (Speaks::WithoutIds, Eras::Either),
    (Speaks::Stateless, Eras::Only(Era::Modern)),
    (Speaks::Stateless, Eras::Either),
];

/// The servers of HTTP+SSE, where nothing can be resumed.
const BY_HTTP_SSE: [World; 2] =
    [(Speaks::HttpSse, Eras::Only(Era::Legacy)), (Speaks::HttpSse, Eras::Either)];

const REPLICAS: [World; 2] =
    [(Speaks::Replicas, Eras::Only(Era::Legacy)), (Speaks::Replicas, Eras::Either)];
