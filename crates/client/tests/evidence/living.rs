//! The server ran a tool, answered in any way, and lives on. The tool never runs twice, and is never reported
//! as not run; an answer goes to the call that it names; the server's words are kept; and the next call
//! succeeds.

use ridethrough::Era;
use ridethrough::server::Eras;

use crate::case::{Carrier, Case, cases};
use crate::judge;
use crate::rig::{Brings, Way, World, paused};
use crate::server::Speaks;
use crate::tally::Tally;

/// Defines a sweep for each protocol, each kind of client, and each way to carry an answer.
macro_rules! sweeps {
    ($($name:ident: $speaks:ident, $eras:expr, $carrier:ident;)*) => {$(
        #[test]
        fn $name() {
            let mut tally = Tally::default();
            let cases = crate::sampled(Speaks::$speaks, Carrier::$carrier);
            sweep(&mut tally, World::new(Speaks::$speaks, $eras), &cases);
            tally.finish();
        }
    )*};
}

sweeps! {
    an_answer_in_a_session_is_evidence: WithIds, Eras::Only(Era::Legacy), Body;
    an_answer_in_a_session_that_was_found_is_evidence: WithIds, Eras::Either, Body;
    an_answer_without_a_session_id_is_evidence: WithoutIds, Eras::Only(Era::Legacy), Body;
    an_answer_without_a_session_id_that_was_found_is_evidence: WithoutIds, Eras::Either, Body;
    an_answer_of_a_stateless_server_is_evidence: Stateless, Eras::Only(Era::Modern), Body;
    an_answer_of_a_stateless_server_that_was_found_is_evidence: Stateless, Eras::Either, Body;
    an_answer_by_http_sse_is_evidence: HttpSse, Eras::Only(Era::Legacy), Body;
    an_answer_by_http_sse_that_was_found_is_evidence: HttpSse, Eras::Either, Body;
    an_answer_of_one_of_two_replicas_is_evidence: Replicas, Eras::Only(Era::Legacy), Body;
    an_answer_of_one_of_two_replicas_that_was_found_is_evidence: Replicas, Eras::Either, Body;
    an_event_of_one_of_two_replicas_is_evidence: Replicas, Eras::Either, EventStream;
    an_event_by_http_sse_is_evidence: HttpSse, Eras::Either, EventStream;
    an_event_in_a_session_is_evidence: WithIds, Eras::Only(Era::Legacy), EventStream;
    an_event_in_a_session_that_was_found_is_evidence: WithIds, Eras::Either, EventStream;
    an_event_without_a_session_id_is_evidence: WithoutIds, Eras::Only(Era::Legacy), EventStream;
    an_event_without_a_session_id_that_was_found_is_evidence: WithoutIds, Eras::Either, EventStream;
    an_event_of_a_stateless_server_is_evidence: Stateless, Eras::Only(Era::Modern), EventStream;
    an_event_of_a_stateless_server_that_was_found_is_evidence: Stateless, Eras::Either, EventStream;
}

#[test]
fn an_answer_over_http2_is_evidence() {
    let mut tally = Tally::default();
    for (speaks, eras) in
        [(Speaks::WithIds, Eras::Only(Era::Legacy)), (Speaks::Stateless, Eras::Either)]
    {
        let world = World::new(speaks, eras).by(Way::PipesOfHttp2);
        let cases = crate::sampled(speaks, Carrier::Body);
        sweep(tally.of(&format!("{speaks:?} {eras:?}")), world, &cases);
    }
    tally.finish();
}

#[test]
fn an_answer_to_who_can_bring_better_credentials_is_evidence() {
    let mut tally = Tally::default();
    for (speaks, eras) in
        [(Speaks::WithIds, Eras::Only(Era::Legacy)), (Speaks::Stateless, Eras::Either)]
    {
        let world = World::new(speaks, eras).brings(Brings::AnotherToken);
        let guards = cases(Carrier::Body).into_iter();
        let guards: Vec<_> = guards.filter(|it| matches!(it.status.code, 401 | 403)).collect();
        sweep(tally.of(&format!("{speaks:?} {eras:?}")), world, &guards);
    }
    tally.finish();
}

/// Runs all cases, so that one run reports all faults.
fn sweep(tally: &mut Tally, world: World, cases: &[Case]) {
    paused(async {
        for case in cases {
            let seen = world.live(case, 1).await;
            judge::living(tally, world.speaks, case, &seen);
        }
    });
}
