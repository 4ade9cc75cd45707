//! What happens to a server over time, independent of requests: outages, restarts, upgrades, sleep.

use std::time::Duration;

use h2::Reason;
use ridethrough_lab::{Mood, Processed, Server, Spoken};
use tokio::time::Instant;

use super::computer::Computer;
use super::faults::{Fault, Faults};
use super::host::{Host, lock};
use crate::rates::Happening;

/// One server, with everything that events may change.
#[derive(Clone)]
pub(crate) struct Site {
    pub(crate) server: Server,
    pub(crate) host: Host,
    pub(crate) computer: Computer,
    /// The eras that it spoke at the beginning.
    pub(crate) spoken: Spoken,
}

impl Site {
    /// Carries out the schedule.
    pub(crate) async fn play(self, schedule: Vec<Happening<Fault>>) {
        let began = Instant::now();
        for Happening { at, what } in schedule {
            tokio::time::sleep_until(began + at).await;
            self.host.oracle().note(|| format!("fault: {}", what.name()));
            self.suffer(what).await;
        }
    }

    async fn suffer(&self, what: Fault) {
        match what {
            Fault::Outages => self.outage().await,
            Fault::Restarts => self.restart().await,
            Fault::StallAll => self.server.stall_connections(),
            Fault::ResetAll => self.server.reset_connections(),
            Fault::CloseIdle => match self.server.protocol().is_http2() {
                true if self.host.below(2) == 0 => {
                    self.server.go_away(Processed::SoFar(Reason::NO_ERROR));
                }
                true => self.server.go_away(Processed::All),
                false => self.server.close_idle(),
            },
            Fault::Amnesia => self.host.forget_sessions(),
            Fault::EraChanges => {
                let spoken = [Spoken::Both, Spoken::Legacy, Spoken::Modern];
                let drawn = usize::try_from(self.host.below(3)).unwrap_or_default();
                self.host.mcp.speaks(spoken[drawn]);
                self.host.oracle().sessions_forgotten();
            }
            Fault::Sleeps => {
                self.computer.sleeps(Duration::from_secs(10 + self.host.below(8 * 3600)));
                self.server.stall_connections();
            }
            _ => self.computer.sets_its_clock(self.host.below(4)),
        }
    }

    /// Refuses new connections for a while; open ones stay open.
    async fn outage(&self) {
        self.server.set_mood(Mood::Down);
        tokio::time::sleep(self.host.millis(SHORT)).await;
        self.server.set_mood(Mood::Up);
        tokio::time::sleep(RESPITE).await;
    }

    async fn restart(&self) {
        self.server.kill().await;
        self.host.forget_sessions();
        if self.host.below(2) == 0 {
            lock(&self.host.streams).forget();
        }
        tokio::time::sleep(self.host.millis(SHORT)).await;
        // A server without a port has none to lose.
        let _ = self.server.restart().await;
        tokio::time::sleep(RESPITE).await;
    }

    /// Ends all faults for good.
    pub(crate) async fn heal(&self) {
        self.host.chance().faults = Faults::none();
        self.host.mcp.speaks(self.spoken);
        let _ = self.server.restart().await;
    }
}

/// The longest outage in milliseconds: shorter than the patience before the first connect.
const SHORT: u64 = 8_000;
/// The pause after an outage: two in a row would be one long one.
const RESPITE: Duration = Duration::from_secs(5);
