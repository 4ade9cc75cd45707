//! Refusals: a server that asks for time, and what stands before it and refuses an answer after the run.

use std::time::Duration;

use crate::machine::script::Script;
use crate::machine::server::Server;
use crate::machine::texts::ERROR_PAGE;

impl Server {
    /// Refuses a call that was run, as filters of answers, limits on them and pages of errors do.
    pub(super) fn at_the_door(&mut self, after: Duration) -> Script {
        match self.rng.below(6) as usize {
            0 => Script::busy(after, 503, self.hint()),
            1 => Script::redirect(after, ERROR_PAGE),
            status => Script::status(after, [403, 405, 413, 428][status - 2]),
        }
    }

    pub(super) fn hint(&mut self) -> Duration {
        self.rng.between(Duration::from_millis(10), Duration::from_secs(3))
    }

    pub(crate) fn defer(&mut self, latency: Duration) -> Script {
        let hint = self.hint();
        let status = [429, 425, 503][self.rng.below(3) as usize];
        if status != 503 && self.rng.below(3) == 0 {
            return Script::status(latency, status);
        }
        Script::busy(latency, status, hint)
    }
}
