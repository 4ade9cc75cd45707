//! Evidence before repetition, through the whole client over HTTP.
//!
//! A server that this project did not write runs an unsafe tool and only then answers, in one of thousands of
//! odd ways. The tests compare the client's reaction with the rules: a status or a phrase is no proof. Faults
//! are collected, counted and reported together, so that one run shows all of them.
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

/// Whether the words of a challenge reach the caller.
const CHALLENGES_HAVE_WORDS: bool = true;

/// Returns a sample of such a server's answers, of all kinds alike: the machine alone is tested with more of
/// them. With `RIDETHROUGH_TESTS=all` it is every answer.
fn sampled(speaks: server::Speaks, carrier: case::Carrier) -> Vec<case::Case> {
    let cases = case::cases(carrier).into_iter().filter(|case| rules::can_answer(speaks, case));
    cases.step_by(case::sampled(29)).collect()
}
