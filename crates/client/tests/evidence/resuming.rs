//! A stream was cut after an event id, and the request for the rest of it gets any answer: the call stays in
//! doubt.

use ridethrough::Era;
use ridethrough::server::Eras;

use crate::case::Carrier;
use crate::judge;
use crate::rig::{World, paused};
use crate::server::{Speaks, Then};
use crate::tally::Tally;

#[test]
fn the_answer_to_a_resume_makes_no_doubt_less() {
    sweep(World::new(Speaks::WithIds, Eras::Only(Era::Legacy)), Carrier::Body);
}

#[test]
fn the_answer_to_a_resume_makes_no_doubt_less_for_who_found_the_era() {
    sweep(World::new(Speaks::WithoutIds, Eras::Either), Carrier::Body);
}

#[test]
fn an_event_in_answer_to_a_resume_makes_no_doubt_less() {
    sweep(World::new(Speaks::WithIds, Eras::Only(Era::Legacy)), Carrier::EventStream);
}

fn sweep(world: World, carrier: Carrier) {
    let world = world.then(Then::ResumesOddly);
    let mut tally = Tally::default();
    paused(async {
        for case in &crate::sampled(world.speaks, carrier) {
            let seen = world.live(case, 1).await;
            judge::resumed(&mut tally, case, &seen);
        }
    });
    tally.finish();
}
