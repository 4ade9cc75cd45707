//! What a world consists of, apart from its faults: servers, callers, and the pauses between calls.

use std::time::Duration;

use ridethrough::Era;
use ridethrough_core::rng::Rng;
use ridethrough_gateway::Share;
use ridethrough_lab::{Protocol, Spoken};

/// The parts of a world, drawn from the seed alone, so that they stay when one of its faults is taken away.
#[derive(Clone, Debug)]
pub(super) struct GatewayShape {
    pub(super) servers: Vec<ServerShape>,
    pub(super) callers: Vec<CallerShape>,
    /// The longest pause between two calls.
    pub(super) pace: Duration,
    /// How many calls may be under way at one server.
    pub(super) places: usize,
}

/// A server behind the gateway.
#[derive(Clone, Debug)]
pub(super) struct ServerShape {
    /// Its name in the config.
    pub(super) name: &'static str,
    pub(super) protocol: Protocol,
    pub(super) spoken: Spoken,
    pub(super) has_sessions: bool,
    pub(super) has_tokens: bool,
    pub(super) share: Share,
}

/// A caller before the gateway.
#[derive(Clone, Debug)]
pub(super) struct CallerShape {
    pub(super) manner: Manner,
    pub(super) is_http2: bool,
    /// Which principal it is.
    pub(super) principal: PrincipalShape,
    /// The one server that it sees; all if there is none.
    pub(super) only: Option<usize>,
    pub(super) keeps_connected: bool,
}

/// How a caller talks to the gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Manner {
    /// A client, which answers questions by itself.
    Client(Era),
    /// A client without a person: it cannot be asked.
    Unattended(Era),
    /// An application that goes through the rounds of a stateless call by itself.
    Rounds,
}

/// A principal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PrincipalShape {
    Bob,
    Owner,
}

impl PrincipalShape {
    pub(super) const fn token(self) -> &'static str {
        match self {
            Self::Bob => "b0b",
            Self::Owner => "s3cret",
        }
    }
}

impl GatewayShape {
    pub(super) fn draw(rng: &mut Rng) -> Self {
        let servers = 2 + index(rng.below(3));
        let servers: Vec<_> = (0..servers).map(|place| ServerShape::draw(rng, place)).collect();
        let callers = 2 + rng.below(4);
        let callers = (0..callers).map(|_| CallerShape::draw(rng, servers.len())).collect();
        let pace = Duration::from_millis([1, 30, 200, 2000][index(rng.below(4))]);
        let places = if rng.below(5) == 0 { 4 } else { 64 };
        Self { servers, callers, pace, places }
    }
}

impl ServerShape {
    fn draw(rng: &mut Rng, place: usize) -> Self {
        let mut one_in = |count: u64| rng.below(count) == 0;
        let protocol = if one_in(5) { Protocol::Http2 } else { Protocol::Http1 };
        let (has_sessions, has_tokens) = (!one_in(6), one_in(3));
        Self {
            name: NAMES[place],
            protocol,
            has_sessions,
            has_tokens,
            spoken: [Spoken::Legacy, Spoken::Modern, Spoken::Both][index(rng.below(3))],
            share: [Share::Session, Share::User, Share::All][index(rng.below(3))],
        }
    }
}

impl CallerShape {
    fn draw(rng: &mut Rng, servers: usize) -> Self {
        let (is_http2, keeps_connected) = (rng.below(5) == 0, rng.below(3) == 0);
        let manner = match rng.below(8) {
            0..3 => Manner::Client(Era::Legacy),
            3..5 => Manner::Client(Era::Modern),
            5 => Manner::Unattended(if rng.below(2) == 0 { Era::Legacy } else { Era::Modern }),
            _ => Manner::Rounds,
        };
        let principal = if rng.below(3) == 0 { PrincipalShape::Bob } else { PrincipalShape::Owner };
        let only = (rng.below(5) == 0).then(|| index(rng.below(servers as u64)));
        Self { manner, is_http2, principal, only, keeps_connected }
    }
}

fn index(drawn: u64) -> usize {
    usize::try_from(drawn).unwrap_or_default()
}

/// With the tools of [`super::site`], `a_b_read` may be of the first or of the second.
const NAMES: [&str; 4] = ["a", "a_b", "files", "issues"];
