//! Worlds in which clients log in: whole clients with the library's login, which share a store, before an
//! authorization server that expires, replaces, revokes, moves, lies, is slow or down.
//!
//! ```text
//!   person ◀─ process: Client + Account ──▶ network ──┬─▶ MCP server (ridethrough-lab)
//!                  │                                  ├─▶ issuer one, issuer two
//!                  └──▶ store, which all share        └─▶ a stranger, to whom nothing belongs
//! ```
//!
//! Processes are killed at any point, also between the answer to a refresh and its write. A world has two
//! ages: chaos, in which its faults happen, and healing, in which every process must come back.

mod addresses;
mod faults;
mod form;
mod grants;
mod issuer;
mod life;
mod network;
mod oracle;
mod person;
mod places;
mod process;
mod resource;
mod schedule;
mod shape;
mod store;
mod truth;

pub use faults::{AuthFault, AuthFaults};

use ridethrough_core::rng::Rng;

use crate::SeededWorld;
use crate::world::Lived;
use crate::world::trace::Trace;
use life::AuthLife;

/// One world, by what it is drawn from.
#[derive(Clone, Debug)]
pub struct AuthWorld {
    /// The seed; everything else is drawn from it.
    pub seed: u64,
    /// The faults that may happen in it.
    pub faults: AuthFaults,
    /// How many calls are made in its chaos.
    pub calls: u64,
}

impl SeededWorld for AuthWorld {
    type Faults = AuthFaults;
    const NAME: &'static str = "auth ";

    fn of_seed(seed: u64, calls: u64) -> Self {
        let mut rng = Rng::new(seed ^ 0x0a07_5eed);
        let faults = match rng.below(8) {
            // Tokens end and are replaced, and nothing else happens: no call fails.
            0 => AuthFaults::none(),
            // The authorization server works: it alone can cost nobody the login.
            1 | 2 => {
                TROUBLE.iter().fold(AuthFaults::draw(&mut rng), |it, fault| it.without(*fault))
            }
            _ => AuthFaults::draw(&mut rng),
        };
        Self { seed, faults, calls }
    }

    fn faults(&mut self) -> &mut AuthFaults {
        &mut self.faults
    }

    fn lived(&self, is_traced: bool) -> Lived {
        let runtime = tokio::runtime::Builder::new_current_thread()
            // The login listens for a browser on a socket, although its person pastes.
            .enable_all()
            .start_paused(true)
            .build()
            .expect("the system gives a runtime what it needs");
        runtime.block_on(async { AuthLife::begin(self, Trace::new(is_traced)).live().await })
    }
}

/// Faults of the authorization server that may end a grant or take long.
const TROUBLE: &[AuthFault] = &[
    AuthFault::Busy,
    AuthFault::Page,
    AuthFault::Refusal,
    AuthFault::LostBefore,
    AuthFault::LostAfter,
    AuthFault::TooLate,
    AuthFault::Outages,
    AuthFault::KilledBefore,
    AuthFault::StoreFails,
];
