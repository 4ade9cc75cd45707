//! Scripted exchanges, cut: a sample of all points here, every N-th in `./test`, all of them in
//! `./test --all`.

use std::collections::BTreeSet;

use ridethrough_lab::Protocol;
use ridethrough_sim::net::{Break, Harm, Way};
use ridethrough_sim::torture::{Point, TorturePlan, all, run, run_point};

#[test]
fn wherever_a_connection_is_cut_the_promise_is_kept() {
    let summary = run(&TorturePlan { every: 1999, ..TorturePlan::default() }, |_, _| {});

    assert_eq!(summary.violations, []);
    assert!(summary.points > 400, "{summary}");
}

#[test]
fn there_are_more_than_forty_exchanges_each_with_a_name_of_its_own() {
    let names: Vec<_> = all().map(|exchange| exchange.name).collect();

    assert!(names.len() > 40);
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
}

#[test]
fn a_point_is_named_by_the_command_that_plays_it_again() {
    let harm = Harm { way: Way::ToClient, after: 7, breaks: Break::ResetAtOnce };
    let point = Point { exchange: "one-deploy", protocol: Protocol::Http2, dial: 1, harm };

    assert_eq!(
        point.to_string(),
        "ridethrough-sim torture --exchange one-deploy --protocol http2 --dial 1 --way to-client \
         --at 7 --break reset-at-once"
    );
}

/// A point beyond the last byte is no point: a run that was not cut must not count as one that was.
#[test]
fn a_cut_that_never_happens_is_told() {
    let harm = Harm { way: Way::ToServer, after: u64::MAX, breaks: Break::Reset };
    let point = Point { exchange: "one-read", protocol: Protocol::Http1, dial: 0, harm };

    let summary = run_point(&point);

    assert_eq!(summary.violations.len(), 1);
    assert!(summary.violations[0].what.contains("did not happen"), "{summary:?}");
}
