//! The memory that all answers of a link hold together while they arrive.
//!
//! At the limit, an answer is not read further until others have freed memory, so that the server waits. One
//! answer at a time may exceed the limit, up to the size of a message, so that there is always one that can
//! end. Calls and the link's own answers have an account each, and small answers never wait: a server may end
//! a large answer only when it has our reply to a small question.
//!
//! ```text
//!   limit of the link   3 messages       calls   1      and one beyond   1     ┐
//!                                        link    1/2    and one beyond   1     ├ 4 messages in all
//!                                        small   1/512 of each of 256 calls    ┘
//! ```

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use ridethrough_core::Lane;

use super::limits::Limits;

/// The memory that a link's answers hold together.
#[derive(Clone)]
pub(super) struct Memory {
    calls: Arc<Mutex<Account>>,
    link: Arc<Mutex<Account>>,
}

struct Account {
    limit: usize,
    /// The part of each answer that never waits.
    small: usize,
    held: usize,
    /// The one answer that may exceed the limit.
    beyond: Option<OverBudget>,
    waiting: BTreeMap<u64, Waker>,
    last: u64,
}

struct OverBudget {
    id: u64,
    /// Whether it has read anything beyond the limit. Until then, another may take its turn.
    has_read: bool,
}

impl Memory {
    pub(super) fn new(limits: Limits) -> Self {
        let small = SMALL.min(limits.message / 512);
        let account = |limit| Arc::new(Mutex::new(Account::new(limit, small)));
        Self { calls: account(limits.link / 3), link: account(limits.link / 6) }
    }

    /// Returns the share of one answer to a request of this lane.
    pub(super) fn share(&self, lane: Lane) -> Share {
        let account = match lane {
            Lane::Call | Lane::Resume => self.calls.clone(),
            Lane::Control | Lane::Notice => self.link.clone(),
        };
        let mut locked = lock(&account);
        locked.last += 1;
        let id = locked.last;
        drop(locked);
        Share { account, id, held: 0 }
    }
}

/// The memory that one answer holds; freed when it is dropped.
pub(super) struct Share {
    account: Arc<Mutex<Account>>,
    /// The number of the answer; older ones have smaller numbers.
    id: u64,
    held: usize,
}

impl Share {
    /// Whether more of the answer may be read; if not, the task is woken when it may ask again.
    pub(super) fn poll_room(&self, context: &mut Context<'_>) -> Poll<()> {
        let mut account = lock(&self.account);
        if account.held < account.limit || self.held < account.small {
            return Poll::Ready(());
        }
        let id = self.id;
        if account.beyond.get_or_insert(OverBudget { id, has_read: false }).id == id {
            return Poll::Ready(());
        }
        account.waiting.insert(id, context.waker().clone());
        Poll::Pending
    }

    /// Gives up the turn beyond the limit, because there was nothing to read.
    pub(super) fn pass(&self) {
        let mut account = lock(&self.account);
        if account.beyond.take_if(|it| it.id == self.id && !it.has_read).is_some() {
            account.wake(self.id);
        }
    }

    /// Sets how much the answer holds from now on.
    pub(super) fn hold(&mut self, bytes: usize) {
        let mut account = lock(&self.account);
        let is_more = bytes > self.held;
        account.held = account.held - self.held + bytes;
        self.held = bytes;
        if let Some(beyond) = account.beyond.as_mut().filter(|it| is_more && it.id == self.id) {
            beyond.has_read = true;
        }
        let is_within = account.held < account.limit;
        let needs_none = bytes < account.small;
        account.beyond.take_if(|it| is_within || (needs_none && it.id == self.id));
        if !is_more && (is_within || account.beyond.is_none()) {
            account.wake(self.id);
        }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.hold(0);
        let mut account = lock(&self.account);
        account.waiting.remove(&self.id);
        if account.beyond.take_if(|it| it.id == self.id).is_some() {
            account.wake(self.id);
        }
    }
}

