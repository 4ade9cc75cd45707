//! The line of notifications: they go out a few at a time, in the order in which the application sent them.
//!
//! Notifications that the server takes slowly wait in a line of their own, so that calls, cancellations and
//! answers never wait behind them.

use std::collections::BTreeSet;

use crate::ids::NoticeId;

/// The notifications that are out, and those that wait for their turn.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    out: BTreeSet<NoticeId>,
    /// The notifications that wait, oldest first.
    waiting: BTreeSet<NoticeId>,
}

impl Turns {
    /// Puts a notification into the line.
    pub(crate) fn wait(&mut self, id: NoticeId) {
        self.out.remove(&id);
        self.waiting.insert(id);
    }

    /// Notes that a notification goes out.
    pub(crate) fn go(&mut self, id: NoticeId) {
        self.waiting.remove(&id);
        self.out.insert(id);
    }

    /// Removes a notification from the line and from those that are out.
    pub(crate) fn leave(&mut self, id: NoticeId) {
        self.waiting.remove(&id);
        self.out.remove(&id);
    }

    /// Returns the next notification in line, if there is room for it.
    pub(crate) fn next(&self, capacity: usize) -> Option<NoticeId> {
        self.waiting.first().copied().filter(|_| self.has_room(capacity))
    }

    /// Whether another notification may go out. Half of what the connection carries is always left to calls.
    fn has_room(&self, capacity: usize) -> bool {
        self.out.len() < MOST_OUT.min(capacity.div_ceil(2))
    }
}

/// The most notifications that are out at once: enough to hide the round trip, few enough to leave
/// connections to calls.
const MOST_OUT: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_goes_next_and_a_connection_that_carries_little_carries_fewer() {
        let mut turns = Turns::default();
        for number in [3, 1, 2] {
            turns.wait(NoticeId::new(number));
        }

        turns.go(NoticeId::new(1));

        assert_eq!(turns.next(1), None);
        assert_eq!(turns.next(3), Some(NoticeId::new(2)));
        turns.leave(NoticeId::new(1));
        assert_eq!(turns.next(1), Some(NoticeId::new(2)));
    }
}
