//! What was tried for one exchange, and what may still be.
//!
//! Some counters are reset by progress, some never; and one value only rises: [`Delivery`].

use std::time::Duration;

use super::NonAnswers;
use crate::failure::Delivery;
use crate::moment::Moment;

/// What one exchange has used up.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counters {
    delivery: Delivery,
    /// Sends and resumes that went out.
    pub(crate) attempts: u32,
    /// Handshake requests that the link had made before this call began.
    pub(crate) handshakes_before: u32,
    /// Resends of rows 2, 3, 7 and 9. This is never reset.
    pub(crate) resends: u32,
    /// When the first resend was wanted; patience is counted from there.
    pub(crate) troubled_since: Option<Moment>,
    /// Resumes since the last progress that cost an attempt.
    pub(crate) fruitless: u32,
    /// Resumes in all.
    pub(crate) resumes: u32,
    /// Polls in a row without a message.
    pub(crate) empty_polls: u32,
    /// When the last resume went out.
    pub(crate) resumed_at: Option<Moment>,
    /// Row 5: whether a session was renewed for this call, which happens once.
    pub(crate) session_renewed: bool,
    /// L18: whether the form of a stateless request was mended, which happens once.
    pub(crate) mended: bool,
    /// Row 22: whether the credentials were renewed.
    pub(crate) credentials_renewed: bool,
    /// Row 23: how many times more scope was asked for.
    pub(crate) step_ups: u32,
    /// How many redirects were followed.
    pub(crate) redirects: u32,
    /// Row 9: whether a gap in a proxy's routes was waited out, which happens once.
    pub(crate) gap_waited: bool,
    /// Row 9: whether the call was sent again after its stream was gone.
    pub(crate) repeated_after_gone: bool,
    /// L16: whether the server was asked for its era because of this call.
    pub(crate) era_asked: bool,
    /// Until when the server asked not to be sent this again.
    pub(crate) not_before: Moment,
    /// What came in place of an answer.
    pub(crate) non_answers: NonAnswers,
    /// The patience used up by earlier waits for a connection or session.
    pub(crate) waited: Duration,
}

impl Counters {
    /// Returns what is known about the server having acted.
    pub(crate) const fn delivery(&self) -> Delivery {
        self.delivery
    }

    /// Adds what is known about one attempt. Doubt is sticky: a later refusal takes nothing back.
    pub(crate) fn note(&mut self, delivery: Delivery) {
        self.delivery = self.delivery.max(delivery);
    }

    /// Row 14: resets what an unseen message resets.
    pub(crate) const fn progressed(&mut self) {
        self.fruitless = 0;
        self.empty_polls = 0;
        self.gap_waited = false;
    }
}
