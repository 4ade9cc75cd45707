//! Whose turn it is: the application's notifications go out a few at a time, in the order in which they came.
//!
//! Whoever tells the server more than it takes waits in a line of its own, so that nothing else stands behind
//! it: not calls, not cancellations, not answers.

use std::collections::BTreeSet;

use crate::ids::NoticeId;

/// Notifications that are out, and those that wait for their turn.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    out: BTreeSet<NoticeId>,
    /// Oldest first.
    waiting: BTreeSet<NoticeId>,
}

impl Turns {
    /// Stands in line.
    pub(crate) fn wait(&mut self, id: NoticeId) {
        self.out.remove(&id);
        self.waiting.insert(id);
    }

    /// Goes out.
    pub(crate) fn go(&mut self, id: NoticeId) {
        self.waiting.remove(&id);
        self.out.insert(id);
    }

    /// Neither is out nor stands in line.
    pub(crate) fn leave(&mut self, id: NoticeId) {
        self.waiting.remove(&id);
        self.out.remove(&id);
    }

    /// The next one in line, if there is room for it.
    pub(crate) fn next(&self, capacity: usize) -> Option<NoticeId> {
        self.waiting.first().copied().filter(|_| self.has_room(capacity))
    }

    /// Half of what the connection carries is for calls, whatever is told meanwhile.
    fn has_room(&self, capacity: usize) -> bool {
        self.out.len() < MOST_OUT.min(capacity.div_ceil(2))
    }
}

/// Enough to hide the way there and back, few enough to leave connections to calls.
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
