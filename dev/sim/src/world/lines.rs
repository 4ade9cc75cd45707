//! What the network of a world does to each connection.

use std::sync::Mutex;
use std::time::Duration;

use ridethrough_core::rng::Rng;

use super::faults::{Fault, Faults};
use super::host::{Host, lock};
use crate::net::{Break, Cable, Harm, Line, Way};

/// Returns what each dial of a client leads to.
pub(crate) fn lines(host: Host, seed: u64) -> impl Fn(u64) -> Line + Send + Sync {
    let rng = Mutex::new(Rng::new(seed));
    move |number| {
        let line = line(&mut lock(&rng), &host.chance().faults);
        host.oracle().note(|| format!("dial {number}: {line:?}"));
        line
    }
}

fn line(rng: &mut Rng, faults: &Faults) -> Line {
    let mut happens = |fault: Fault| faults.happens(fault, rng);
    if happens(Fault::Refused) {
        return Line::Refused;
    }
    if happens(Fault::Hangs) {
        return Line::Hangs;
    }
    let (is_late, is_sliced) = (happens(Fault::Delay), happens(Fault::Slices));
    let (is_cut, stalls, pauses) =
        (happens(Fault::Cut), happens(Fault::Stall), happens(Fault::Pause));
    let breaks = match (is_cut, stalls, pauses) {
        (true, ..) => Some([Break::Fin, Break::Reset, Break::ResetAtOnce][below(rng, 3)]),
        (_, true, _) => Some(Break::Stall),
        (.., true) => Some(Break::Pause(rng.between(Duration::ZERO, Duration::from_secs(40)))),
        _ => None,
    };
    let harm = breaks.map(|breaks| Harm {
        way: if rng.below(2) == 0 { Way::ToClient } else { Way::ToServer },
        after: rng.below(4000),
        breaks,
    });
    let millis = |count| Duration::from_millis(count);
    Line::Connected(Cable {
        delay: if is_late { millis(1 + rng.below(200)) } else { Duration::ZERO },
        slice: if is_sliced { 1 + below(rng, 64) } else { 0 },
        harm,
    })
}

fn below(rng: &mut Rng, bound: u64) -> usize {
    usize::try_from(rng.below(bound)).unwrap_or_default()
}
