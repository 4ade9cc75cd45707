//! A computer that slept: everything that was out may be dead without a sign.

use tokio::time::Instant;

use super::{Driver, LOOK_EVERY};

impl Driver {
    /// Checks whether the computer slept, because then everything that was out may be dead without a sign.
    pub(super) fn look_for_sleep(&mut self) {
        let now = Instant::now();
        if now < self.looked + LOOK_EVERY {
            return;
        }
        self.looked = now;
        self.ask_about_sleep();
    }

    pub(super) fn ask_about_sleep(&mut self) {
        if let Some(gap) = self.sleep.slept() {
            self.cache.slept(gap);
            self.link.handle_resumed_from_suspend(self.clock.now(), gap);
        }
    }
}
