//! What was tried for one exchange, and what may still be.
//!
//! Counters that only progress resets, counters that nothing resets, and the one value that only
//! rises: [`Delivery`].

use std::time::Duration;

use crate::failure::Delivery;
use crate::moment::Moment;

/// What one exchange has spent.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counters {
    delivery: Delivery,
    /// Sends and resumes that went out.
    pub(crate) attempts: u32,
    /// Requests that the link had made for the sake of a session before this call began.
    pub(crate) handshakes_before: u32,
    /// Re-sends of rows 2, 3, 7 and 9. Nothing gives them back.
    pub(crate) resends: u32,
    /// When the first of them was wanted: patience runs from there.
    pub(crate) troubled_since: Option<Moment>,
    /// Resumes since the last progress that cost an attempt.
    pub(crate) fruitless: u32,
    /// Resumes in all.
    pub(crate) resumes: u32,
    /// Polls in a row without a message.
    pub(crate) empty_polls: u32,
    /// When the last resume went out.
    pub(crate) resumed_at: Option<Moment>,
    /// Row 5 was used: a session is renewed once for a call.
    pub(crate) session_renewed: bool,
    /// L18 was used: the form of a stateless request is mended once.
    pub(crate) mended: bool,
    /// Row 22 was used.
    pub(crate) credentials_renewed: bool,
    /// Rounds of row 23.
    pub(crate) step_ups: u32,
    /// Redirects followed.
    pub(crate) redirects: u32,
    /// Row 9: a gap in a proxy's routes was waited out once.
    pub(crate) gap_waited: bool,
    /// Row 9 was used: the call was sent again after its stream was gone.
    pub(crate) repeated_after_gone: bool,
    /// L16 was used: the era was asked for this call.
    pub(crate) era_asked: bool,
    /// Patience used up by earlier waits for a connection or session.
    pub(crate) waited: Duration,
}

impl Counters {
    /// What is known about the server having acted.
    pub(crate) const fn delivery(&self) -> Delivery {
        self.delivery
    }

    /// Learns about one attempt. Doubt is sticky: a later refusal takes nothing back.
    pub(crate) fn note(&mut self, delivery: Delivery) {
        self.delivery = self.delivery.max(delivery);
    }

    /// Row 14: an unseen message arrived.
    pub(crate) const fn progressed(&mut self) {
        self.fruitless = 0;
        self.empty_polls = 0;
        self.gap_waited = false;
    }
}
