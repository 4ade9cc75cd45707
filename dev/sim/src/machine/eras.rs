//! The eras that the machine and its servers speak in a world, and how they change.

use ridethrough_core::rng::Rng;
use ridethrough_core::{Era, Eras};

/// The eras of a world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The eras that the machine may speak.
    pub client: Eras,
    /// The servers behind the address at first.
    pub fleet: Fleet,
    /// How often the fleet changes in a run of 100 calls.
    pub changes: u64,
    /// Out of a thousand stateless calls that are about to run: how many need input first.
    pub rounds: u64,
    /// Whether the application opens the standing stream.
    pub listens: bool,
}

/// The servers behind one address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fleet {
    /// Servers of one era.
    All(Era),
    /// Servers that answer in the era they are asked in.
    Both,
    /// Servers of both eras; this many of a thousand requests meet a modern one.
    Mixed(u64),
}

impl Setting {
    /// Returns sessions only, on both sides, without a change.
    pub const fn legacy() -> Self {
        let (client, fleet) = (Eras::Only(Era::Legacy), Fleet::All(Era::Legacy));
        Self { client, fleet, changes: 0, rounds: 0, listens: false }
    }

    /// Returns the eras of a seed's world.
    pub fn draw(rng: &mut Rng) -> Self {
        let client = match rng.below(6) {
            0 => Eras::Only(Era::Legacy),
            1 => Eras::Only(Era::Modern),
            _ => Eras::Either,
        };
        let changes = [0, 1, 4, 20][rng.below(4) as usize];
        let rounds = if rng.below(2) == 0 { 0 } else { 1 + rng.below(400) };
        let (fleet, listens) = (Fleet::draw(rng), rng.below(2) == 0);
        Self { client, fleet, changes, rounds, listens }
    }

    /// Returns the fleet after the healing: one that the machine may speak to.
    pub(crate) fn healed(&self, rng: &mut Rng) -> Fleet {
        match self.client {
            Eras::Only(era) if self.changes == 0 && self.fleet == Fleet::All(era) => self.fleet,
            Eras::Only(era) => [Fleet::All(era), Fleet::Both][rng.below(2) as usize],
            Eras::Either => {
                let all = [Fleet::All(Era::Legacy), Fleet::All(Era::Modern), Fleet::Both];
                all[rng.below(3) as usize]
            }
        }
    }
}

impl Fleet {
    /// Draws any fleet.
    pub(crate) fn draw(rng: &mut Rng) -> Self {
        match rng.below(8) {
            0 => Self::Both,
            1 => Self::Mixed(100 + rng.below(800)),
            2..5 => Self::All(Era::Legacy),
            _ => Self::All(Era::Modern),
        }
    }

    /// Returns the era of the server that takes a request in.
    pub(crate) fn meets(self, asked: Era, rng: &mut Rng) -> Era {
        match self {
            Self::All(era) => era,
            Self::Both => asked,
            Self::Mixed(modern) if rng.below(1000) < modern => Era::Modern,
            Self::Mixed(_) => Era::Legacy,
        }
    }
}
