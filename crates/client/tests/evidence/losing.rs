//! The server ran a tool, answered in any way, and lost its session or changed its era. The tool runs once
//! more at most, and only after something else was refused likewise.

use ridethrough::Era;
use ridethrough::server::Eras;

use crate::case::{Body, Carrier, Case, Status, Words};
use crate::judge;
use crate::rig::{Way, World, paused};
use crate::server::{Speaks, Then};
use crate::tally::Tally;

/// Defines a sweep for each protocol that has sessions, and each kind of client.
macro_rules! sweeps {
    ($($name:ident: $speaks:ident, $eras:expr, $carrier:ident;)*) => {$(
        #[test]
        fn $name() {
            sweep(World::new(Speaks::$speaks, $eras), Carrier::$carrier);
        }
    )*};
}

sweeps! {
    a_lost_session_is_believed_when_a_probe_is_refused_likewise: WithIds, Eras::Only(Era::Legacy), Body;
    a_lost_session_that_was_found_is_believed_when_a_probe_is_refused_likewise: WithIds, Eras::Either, Body;
    a_forgetful_server_is_believed_when_a_probe_is_refused_likewise: WithoutIds, Eras::Only(Era::Legacy), Body;
    a_forgetful_server_that_was_found_is_believed_when_a_probe_is_refused_likewise: WithoutIds, Eras::Either, Body;
    a_lost_stream_of_http_sse_is_believed_when_a_probe_is_refused_likewise: HttpSse, Eras::Only(Era::Legacy), Body;
    a_lost_stream_of_http_sse_that_was_found_is_believed_when_a_probe_is_refused_likewise: HttpSse, Eras::Either, Body;
    a_lost_session_told_by_an_event_is_believed_when_a_probe_is_refused_likewise: WithIds, Eras::Only(Era::Legacy), EventStream;
    a_forgetful_server_that_says_so_by_an_event_is_believed_when_a_probe_is_refused_likewise: WithoutIds, Eras::Either, EventStream;
}

#[test]
fn a_lost_session_over_http2_is_believed_when_a_probe_is_refused_likewise() {
    let world = World::new(Speaks::WithIds, Eras::Only(Era::Legacy));

    sweep(world.by(Way::PipesOfHttp2), Carrier::Body);
}

#[test]
fn a_server_that_is_rolled_back_after_a_run_is_followed_and_the_call_not_repeated_on_a_guess() {
    sweep_eras(Speaks::Stateless, Speaks::WithIds);
}

#[test]
fn a_server_that_is_upgraded_after_a_run_is_followed_and_the_call_not_repeated_on_a_guess() {
    sweep_eras(Speaks::WithIds, Speaks::Stateless);
}

/// Each of the calls is refused by a session that answers pings: the first three end in doubt, and the next
/// caller gets a new session.
#[test]
fn a_server_that_answers_a_ping_in_any_session_costs_three_calls_at_most() {
    let world = World::new(Speaks::WithIds, Eras::Only(Era::Legacy));
    for words in [Words::None, Words::SessionNotFound] {
        let (status, carrier) = (Status::bare(404), Carrier::Body);
        let case = Case { number: 1, status, body: Body::Text, words, carrier };

        let seen = paused(world.then(Then::LosesSessionButPings).live(&case, 3));

        assert_eq!(seen.runs, 1, "{case}");
        assert!(seen.later.last().is_some_and(Result::is_ok), "{case}: {:?}", seen.later);
    }
}

fn sweep(world: World, carrier: Carrier) {
    let world = world.then(Then::LosesSession);
    let mut tally = Tally::default();
    paused(async {
        for case in &crate::sampled(world.speaks, carrier) {
            let seen = world.live(case, 1).await;
            judge::lost(&mut tally, world.speaks, case, &seen);
        }
    });
    tally.finish();
}

fn sweep_eras(from: Speaks, to: Speaks) {
    let world = World::new(from, Eras::Either).then(Then::Becomes(to));
    let mut tally = Tally::default();
    paused(async {
        for case in &crate::sampled(from, Carrier::Body) {
            let seen = world.live(case, 2).await;
            judge::changed(&mut tally, from, case, &seen);
        }
    });
    tally.finish();
}
