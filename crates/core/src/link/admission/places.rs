//! Places in flight: a limited number of calls is out at once, and the others wait in line.

use std::collections::BTreeSet;

use crate::ids::ExchangeId;

/// The calls that hold a place, and those that wait for one.
#[derive(Debug)]
pub(super) struct Places {
    /// How many calls the connection can carry.
    capacity: usize,
    /// The calls that hold a place.
    placed: BTreeSet<ExchangeId>,
    /// The calls that wait for a place, oldest first.
    queue: BTreeSet<ExchangeId>,
    /// Whether places are being given out at the moment.
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

    /// Takes a place, if fewer than `most` are taken. A call that has a place keeps it.
    pub(super) fn take(&mut self, id: ExchangeId, most: usize) -> bool {
        let has_place = self.placed.contains(&id) || self.has_room(most);
        if has_place {
            self.placed.insert(id);
        }
        has_place
    }

    /// Gives a place back. Returns whether the call had one.
    pub(super) fn give_back(&mut self, id: ExchangeId) -> bool {
        self.placed.remove(&id)
    }

    pub(super) fn stand_in_line(&mut self, id: ExchangeId) {
        self.queue.insert(id);
    }

    pub(super) fn leave_line(&mut self, id: ExchangeId) {
        self.queue.remove(&id);
    }

    /// Begins to give out places, and returns false if that is under way already. A call may end at the
    /// moment it is let out and give its place back; nested loops would then be as deep as the line is long.
    pub(super) const fn begin_filling(&mut self) -> bool {
        !std::mem::replace(&mut self.is_filling, true)
    }

    pub(super) const fn end_filling(&mut self) {
        self.is_filling = false;
    }

    /// Takes the call that has waited longest out of the line, if there is room for it.
    pub(super) fn next_in_line(&mut self, most: usize) -> Option<ExchangeId> {
        if self.has_room(most) { self.queue.pop_first() } else { None }
    }

    pub(super) fn has_line(&self) -> bool {
        !self.queue.is_empty()
    }

    fn has_room(&self, most: usize) -> bool {
        self.placed.len() < most.min(self.capacity)
    }
}
