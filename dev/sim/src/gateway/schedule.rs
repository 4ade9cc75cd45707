//! What happens to the gateway over time, independent of calls: it is killed, stopped, and its config is read
//! again.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use ridethrough_core::rng::Rng;
use tokio::time::Instant;

use super::faults::GatewayFault;
use super::process::House;
use super::record::Record;
use crate::rates::Happening;
use crate::world::host::lock;

/// Lets events happen to the gateway.
pub(super) struct GatewayStage {
    pub(super) house: House,
    pub(super) servers: usize,
    pub(super) record: Record,
    pub(super) rng: Arc<Mutex<Rng>>,
}

impl GatewayStage {
    /// Carries out the schedule.
    pub(super) async fn play(self, schedule: Vec<Happening<GatewayFault>>) {
        let began = Instant::now();
        for Happening { at, what } in schedule {
            tokio::time::sleep_until(began + at).await;
            self.record.note(|| format!("fault: {}", what.name()));
            self.record.count(what.name());
            self.suffer(what).await;
        }
    }

    async fn suffer(&self, what: GatewayFault) {
        let place = usize::try_from(self.below(self.servers as u64)).unwrap_or_default();
        match what {
            GatewayFault::Kills => {
                self.house.kill();
                tokio::time::sleep(Duration::from_millis(self.below(8_000))).await;
                self.house.start();
            }
            GatewayFault::Stops => {
                let is_replaced = self.below(2) == 0;
                self.house.stop(is_replaced).await;
                if !is_replaced {
                    tokio::time::sleep(Duration::from_millis(self.below(2_000))).await;
                    self.house.start();
                }
            }
            GatewayFault::Reloads if self.below(2) == 0 => self.house.reload().await,
            GatewayFault::Reloads => self.house.rename(place).await,
            GatewayFault::Touches => self.house.touch(place).await,
            _ => {
                self.house.set_present(place, false).await;
                tokio::time::sleep(Duration::from_millis(self.below(20_000))).await;
                self.house.set_present(place, true).await;
            }
        }
    }

    fn below(&self, bound: u64) -> u64 {
        lock(&self.rng).below(bound)
    }
}
