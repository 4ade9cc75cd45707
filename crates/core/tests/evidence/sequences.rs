//! Two, three and more odd answers one after another on one link.

use proptest::prelude::*;
use ridethrough_core::Eras;

use crate::bench::Bench;
use crate::case::{Body, Carrier, Case, Status, Words, cases};
use crate::judge::Ended;
use crate::server::{ODD, Speaks, Then};
use crate::{BY_HTTP_SSE, REPLICAS, WORLDS, rules};

/// A server that answers a ping in any session looks alive for ever: the third refusal in a row that a ping
/// contradicts renews the session for later calls, and repeats nothing.
#[test]
fn a_session_that_only_answers_pings_is_left_after_three_refusals() {
    let case = Case {
        number: 1,
        status: Status::bare(404),
        body: Body::ErrorNull,
        words: Words::SessionNotFound,
        carrier: Carrier::Body,
    };
    for eras in [Eras::Either, Eras::Only(ridethrough_core::Era::Legacy)] {
        let mut bench = Bench::new(eras, Speaks::WithIds, &case, Then::LosesSessionButPings);
        let first = bench.call(ODD);
        assert!(
            matches!(first, Some(Ended::Call { may_have_run: true, .. } | Ended::Error(_))),
            "{first:?}"
        );

        let later = bench.later(3);

        assert!(later.last().is_some_and(Result::is_ok), "{later:?}");
        assert_eq!(bench.server.runs(ODD), 1);
        assert_eq!(bench.server.sessions(), 2);
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: ProptestConfig::default().cases.max(500),
        // A fixed seed gives equal sequences on every machine.
        rng_seed: proptest::test_runner::RngSeed::Fixed(0x0e71_de4c_e000),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn no_sequence_of_answers_runs_a_call_twice_or_denies_it(
        world in proptest::sample::select([&WORLDS[..], &BY_HTTP_SSE, &REPLICAS].concat()),
        answers in proptest::collection::vec(odd_answer(), 2..=4),
    ) {
        let (speaks, eras) = world;
        prop_assume!(answers.iter().all(|case| rules::can_answer(speaks, case)));
        let mut bench = Bench::new(eras, speaks, &answers[0], Then::Lives);
        let mut runs = 0;
        for case in &answers {
            bench.server.answers(case.clone());
            let ended = bench.call(ODD);
            let before = std::mem::replace(&mut runs, bench.server.runs(ODD));

            prop_assert!(ended.is_some(), "{} hung", case);
            let is_lie = rules::is_lie(case) || rules::refuses_the_form(speaks, case);
            // A call that was deferred, or refused by the breaker, did not run at all.
            let ran = runs - before;
            prop_assert!(ran <= rules::most_runs(speaks, case), "{} ran {} times", case, ran);
            if let Some(Ended::Call { may_have_run: false, told }) = &ended {
                prop_assert!(ran == 0 || is_lie, "{} denied: {}", case, told);
            }
        }
        let later = bench.later(4);
        prop_assert!(later.last().is_some_and(Result::is_ok), "{:?}", later);
    }
}

fn odd_answer() -> impl Strategy<Value = Case> {
    let all: Vec<_> = [Carrier::Body, Carrier::EventStream].into_iter().flat_map(cases).collect();
    proptest::sample::select(all)
}
