//! What a world consists of, apart from its faults: processes, people, and the ways of its issuers.

use std::time::Duration;

use ridethrough_core::rng::Rng;

/// The parts of a world, drawn from the seed alone, so that they stay when one of its faults is taken away.
#[derive(Clone, Debug)]
pub(super) struct AuthShape {
    /// How many processes share the store.
    pub(super) processes: usize,
    /// How many of them have a person; at least the first has.
    pub(super) attended: usize,
    pub(super) rotation: Rotation,
    /// How long an access token lives.
    pub(super) life: Duration,
    /// Whether tokens are answered in a form.
    pub(super) answers_in_form: bool,
    /// Whether callbacks name their issuer, and the metadata says so.
    pub(super) sends_issuer: bool,
    /// Whether unsafe calls want a scope that the first login does not ask for.
    pub(super) wants_scope: bool,
    /// The longest pause between two calls.
    pub(super) pace: Duration,
}

/// What happens to a refresh token that was used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rotation {
    /// It is replaced, and the old one is forgiven for a minute.
    Grace,
    /// It stays as it is, and answers leave it out.
    Never,
    /// It is replaced. Whoever sends it again ends the grant.
    Strict,
}

impl AuthShape {
    pub(super) fn draw(rng: &mut Rng) -> Self {
        let mut drawn = |bound: u64| usize::try_from(rng.below(bound)).unwrap_or_default();
        let processes = 1 + drawn(4);
        Self {
            processes,
            attended: 1 + drawn(processes as u64),
            rotation: [Rotation::Strict, Rotation::Strict, Rotation::Grace, Rotation::Never]
                [drawn(4)],
            life: Duration::from_secs([4, 10, 30, 120, 3600][drawn(5)]),
            answers_in_form: drawn(4) == 0,
            sends_issuer: drawn(2) == 0,
            wants_scope: drawn(4) == 0,
            pace: Duration::from_millis([50, 500, 4000, 20_000][drawn(4)]),
        }
    }
}
