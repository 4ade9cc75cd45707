//! The circuit breaker: it stops calls to a server that keeps failing.
//!
//! ```text
//!              5 strikes                     time is up
//!   closed ────────────────▶ open (1 s, ×2) ───────────▶ probing
//!     ▲                        ▲                            │
//!     │                        └──── no JSON-RPC reply ─────┤
//!     └──────────────── any JSON-RPC reply ─────────────────┘
//! ```
//! A strike is a *call* that ended without an answer for a transport reason; calls lost in one outage are one
//! strike. Only new calls are refused. The probe is the link's own ping, never a call of the application, and
//! there is one at a time.

use std::time::Duration;

use crate::backoff::Window;
use crate::moment::Moment;
use crate::rng::Rng;

/// Counts strikes and decides whether new calls may go out.
#[derive(Clone, Debug)]
pub struct Breaker {
    state: BreakerState,
    strikes: u32,
    /// How many times in a row it opened without an answered call in between.
    openings: u32,
    last_strike: Option<Incident>,
}

/// The state of a breaker, which decides whether new calls go out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BreakerState {
    /// New calls go out.
    Closed,
    /// New calls are refused until a probe is due.
    Open {
        /// When the probe goes out.
        until: Moment,
    },
    /// New calls are refused while a probe is out.
    Probing,
}

/// What a strike belongs to. All calls that one incident ends count as one strike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Incident {
    /// This call alone.
    Alone,
    /// The outage of this number.
    Outage(u64),
    /// The loss of this session generation.
    Session(u64),
}

impl Breaker {
    /// Creates a closed breaker without strikes.
    pub const fn new() -> Self {
        Self { state: BreakerState::Closed, strikes: 0, openings: 0, last_strike: None }
    }

    /// Returns the state.
    pub const fn state(&self) -> BreakerState {
        self.state
    }

    /// Returns how many strikes count at present.
    pub const fn strikes(&self) -> u32 {
        self.strikes
    }

    /// Counts a call that ended without an answer for a transport reason. Returns whether that opened the
    /// breaker.
    pub fn strike(&mut self, now: Moment, incident: Incident, rng: &mut Rng) -> bool {
        if incident != Incident::Alone && self.last_strike == Some(incident) {
            return false;
        }
        self.last_strike = Some(incident);
        self.strikes = (self.strikes + 1).min(LIMIT);
        let opens = self.state == BreakerState::Closed && self.strikes == LIMIT;
        if opens {
            self.open(now, rng);
        }
        opens
    }

    /// Notes that a call was answered.
    pub fn answered(&mut self) {
        // An answer to a call from before the opening says nothing about the server's present state.
        if self.state == BreakerState::Closed {
            self.strikes = 0;
            self.openings = 0;
            self.last_strike = None;
        }
    }

    /// Notes that a probe goes out, because the pause is over.
    pub fn probe_began(&mut self) {
        self.state = BreakerState::Probing;
    }

    /// Closes the breaker after a JSON-RPC reply to the probe. One more strike opens it again.
    pub fn probe_answered(&mut self) {
        self.state = BreakerState::Closed;
        self.strikes = LIMIT - 1;
    }

    /// Opens the breaker for longer, because the probe got no JSON-RPC reply.
    pub fn probe_failed(&mut self, now: Moment, rng: &mut Rng) {
        self.open(now, rng);
    }

    fn open(&mut self, now: Moment, rng: &mut Rng) {
        let wait =
            if self.openings == 0 { PAUSE.first } else { PAUSE.half_jitter(self.openings, rng) };
        self.openings = self.openings.saturating_add(1);
        self.state = BreakerState::Open { until: now + wait };
    }
}

impl Default for Breaker {
    fn default() -> Self {
        Self::new()
    }
}

const LIMIT: u32 = 5;
const PAUSE: Window = Window { first: Duration::from_secs(1), most: Duration::from_secs(60) };

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_strikes_open_it_for_1_s_and_failed_probes_for_longer_up_to_60_s() {
        let (mut breaker, mut rng) = (Breaker::new(), Rng::new(1));
        for _ in 0..4 {
            assert!(!breaker.strike(Moment::START, Incident::Alone, &mut rng));
        }

        assert!(breaker.strike(Moment::START, Incident::Alone, &mut rng));

        assert_eq!(breaker.state(), BreakerState::Open { until: Moment::secs(1) });
        let pauses: Vec<_> = (0..10).map(|_| pause_after_failed_probe(&mut breaker)).collect();
        assert!((1..=2).contains(&pauses[0].as_secs()), "{pauses:?}");
        assert!(pauses[9] >= Duration::from_secs(30) && pauses[9] <= Duration::from_secs(60));
    }

    #[test]
    fn calls_lost_in_one_outage_are_one_strike() {
        let (mut breaker, mut rng) = (Breaker::new(), Rng::new(1));

        for _ in 0..100 {
            breaker.strike(Moment::START, Incident::Outage(7), &mut rng);
        }

        assert_eq!((breaker.strikes(), breaker.state()), (1, BreakerState::Closed));
    }

    #[test]
    fn an_answer_clears_the_strikes() {
        let (mut breaker, mut rng) = (Breaker::new(), Rng::new(1));
        (0..4).for_each(|_| _ = breaker.strike(Moment::START, Incident::Alone, &mut rng));

        breaker.answered();

        assert_eq!(breaker.strikes(), 0);
    }

    #[test]
    fn a_probes_answer_closes_it_with_four_strikes_standing() {
        let (mut breaker, mut rng) = (Breaker::new(), Rng::new(1));
        (0..5).for_each(|_| _ = breaker.strike(Moment::START, Incident::Alone, &mut rng));
        breaker.probe_began();

        breaker.probe_answered();

        assert_eq!((breaker.state(), breaker.strikes()), (BreakerState::Closed, 4));
        assert!(breaker.strike(Moment::secs(2), Incident::Alone, &mut rng), "the fifth opens it");
    }

    fn pause_after_failed_probe(breaker: &mut Breaker) -> Duration {
        breaker.probe_began();
        breaker.probe_failed(Moment::START, &mut Rng::new(1));
        match breaker.state() {
            BreakerState::Open { until } => until.since(Moment::START),
            other => panic!("{other:?}"),
        }
    }
}
