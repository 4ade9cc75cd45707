//! Places in flight: so many calls may be out at once, and the others stand in line.

use std::collections::BTreeSet;

use crate::ids::ExchangeId;

/// Who holds a place, and who waits for one.
#[derive(Debug)]
pub(super) struct Places {
    /// Calls that the connection can carry.
    capacity: usize,
    /// Calls that hold a place.
    placed: BTreeSet<ExchangeId>,
    /// Calls that wait for one, oldest first.
    queue: BTreeSet<ExchangeId>,
    /// Whether places are being given out right now.
    is_filling: bool,
}

impl Places {
    pub(super) const fn new() -> Self {
        Self {
            capacity: usize::MAX,
            placed: BTreeSet::new(),
            queue: BTreeSet::new(),
            is_filling: false,
        }
    }

    pub(super) fn set_capacity(&mut self, calls: usize) {
        self.capacity = calls.max(1);
    }

    pub(super) const fn capacity(&self) -> usize {
        self.capacity
    }

    pub(super) fn taken(&self) -> usize {
        self.placed.len()
    }

    /// Takes a place, if `most` of them allow it; a call that has one keeps it.
    pub(super) fn take(&mut self, id: ExchangeId, most: usize) -> bool {
        let has_place = self.placed.contains(&id) || self.has_room(most);
        if has_place {
            self.placed.insert(id);
        }
        has_place
    }

    /// Returns whether it had one.
    pub(super) fn give_back(&mut self, id: ExchangeId) -> bool {
        self.placed.remove(&id)
    }

    pub(super) fn stand_in_line(&mut self, id: ExchangeId) {
        self.queue.insert(id);
    }

    pub(super) fn leave_line(&mut self, id: ExchangeId) {
        self.queue.remove(&id);
    }

    /// Begins to give places out, unless that is under way: a call may end in the very moment it is let out
    /// and give its place back, and one loop inside the other would be as deep as the line is long.
    pub(super) const fn begin_filling(&mut self) -> bool {
        !std::mem::replace(&mut self.is_filling, true)
    }

    pub(super) const fn end_filling(&mut self) {
        self.is_filling = false;
    }

    /// Whoever has waited longest, if there is room.
    pub(super) fn next_in_line(&mut self, most: usize) -> Option<ExchangeId> {
        if self.has_room(most) { self.queue.pop_first() } else { None }
    }

    fn has_room(&self, most: usize) -> bool {
        self.placed.len() < most.min(self.capacity)
    }
}
