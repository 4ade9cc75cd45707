//! A selection over real sockets and real time.

use ridethrough::Era;
use ridethrough::server::Eras;

use crate::case::{Carrier, Case, cases};
use crate::judge;
use crate::rig::{Way, World};
use crate::server::Speaks;
use crate::tally::Tally;

#[tokio::test]
async fn an_answer_over_a_socket_is_evidence() {
    let mut tally = Tally::default();
    for (speaks, eras) in [
        (Speaks::WithIds, Eras::Only(Era::Legacy)),
        (Speaks::WithoutIds, Eras::Either),
        (Speaks::Stateless, Eras::Either),
    ] {
        let world = World::new(speaks, eras).by(Way::Socket);
        for case in cases(Carrier::Body).iter().filter(|case| is_quick(case)).step_by(17) {
            let seen = world.live(case, 1).await;
            judge::living(tally.of(&format!("{speaks:?} {eras:?}")), speaks, case, &seen);
        }
    }
    tally.finish();
}

/// Whether the client waits for nothing in this case. It waits if it is deferred, or told that the answer
/// comes another way.
fn is_quick(case: &Case) -> bool {
    match case.status.code {
        200..=299 => case.names_our_id(),
        code => !matches!(code, 425 | 429 | 503),
    }
}
