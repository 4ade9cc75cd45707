//! The contestants of a run.

use anyhow::Result;

use crate::contestant::Contestant;
use crate::host::beside;
use crate::rivals;

/// All contestants of one run.
pub(crate) struct Field {
    /// A minimal client.
    pub(crate) floor: Contestant,
    pub(crate) ours: Contestant,
    pub(crate) rivals: Vec<Contestant>,
    pub(crate) bridges: Vec<Contestant>,
    /// Proxies from HTTP to HTTP.
    pub(crate) proxies: Vec<Contestant>,
}

/// Whether rivals are measured, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rivals {
    Installed,
    LeftOut,
}

impl Field {
    pub(crate) fn new(rivals: Rivals) -> Result<Self> {
        let (rivals, bridges) = match rivals {
            Rivals::Installed => (rivals::clients()?, rivals::bridges()?),
            Rivals::LeftOut => (Vec::new(), Vec::new()),
        };
        // It is both, by its flags.
        let proxies = bridges.iter().filter(|it| it.name == "mcp-proxy").cloned().collect();
        let floor = Contestant::new("floor", beside("floor-client")?);
        let ours = Contestant::new("ours", beside("ours-client")?);
        Ok(Self { floor, ours, rivals, bridges, proxies })
    }

    /// Returns the clients, the floor first and ours second.
    pub(crate) fn clients(&self) -> impl Iterator<Item = &Contestant> {
        [&self.floor, &self.ours].into_iter().chain(&self.rivals)
    }
}
