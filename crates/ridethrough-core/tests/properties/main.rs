//! Properties: what must hold for every sequence of server behaviours.
//!
//! A script is a list of moves, each of them something that the application, the server, the
//! network or the clock may do next. Proptest draws scripts and shrinks a failing one to the few
//! moves that matter; its printed form is the bug report. Unlike the simulator there is no model
//! of a sane server here: any answer may come at any time, in any order, also twice or too late.

#![allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helpers too"
)]

mod bench;
mod moves;

use std::time::Duration;

use proptest::prelude::*;
use ridethrough_core::Moment;
use ridethrough_core::budget::Budget;

use bench::Bench;
use moves::{Move, healing, script};

fn config() -> ProptestConfig {
    // A fixed seed: the same scripts on every machine. PROPTEST_CASES draws more of them.
    ProptestConfig {
        cases: ProptestConfig::default().cases.max(2000),
        rng_seed: proptest::test_runner::RngSeed::Fixed(0x0071_de72_0fae),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

fn play(moves: &[Move]) -> Bench {
    let mut bench = Bench::new();
    for each in moves {
        bench.make(each);
    }
    bench
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn every_exchange_has_exactly_one_outcome_also_on_close(moves in script()) {
        let mut bench = play(&moves);

        bench.close();

        // That no exchange ends twice is asserted by the bench at each ending.
        prop_assert_eq!(bench.begun, bench.outcomes.len());
    }

    #[test]
    fn an_unsafe_request_is_never_sent_again_once_it_may_have_arrived(moves in script()) {
        let bench = play(&moves);

        prop_assert_eq!(&bench.unsafe_repeats, &Vec::<String>::new());
    }

    #[test]
    fn attempts_resumes_and_time_are_bounded_for_every_sequence(moves in script()) {
        let mut bench = play(&moves);
        bench.outlast_all_deadlines();

        prop_assert!(bench.outcomes.len() == bench.begun, "a call outlived its deadline");
        prop_assert!(bench.most_resumes <= 1000);
        // Sent once, and again by rows 2, 3 and 7, by 5, 9, 22, 23 and 24.
        prop_assert!(bench.most_sends <= 1 + 3 + 1 + 1 + 1 + 2 + 5, "{} sends", bench.most_sends);
        prop_assert!(bench.shortest_resume_gap.is_none_or(|gap| gap.as_millis() >= 100));
    }

    #[test]
    fn nothing_follows_the_final_answer(moves in script()) {
        let bench = play(&moves);

        prop_assert_eq!(&bench.after_the_end, &Vec::<String>::new());
    }

    #[test]
    fn late_news_of_an_older_attempt_changes_nothing(moves in script(), late in script()) {
        let mut bench = play(&moves);
        let before = bench.fingerprint();

        bench.replay_late(&late);

        prop_assert_eq!(before, bench.fingerprint());
    }

    #[test]
    fn there_is_one_renewal_at_a_time(moves in script()) {
        let bench = play(&moves);

        prop_assert!(bench.most_handshakes_out <= 1);
    }

    #[test]
    fn answers_are_never_mixed(moves in script()) {
        let bench = play(&moves);

        prop_assert_eq!(&bench.mixed, &Vec::<String>::new());
    }

    #[test]
    fn hints_are_never_undercut(moves in script()) {
        let bench = play(&moves);

        prop_assert_eq!(&bench.undercut, &Vec::<String>::new());
    }

    #[test]
    fn doubt_only_rises_and_an_error_never_denies_it(moves in script()) {
        let mut bench = play(&moves);
        bench.close();

        prop_assert_eq!(&bench.denied, &Vec::<String>::new());
    }

    #[test]
    fn with_a_server_that_heals_every_waiting_call_ends_and_a_new_one_succeeds(
        moves in script(), grace in healing()
    ) {
        let mut bench = play(&moves);

        bench.heal(grace);

        prop_assert_eq!(bench.begun, bench.outcomes.len());
        prop_assert!(bench.last_call_succeeded, "the link stayed dead");
    }

    #[test]
    fn closing_leaves_nothing_behind(moves in script()) {
        let mut bench = play(&moves);

        bench.close();

        prop_assert!(bench.closed);
        prop_assert!(bench.link.poll_timeout().is_none());
        prop_assert!(bench.out.is_empty(), "attempts are left: {:?}", bench.out);
    }

    #[test]
    fn the_budget_never_grants_more_than_it_was_given(
        moves in proptest::collection::vec((any::<bool>(), 0..2000_u64), 1..500)
    ) {
        let mut now = Moment::START;
        let mut budget = Budget::new(now);
        let (mut calls, mut granted) = (0_u64, 0_u64);

        for (is_call, millis) in moves {
            now = now + Duration::from_millis(millis);
            if is_call {
                budget.deposit();
                calls += 1;
            } else {
                granted += u64::from(budget.withdraw(now).is_ok());
            }
            let earned = 100 + calls / 5 + now.elapsed().as_millis() as u64 / 100;
            prop_assert!(granted <= earned, "{granted} granted, {earned} earned");
            prop_assert!(budget.balance() <= 100);
        }
    }
}
