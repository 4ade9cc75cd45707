//! Finds what was unused for longest, without looking at everything each time.
//!
//! Uses are frequent and are not told here. Each item is listed by a time that is not after its last use; the first
//! of them is asked when it was used, and is listed again if that was later.

use std::collections::{BTreeMap, BTreeSet};

use tokio::time::Instant;

/// Items by their number, in the order of their last use as far as it is known.
#[derive(Debug)]
pub(crate) struct ByLastUse<T> {
    items: BTreeMap<u64, (Instant, T)>,
    order: BTreeSet<(Instant, u64)>,
}

impl<T> Default for ByLastUse<T> {
    fn default() -> Self {
        Self { items: BTreeMap::new(), order: BTreeSet::new() }
    }
}

impl<T> ByLastUse<T> {
    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    /// Adds an item that is used now.
    pub(crate) fn insert(&mut self, number: u64, item: T) {
        let now = Instant::now();
        self.items.insert(number, (now, item));
        self.order.insert((now, number));
    }

    pub(crate) fn remove(&mut self, number: u64) -> Option<T> {
        let (listed, item) = self.items.remove(&number)?;
        self.order.remove(&(listed, number));
        Some(item)
    }

    /// Returns the item that was unused for longest, if it was not used after `latest`. `unused_since` says since
    /// when an item is unused; `None` if it is in use.
    pub(crate) fn longest_unused(
        &mut self,
        latest: Instant,
        unused_since: impl Fn(&T) -> Option<Instant>,
    ) -> Option<&T> {
        let mut in_use = Vec::new();
        let longest = loop {
            let first = self.order.first().copied().filter(|(listed, _)| *listed <= latest);
            let Some((listed, number)) = first else { break None };
            match self.items.get(&number).and_then(|(_, item)| unused_since(item)) {
                Some(since) if since <= listed => break Some(number),
                Some(since) => self.list_again(number, since),
                None => {
                    self.order.pop_first();
                    in_use.push(number);
                }
            }
        };
        let now = Instant::now();
        in_use.into_iter().for_each(|number| self.list_again(number, now));
        self.items.get(&longest?).map(|(_, item)| item)
    }

    fn list_again(&mut self, number: u64, at: Instant) {
        if let Some((listed, _)) = self.items.get_mut(&number) {
            self.order.remove(&(*listed, number));
            self.order.insert((at, number));
            *listed = at;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::time::Duration;

    use super::*;

    /// An item as its owner sees it: since when it is unused, or `None`.
    type Item = std::rc::Rc<Cell<Option<Instant>>>;

    #[tokio::test(start_paused = true)]
    async fn it_finds_what_a_look_at_everything_would_find() {
        let mut by_last_use = ByLastUse::<Item>::default();
        let mut all = BTreeMap::<u64, Item>::new();
        // A sequence of numbers that repeats: which item changes, and how.
        let mut chance = 7_u64;
        for number in 0..2000 {
            tokio::time::advance(Duration::from_millis(chance % 3)).await;
            let now = Instant::now();
            chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(number);
            let at = (chance >> 33) % 40;
            match (chance >> 20) % 4 {
                0 if !all.contains_key(&at) => {
                    let item = Item::new(Cell::new(Some(now)));
                    all.insert(at, item.clone());
                    by_last_use.insert(at, item);
                }
                1 => assert_eq!(by_last_use.remove(at).is_some(), all.remove(&at).is_some()),
                2 => all.get(&at).into_iter().for_each(|it| it.set(None)),
                _ => all.get(&at).into_iter().for_each(|it| it.set(Some(now))),
            }
            let latest = now - Duration::from_millis(chance % 50);

            let found = by_last_use.longest_unused(latest, |it| it.get()).and_then(|it| it.get());

            let expected = all.values().filter_map(|it| it.get()).min();
            assert_eq!(found, expected.filter(|since| *since <= latest), "step {number}");
            assert_eq!(by_last_use.len(), all.len());
            assert_eq!(by_last_use.order.len(), all.len());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_used_lately_is_not_asked() {
        let mut by_last_use = ByLastUse::default();
        (0..1000).for_each(|number| by_last_use.insert(number, ()));
        tokio::time::advance(Duration::from_secs(9)).await;
        let asked = Cell::new(0);
        let mut look = |latest| {
            asked.set(0);
            by_last_use.longest_unused(latest, |()| {
                asked.set(asked.get() + 1);
                None
            });
            asked.get()
        };

        let now = Instant::now();
        assert_eq!(look(now - Duration::from_secs(10)), 0);
        assert_eq!(look(now - Duration::from_secs(9)), 1000, "all are in use");
        assert_eq!(look(now - Duration::from_secs(1)), 0, "as was seen just now");
    }
}
