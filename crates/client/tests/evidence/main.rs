//! Evidence before repetition, through the whole client over HTTP.
//!
//! A server that nobody here wrote runs an unsafe tool and only then answers, in one of thousands of odd ways.
//! What the client makes of it is held against the rules: a status or a phrase is no proof. One run shows
//! everything: faults are collected, counted, and told together.
//!
//! The cases, the rules and the server are those that the machine alone is tested with.

#![cfg(test)]

#[path = "../../../core/tests/evidence/case.rs"]
mod case;
#[path = "../../../core/tests/evidence/judge.rs"]
mod judge;
#[path = "../../../core/tests/evidence/rules.rs"]
mod rules;
#[path = "../../../core/tests/evidence/server.rs"]
#[expect(dead_code, reason = "sequences of answers are tried on the machine alone")]
mod server;
#[path = "../../../core/tests/evidence/tally.rs"]
mod tally;

mod http1;
mod http2;
mod old;
mod rig;

mod living;
mod losing;
mod quoting;
mod resuming;
mod sockets;

/// The words of a challenge reach whoever called.
const CHALLENGES_HAVE_WORDS: bool = true;

/// A sample of what such a server can answer, of all kinds alike: the machine alone is tried with every one of
/// them. `EVIDENCE=all` takes them all here too.
fn sampled(speaks: server::Speaks, carrier: case::Carrier) -> Vec<case::Case> {
    let step = if std::env::var("EVIDENCE").is_ok_and(|it| it == "all") { 1 } else { 11 };
    let cases = case::cases(carrier).into_iter().filter(|case| rules::can_answer(speaks, case));
    cases.step_by(step).collect()
}
