//! What the tests of the lab share: a contestant that counts as a bridge, and the words for a missed
//! scenario.

use std::time::Duration;

use futures_util::future::BoxFuture;
use ridethrough_lab::adapter::Step;
use ridethrough_lab::contestant::{Contestant, Performance};
use ridethrough_lab::scenario::ContestantKind;
use ridethrough_lab::score::Score;

/// A contestant that chooses the era of the server for its callers, as a bridge does for its host and a
/// gateway for its clients, and is spared the checks that this makes void.
pub(super) struct AsBridge<C>(pub(super) C);

impl<C: Contestant> Contestant for AsBridge<C> {
    fn perform<'a>(
        &'a self,
        url: &'a str,
        script: &'a [Step],
        limit: Duration,
    ) -> BoxFuture<'a, Performance> {
        self.0.perform(url, script, limit)
    }

    fn kind(&self) -> ContestantKind {
        ContestantKind::Front
    }
}

/// Describes a score: its verdict, and the evidence for each fault.
pub(super) fn told(score: &Score) -> String {
    let mut text = format!("{} {}: {}\n", score.id, score.title, score.verdict.word());
    for fault in score.faults() {
        text += &format!("  {:?}: {}\n    {}\n", fault.level, fault.that, fault.evidence);
    }
    text
}
