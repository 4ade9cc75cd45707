//! What a world consists of, apart from its faults: servers, clients, eras, and the pauses between calls.

use std::time::Duration;

use ridethrough::Era;
use ridethrough::server::Eras;
use ridethrough_core::rng::Rng;
use ridethrough_lab::{Protocol, Spoken};

/// The parts of a world, drawn from the seed alone, so that they stay when one of its faults is taken away.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    pub(super) protocol: Protocol,
    pub(super) servers: usize,
    pub(super) clients: usize,
    /// Whether the last of the clients is behind a bridge.
    pub(super) has_bridge: bool,
    pub(super) eras: Eras,
    pub(super) spoken: Spoken,
    pub(super) has_sessions: bool,
    pub(super) has_tokens: bool,
    pub(super) keeps_connected: bool,
    /// The most connections of a client, or streams on one.
    pub(super) most_at_once: Option<u32>,
    /// The longest pause between two calls.
    pub(super) pace: Duration,
}

impl Shape {
    pub(super) fn draw(rng: &mut Rng) -> Self {
        let mut one_in = |count: u64| rng.below(count) == 0;
        let protocol = if one_in(4) { Protocol::Http2 } else { Protocol::Http1 };
        let (servers, has_bridge) = (1 + usize::from(one_in(3)), one_in(4));
        let (has_sessions, has_tokens, keeps_connected) = (!one_in(6), one_in(2), one_in(3));
        let clients = 1 + usize::try_from(rng.below(3)).unwrap_or_default();
        let pace = Duration::from_millis([1, 30, 200, 2000][index(rng.below(4))]);
        let most_at_once = (rng.below(3) == 0).then(|| 5 + rng.below(12) as u32);
        let (eras, spoken) = match rng.below(8) {
            0 => (Eras::Only(Era::Modern), Spoken::Modern),
            1 | 2 => (Eras::Either, Spoken::Modern),
            3 => (Eras::Either, Spoken::Both),
            4 => (Eras::Either, Spoken::Legacy),
            _ => (Eras::Only(Era::Legacy), Spoken::Legacy),
        };
        Self {
            protocol,
            servers,
            clients,
            has_bridge,
            eras,
            spoken,
            has_sessions,
            has_tokens,
            keeps_connected,
            most_at_once,
            pace,
        }
    }
}

fn index(drawn: u64) -> usize {
    usize::try_from(drawn).unwrap_or_default()
}
