//! A snapshot of the link for operators: its state, and what it waits for.

use ridethrough_wire::era::{Era, Version};

use crate::breaker;
use crate::exchange::{Awaited, State, Waiting};
use crate::ids::{ExchangeId, Generation};
use crate::link::Link;
use crate::link::session::Ready;
use crate::link::timers::Timer;
use crate::moment::Moment;
use crate::outcome::Reason;

/// A snapshot of a link.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Status {
    /// The moment at which the snapshot was taken; all others in it can be compared with it.
    pub now: Moment,
    /// The generation of the session in force.
    pub generation: Option<Generation>,
    /// When the session began.
    pub session_since: Option<Moment>,
    /// When the server became unreachable, if it is.
    pub outage_since: Option<Moment>,
    /// The era of the session in force, or of the one that is expected.
    pub era: Era,
    /// The revision agreed on.
    pub version: Option<Version>,
    /// The state of the breaker, which decides whether new calls go out.
    pub breaker: breaker::BreakerState,
    /// How many calls hold a place in flight.
    pub in_flight: usize,
    /// How many calls have not ended, in flight or not.
    pub calls: usize,
    /// How many of these calls wait: for a connection, a session, a moment or a place.
    pub calls_waiting: usize,
    /// The last thing that went wrong, and when.
    pub last_failure: Option<(Moment, Reason)>,
    /// When the next retry follows: of a connect, a handshake, a call, or the breaker's probe.
    pub next_attempt: Option<Moment>,
    /// What the link waits for, and until when.
    pub waiting: Option<(Moment, WaitingFor)>,
}

/// What a link waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WaitingFor {
    /// The answer to this call, a ping because of its silence, or its deadline.
    Answer(ExchangeId),
    /// The pause before this call is repeated or resumed.
    Backoff(ExchangeId),
    /// The breaker's probe.
    Breaker,
    /// The end of closing.
    Close,
    /// The next connect.
    Connection,
    /// New credentials.
    Credentials,
    /// The time that the server asked for, or its answer after trouble.
    Gate,
    /// The answer to the handshake, or the pause before the next one.
    Handshake,
    /// A moment without calls, in which the hints of tools are learnt.
    Hints,
    /// The pause before the standing stream is opened again.
    Listener,
    /// A notice that is on its way to the server.
    Notice,
    /// The end of this call's patience while it waits for a connection, a session or a server in trouble.
    Patience(ExchangeId),
    /// The answer to a ping, or the pause before the next one.
    Ping,
    /// A place in flight for this call.
    Place(ExchangeId),
}

impl Link {
    /// Returns a snapshot of the link.
    pub fn status(&self, now: Moment) -> Status {
        Status {
            now,
            generation: self.calls.base.session.ready().map(Ready::generation),
            session_since: self.calls.base.session.ready().map(|ready| ready.since),
            outage_since: self.calls.base.reach.outage(),
            era: self.calls.base.session.era(),
            version: self.calls.base.session.agreed_version(),
            breaker: self.calls.base.health.breaker(),
            in_flight: self.calls.base.admission.in_flight(),
            calls: self.calls.all.ids_where(|it| it.origin.is_application()).len(),
            calls_waiting: self
                .calls
                .all
                .ids_where(|it| it.origin.is_application() && matches!(it.state, State::Waiting(_)))
                .len(),
            last_failure: self.calls.base.cx.last_failure().cloned(),
            next_attempt: self.next_attempt(),
            waiting: self.poll_timeout(),
        }
    }

    /// Whether something waits for a connection.
    pub(super) fn awaits_link(&self) -> bool {
        self.calls.base.reach.keeps_connected()
            || self.calls.base.health.breaker() == breaker::BreakerState::Probing
            || self.calls.all.await_any(Awaited::Link)
            || self.calls.all.await_any(Awaited::Session)
            || self.calls.all.await_any(Awaited::Probation)
            || self.calls.base.outbound.awaits_link()
    }

    /// Whether something waits for a session.
    pub(super) fn awaits_session(&self) -> bool {
        self.calls.base.reach.keeps_connected()
            || self.calls.base.health.is_probing()
            || self.calls.all.await_any(Awaited::Session)
            || self.calls.all.await_any(Awaited::Probation)
            || self.calls.base.outbound.awaits_session()
    }

    fn next_attempt(&self) -> Option<Moment> {
        let connect = self.calls.base.reach.next_connect().filter(|_| self.awaits_link());
        let handshake = self.calls.base.session.next_try();
        let probe = match self.calls.base.health.breaker() {
            breaker::BreakerState::Open { until } => Some(until),
            _ => None,
        };
        let question = self.calls.base.cx.timers.get(Timer::Probation);
        let calls = self.calls.all.iter().filter_map(|exchange| match exchange.state {
            State::Waiting(Waiting::Until { at, .. }) => Some(at),
            _ => None,
        });
        [connect, handshake, probe, question].into_iter().flatten().chain(calls).min()
    }

    pub(super) fn waiting_for(&self, timer: Timer) -> WaitingFor {
        match timer {
            Timer::Breaker => WaitingFor::Breaker,
            Timer::Close => WaitingFor::Close,
            Timer::Credentials | Timer::Scope => WaitingFor::Credentials,
            Timer::Dial => WaitingFor::Connection,
            Timer::Exchange(id) => self.exchange_waits_for(id),
            Timer::Gates | Timer::Probation => WaitingFor::Gate,
            Timer::Hints => WaitingFor::Hints,
            Timer::Listener => WaitingFor::Listener,
            Timer::Notice(_) => WaitingFor::Notice,
            Timer::Pulse => WaitingFor::Ping,
            Timer::Abandoned | Timer::Renewal | Timer::Restore => WaitingFor::Handshake,
        }
    }

    fn exchange_waits_for(&self, id: ExchangeId) -> WaitingFor {
        match self.calls.all.get(id).map(|exchange| &exchange.state) {
            Some(State::Waiting(Waiting::Until { .. })) => WaitingFor::Backoff(id),
            Some(State::Waiting(
                Waiting::Link { .. } | Waiting::Probation { .. } | Waiting::Session { .. },
            )) => WaitingFor::Patience(id),
            Some(State::Waiting(Waiting::Gate)) => WaitingFor::Gate,
            Some(State::Waiting(Waiting::Place)) => WaitingFor::Place(id),
            Some(State::Waiting(Waiting::Credentials(_) | Waiting::Scope)) => {
                WaitingFor::Credentials
            }
            _ => WaitingFor::Answer(id),
        }
    }

    /// Whether a handshake is under way.
    pub fn is_renewing(&self) -> bool {
        self.calls.base.session.is_renewing()
    }
}
