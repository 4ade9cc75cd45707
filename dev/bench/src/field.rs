//! The contestants of a run.

use anyhow::Result;
use ridethrough_testkit::place::beside;

use crate::contestant::Contestant;
use crate::rivals::{self, RivalProxy};

/// All contestants of one run.
pub(crate) struct Field {
    /// A minimal client.
    pub(crate) floor: Contestant,
    pub(crate) ours: Contestant,
    pub(crate) rivals: Vec<Contestant>,
    pub(crate) bridges: Vec<Contestant>,
    pub(crate) proxies: Vec<RivalProxy>,
}

/// Whether rivals are measured, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rivals {
    Installed,
    LeftOut,
}

impl Field {
    /// Finds the contestants, and installs those of others as far as a bar that is measured has a place for them.
    pub(crate) fn new(rivals: Rivals, wants: impl Fn(&[&str]) -> bool) -> Result<Self> {
        let has_rivals = rivals == Rivals::Installed;
        let bars = |bars| has_rivals && wants(bars);
        let clients = ["P1", "P2", "P3", "P4", "P5", "P6"];
        let rivals = if bars(&clients) { rivals::clients()? } else { Vec::new() };
        let bridges = if bars(&["P7", "P8"]) { rivals::bridges()? } else { Vec::new() };
        let proxies = if bars(&["G3", "G4"]) { rivals::proxies()? } else { Vec::new() };
        let floor = Contestant::new("floor", beside("floor-client")?);
        let ours = Contestant::new("ours", beside("ours-client")?);
        Ok(Self { floor, ours, rivals, bridges, proxies })
    }

    /// Returns the clients, the floor first and ours second.
    pub(crate) fn clients(&self) -> impl Iterator<Item = &Contestant> {
        [&self.floor, &self.ours].into_iter().chain(&self.rivals)
    }
}
