//! Plans what will happen to a world's server, before the world begins.

use std::time::Duration;

use super::{DueHappening, MachineWorld};
use crate::machine::eras::Fleet;
use crate::machine::server::Outage;

impl MachineWorld {
    /// Spreads calls, outages and restarts over the time of chaos.
    pub(crate) fn plan(&mut self, calls: u64) {
        let length = Duration::from_millis(calls * 150);
        for _ in 0..calls {
            let at = self.now + self.rng.between(Duration::ZERO, length);
            self.schedule(at, DueHappening::Begin);
        }
        let (outages, restarts) = (self.server.faults.outages, self.server.faults.restarts);
        for _ in 0..outages * calls / 100 {
            let at = self.now + self.rng.between(Duration::ZERO, length);
            let lasts = self.rng.between(Duration::from_millis(50), Duration::from_secs(20));
            let statuses = [502, 503];
            let outage = match self.rng.below(4) {
                0 => Outage::BlackHole,
                1 => Outage::Status(statuses[self.rng.below(2) as usize]),
                _ => Outage::Refusal,
            };
            self.schedule(at, DueHappening::OutageBegins(outage, lasts));
        }
        for _ in 0..restarts * calls / 100 {
            let at = self.now + self.rng.between(Duration::ZERO, length);
            self.schedule(at, DueHappening::Restart);
        }
        for _ in 0..self.setting.changes * calls / 100 {
            let at = self.now + self.rng.between(Duration::ZERO, length);
            self.schedule(at, DueHappening::FleetChanges);
        }
    }

    /// Changes the fleet by an upgrade or a rollback, with or without a restart.
    pub(super) fn change_fleet(&mut self) {
        self.server.fleet = Fleet::draw(&mut self.rng);
        self.server.manner = self.rng.next_u64();
        if self.rng.below(2) == 0 {
            self.server.restart();
            self.cut_all();
        }
    }
}