impl Account {
    const fn new(limit: usize, small: usize) -> Self {
        Self { limit, small, held: 0, beyond: None, waiting: BTreeMap::new(), last: 0 }
    }

    /// Wakes all waiting answers, the oldest first, so that it is the first to ask. Answers are read side by
    /// side in one task, so a waker only marks them to be polled.
    fn wake(&mut self, by: u64) {
        for (id, waiter) in std::mem::take(&mut self.waiting) {
            if id != by {
                waiter.wake();
            }
        }
    }
}

fn lock(account: &Mutex<Account>) -> MutexGuard<'_, Account> {
    // No code panics while it holds the lock.
    account.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The size that never waits: progress, questions and most answers are smaller.
const SMALL: usize = 32 << 10;

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    use super::*;

    #[test]
    fn beyond_the_limit_one_goes_on_and_the_others_wait_until_it_is_done() {
        let memory = memory();
        let (mut one, mut two, mut three) =
            (memory.share(Lane::Call), memory.share(Lane::Resume), memory.share(Lane::Call));
        for share in [&mut one, &mut two, &mut three] {
            share.hold(6 * KIB);
        }
        let told = Arc::new(Told::default());

        assert!(two.may_read(&told));
        two.hold(7 * KIB);
        assert!(!one.may_read(&told) && !three.may_read(&told));
        two.hold(16 * KIB);
        assert!(two.may_read(&told), "up to the limit of its message");
        assert_eq!(told.count(), 0);
        drop(two);

        assert_eq!(told.count(), 2);
        assert!(one.may_read(&told) && three.may_read(&told));
    }

    #[test]
    fn one_that_has_nothing_to_read_lets_another_go_beyond_the_limit() {
        let memory = memory();
        let (mut one, mut two) = (memory.share(Lane::Call), memory.share(Lane::Call));
        one.hold(10 * KIB);
        two.hold(10 * KIB);
        let told = Arc::new(Told::default());
        assert!(one.may_read(&told));
        assert!(!two.may_read(&told));

        one.pass();

        assert_eq!(told.count(), 1);
        assert!(two.may_read(&told));
        two.hold(11 * KIB);
        two.pass();
        assert!(!one.may_read(&told), "who has read beyond the limit goes on to its end");
    }

    #[test]
    fn a_large_answer_that_ends_lets_the_next_one_go_though_all_hold_too_much() {
        let memory = memory();
        let mut shares: Vec<Share> = (0..4).map(|_| memory.share(Lane::Call)).collect();
        for share in &mut shares {
            share.hold(16 * KIB);
        }
        let told = Arc::new(Told::default());

        for share in &mut shares {
            assert!(share.may_read(&told));
            share.hold(17 * KIB);
            share.hold(0);
        }
    }

    #[test]
    fn what_is_small_waits_for_nothing_and_the_link_does_not_wait_for_calls() {
        let memory = memory();
        let mut calls = [memory.share(Lane::Call), memory.share(Lane::Call)];
        let (mut small, mut link) = (memory.share(Lane::Call), memory.share(Lane::Control));
        let told = Arc::new(Told::default());
        for call in &mut calls {
            call.hold(16 * KIB);
            call.may_read(&told);
        }

        small.hold(SMALLEST - 1);
        link.hold(7 * KIB);
        assert!(small.may_read(&told) && link.may_read(&told));

        small.hold(SMALLEST);
        assert!(!small.may_read(&told));
    }

    fn memory() -> Memory {
        Memory::new(Limits { message: 16 * KIB, link: 48 * KIB, ..Limits::default() })
    }

    impl Share {
        fn may_read(&self, told: &Arc<Told>) -> bool {
            let waker = Waker::from(told.clone());
            self.poll_room(&mut Context::from_waker(&waker)).is_ready()
        }
    }

    #[derive(Default)]
    struct Told(AtomicUsize);

    impl Told {
        fn count(&self) -> usize {
            self.0.load(Ordering::Relaxed)
        }
    }

    impl Wake for Told {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    const KIB: usize = 1024;
    const SMALLEST: usize = 16 * KIB / 512;
}
