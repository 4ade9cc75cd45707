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
mod wire;

use std::time::Duration;

use proptest::prelude::*;
use ridethrough_core::budget::Budget;
use ridethrough_core::{Era, Eras, Moment};

use bench::Bench;
use moves::{Move, healing, script};

fn config() -> ProptestConfig {
    // A fixed seed gives equal scripts on every machine. PROPTEST_CASES draws more of them.
    ProptestConfig {
        rng_seed: proptest::test_runner::RngSeed::Fixed(0x0071_de72_0fae),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

/// The eras of the links: either one, and one that finds out. Every property holds for all of them.
const ERAS: [Eras; 3] = [Eras::Either, Eras::Only(Era::Legacy), Eras::Only(Era::Modern)];

fn play(eras: Eras, moves: &[Move]) -> Bench {
    let mut bench = Bench::new(eras);
    for each in moves {
        bench.make(each);
    }
    bench
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn every_exchange_has_exactly_one_outcome_also_on_close(moves in script()) {
        for eras in ERAS {
            let mut bench = play(eras, &moves);

            bench.close();

            // The bench asserts at each ending that no exchange ends twice.
            prop_assert_eq!(bench.begun, bench.outcomes.len());
        }
    }

    #[test]
    fn an_unsafe_request_is_never_sent_again_once_it_may_have_arrived(moves in script()) {
        for eras in ERAS {
            let bench = play(eras, &moves);

            prop_assert_eq!(&bench.unsafe_repeats, &Vec::<String>::new());
        }
    }

    #[test]
    fn attempts_resumes_and_time_are_bounded_for_every_sequence(moves in script()) {
        for eras in ERAS {
            let mut bench = play(eras, &moves);
            bench.outlast_all_deadlines();

            prop_assert!(bench.outcomes.len() == bench.begun, "a call outlived its deadline");
            prop_assert!(bench.most_resumes <= 1000);
            prop_assert!(bench.most_rounds <= 10, "{} rounds", bench.most_rounds);
            // A call is sent once; again by rows 5, 9, 22, 23 and 24, and by L18; by rows 2, 3 and 7 three
            // times, and for half a minute with pauses that grow; each round is a send of its own.
            prop_assert!(bench.most_sends <= 1 + 1 + 1 + 1 + 2 + 5 + 1 + 3 + 20, "{} sends", bench.most_sends);
            prop_assert!(bench.shortest_resume_gap.is_none_or(|gap| gap.as_millis() >= 100));
        }
    }

    #[test]
    fn nothing_follows_the_final_answer(moves in script()) {
        for eras in ERAS {
            let bench = play(eras, &moves);

            prop_assert_eq!(&bench.after_the_end, &Vec::<String>::new());
        }
    }

    #[test]
    fn late_news_of_an_older_attempt_changes_nothing(moves in script(), late in script()) {
        for eras in ERAS {
            let mut bench = play(eras, &moves);
            let before = bench.fingerprint();

            bench.replay_late(&late);

            prop_assert_eq!(before, bench.fingerprint());
        }
    }

    #[test]
    fn there_is_one_renewal_at_a_time(moves in script()) {
        for eras in ERAS {
            let bench = play(eras, &moves);

            prop_assert!(bench.most_handshakes_out <= 1);
        }
    }

    #[test]
    fn answers_are_never_mixed(moves in script()) {
        for eras in ERAS {
            let bench = play(eras, &moves);

            prop_assert_eq!(&bench.mixed, &Vec::<String>::new());
        }
    }

    #[test]
    fn hints_are_never_undercut(moves in script()) {
        for eras in ERAS {
            let bench = play(eras, &moves);

            prop_assert_eq!(&bench.undercut, &Vec::<String>::new());
        }
    }

    #[test]
    fn doubt_only_rises_and_an_error_never_denies_it(moves in script()) {
        for eras in ERAS {
            let mut bench = play(eras, &moves);
            bench.close();

            prop_assert_eq!(&bench.denied, &Vec::<String>::new());
        }
    }

    #[test]
    fn with_a_server_that_heals_every_waiting_call_ends_and_a_new_one_succeeds(
        moves in script(), grace in healing()
    ) {
        for eras in ERAS {
            let mut bench = play(eras, &moves);

            bench.heal(grace);

            prop_assert_eq!(bench.begun, bench.outcomes.len());
            prop_assert!(bench.last_call_succeeded, "the link stayed dead");
        }
    }

    #[test]
    fn a_call_that_waits_for_more_scope_holds_back_no_other(
        moves in script(), grace in healing()
    ) {
        for eras in ERAS {
            let mut bench = play(eras, &moves);
            bench.heal(grace);

            prop_assert!(bench.goes_on_without_scope());
        }
    }

    #[test]
    fn a_request_says_only_what_its_era_knows_and_a_pinned_link_keeps_to_its_era(moves in script()) {
        for eras in ERAS {
            let mut bench = play(eras, &moves);
            bench.close();

            prop_assert_eq!(&bench.wire_faults, &Vec::<String>::new());
        }
    }

    #[test]
    fn every_request_has_an_id_of_its_own(moves in script()) {
        for eras in ERAS {
            let bench = play(eras, &moves);

            prop_assert_eq!(&bench.ids_again, &Vec::<u64>::new());
        }
    }

    #[test]
    fn what_the_server_wants_to_find_again_is_sent_back_byte_for_byte(moves in script()) {
        for eras in ERAS {
            let bench = play(eras, &moves);

            prop_assert_eq!(&bench.wrong_states, &Vec::<String>::new());
        }
    }

    #[test]
    fn a_cancel_closes_what_is_out_and_a_loss_is_no_cancel(moves in script()) {
        for eras in ERAS {
            let mut bench = play(eras, &moves);
            bench.outlast_all_deadlines();

            prop_assert_eq!(&bench.left_open, &Vec::<String>::new());
            prop_assert_eq!(&bench.false_cancels, &Vec::<String>::new());
        }
    }

    #[test]
    fn closing_leaves_nothing_behind(moves in script()) {
        for eras in ERAS {
            let mut bench = play(eras, &moves);

            bench.close();

            prop_assert!(bench.closed);
            prop_assert!(bench.link.poll_timeout().is_none());
            prop_assert!(bench.out.is_empty(), "attempts are left: {:?}", bench.out);
        }
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
