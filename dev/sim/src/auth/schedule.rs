//! What happens in a world over time, independent of requests.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use ridethrough_lab::Mood;
use tokio::time::Instant;

use super::faults::AuthFault;
use super::network::Servers;
use super::places::Places;
use super::truth::Truth;
use crate::rates::Happening;

/// How far the wall clock of the computer is from the time of the world, in milliseconds.
#[derive(Clone, Default)]
pub(super) struct Skew(pub(super) Arc<AtomicI64>);

impl Skew {
    fn jump(&self, truth: &Truth) {
        let by = [1_000, -5_000, 3_600_000, -3_600_000, 86_400_000, -86_400_000];
        let by = by[usize::try_from(truth.below(6)).unwrap_or_default()];
        truth.oracle().note(|| format!("the clock is set by {by} ms"));
        self.0.fetch_add(by, Ordering::Relaxed);
    }
}

/// Everything that events may change.
pub(super) struct AuthStage {
    pub(super) truth: Truth,
    pub(super) servers: Arc<Servers>,
    pub(super) places: Places,
    pub(super) skew: Skew,
}

impl AuthStage {
    /// Carries out the schedule.
    pub(super) async fn play(self, schedule: Vec<Happening<AuthFault>>) {
        let began = Instant::now();
        for Happening { at, what } in schedule {
            tokio::time::sleep_until(began + at).await;
            self.truth.oracle().met(what);
            self.suffer(what).await;
        }
    }

    async fn suffer(&self, what: AuthFault) {
        match what {
            AuthFault::Outages => self.outage().await,
            AuthFault::Revocations => self.truth.oracle().revoke_all(),
            AuthFault::Moves => self.truth.oracle().move_to_other_issuer(),
            AuthFault::ForgottenClients => self.truth.oracle().forget_clients(),
            AuthFault::Swaps => {
                // Without a login there is nothing to compare the endpoint with.
                let issuer = self.truth.oracle().stored_issuer();
                self.truth.oracle().swapped = issuer;
                tokio::time::sleep(self.truth.up_to(Duration::from_secs(60))).await;
                self.truth.oracle().swapped = None;
            }
            AuthFault::Kills => self.kill_one(),
            _ => self.skew.jump(&self.truth),
        }
    }

    async fn outage(&self) {
        let issuer = self.truth.oracle().named;
        let server = self.servers.issuer(issuer);
        server.set_mood(if self.truth.below(2) == 0 { Mood::Down } else { Mood::BlackHole });
        self.truth.oracle().outage();
        tokio::time::sleep(self.truth.up_to(Duration::from_secs(20))).await;
        server.set_mood(Mood::Up);
        self.truth.oracle().outage();
    }

    fn kill_one(&self) {
        let processes = self.places.processes();
        let place = usize::try_from(self.truth.below(processes.len() as u64)).unwrap_or_default();
        let process = &processes[place];
        self.truth.oracle().killed(process.number);
        process.kill();
    }
}
