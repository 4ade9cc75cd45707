//! What an oracle can be certain of in its world, depending on the world's faults.
//!
//! The network may hide what was said. A promise is judged only where no fault of the world could excuse a
//! breach.

use std::time::Duration;

use ridethrough_lab::Protocol;

use super::faults::{Fault, Faults};

/// What can be judged in this world.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Certain {
    /// Whether an answer that was sent always arrives.
    pub(crate) answers_arrive: bool,
    /// How long a request can be under way; `None` if there is no bound.
    pub(crate) lag: Option<Duration>,
    /// Whether bytes may vanish without a trace.
    pub(crate) is_swallowed: bool,
    /// Whether short outages are the only faults.
    pub(crate) is_mild: bool,
    /// Whether no fault affects a call.
    pub(crate) is_calm: bool,
    /// Whether no fault breaks a connection.
    pub(crate) connections_last: bool,
    /// How often a call may arrive.
    pub(crate) most_arrivals: u32,
}

impl Certain {
    pub(crate) fn of(
        faults: &Faults,
        protocol: Protocol,
        calls: u64,
        most_at_once: Option<u32>,
    ) -> Self {
        let is_delayed = faults.has(&[Fault::Delay, Fault::Slices]);
        // A client with few connections does not wait long for the end of a stream.
        let gives_up_the_slow = most_at_once.is_some() && faults.has(&[Fault::Apart]);
        // A call that is polled for over a slow line takes more than half a second, and has a minute. Fifty
        // of them one after the other end in time, and so do fifty for each place.
        let line_moves = most_at_once.is_none_or(|most| u64::from(most) >= calls.div_ceil(50));
        // Outages take more of that minute.
        let line_moves_on = line_moves && most_at_once.is_none_or(|most| most >= 8);
        // GOAWAY may end requests under way, and a FIN that is under way cannot be seen.
        let closes_in_sight = !protocol.is_http2() && !faults.has(&[Fault::Delay]);
        Self {
            answers_arrive: !faults.has(BREAKING) && !faults.has(&[Fault::Cancels]),
            lag: (!faults.has(&[Fault::Pause])).then(|| {
                if is_delayed { Duration::from_secs(3) } else { Duration::from_millis(500) }
            }),
            is_swallowed: faults.has(SWALLOWING),
            is_mild: faults.present().all(|fault| MILD.contains(&fault)) && line_moves_on,
            is_calm: faults.present().all(|fault| CALM.contains(&fault))
                && line_moves
                && (closes_in_sight || !faults.has(&[Fault::CloseIdle])),
            connections_last: !faults.has(BREAKING)
                && !faults.has(ENDING_A_CONNECTION)
                && !gives_up_the_slow,
            // The first send; one each for a renewed session, renewed credentials, a stream that was gone and
            // another era; 3 re-sends; and more within half a minute, with growing pauses.
            most_arrivals: 8 + 20,
        }
    }
}

/// Faults after which messages under way may be lost.
pub(crate) const BREAKING: &[Fault] = &[
    Fault::Cut,
    Fault::Stall,
    Fault::Pause,
    Fault::Restarts,
    Fault::StallAll,
    Fault::ResetAll,
    Fault::CloseIdle,
    Fault::Sleeps,
    Fault::ClockJumps,
    Fault::ShortDeadlines,
];
/// Faults that make black holes, into which a server can write for ever.
const SWALLOWING: &[Fault] = &[Fault::Stall, Fault::StallAll, Fault::Sleeps];
/// Faults after which a connection cannot be used again, or should not be.
const ENDING_A_CONNECTION: &[Fault] = &[
    Fault::Cancels,
    Fault::Refused,
    Fault::Hangs,
    Fault::ResetBefore,
    Fault::CloseBefore,
    Fault::HoleBefore,
    Fault::RefusedStream,
    Fault::ResetAfter,
    Fault::CloseAfter,
    Fault::CutBody,
    Fault::HoleAfter,
    Fault::CutStream,
    Fault::Polling,
    Fault::Flood,
    Fault::Slow,
    Fault::Handshakes,
    Fault::Nonsense,
    Fault::Accepted,
    Fault::Outages,
];
/// Faults that a patient call survives.
const MILD: &[Fault] = &[
    Fault::Delay,
    Fault::Slices,
    Fault::Outages,
    Fault::Restarts,
    Fault::Streams,
    Fault::Apart,
    Fault::Progress,
    Fault::Large,
];
/// Faults under which every call is answered.
pub(crate) const CALM: &[Fault] = &[
    Fault::Delay,
    Fault::Slices,
    Fault::CloseIdle,
    Fault::Streams,
    Fault::Resumable,
    Fault::Polling,
    Fault::Apart,
    Fault::OddEvents,
    Fault::Progress,
    Fault::Large,
];
