//! A server that falls ill while it runs.

use std::sync::atomic::{AtomicU8, Ordering};

/// What is wrong with a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sickness {
    /// It answers.
    None,
    /// It closes each connection instead of answering.
    Dies,
    /// It answers with messages without end.
    Floods,
    /// It takes requests and never answers.
    Hangs,
    /// It answers what nobody asked, with messages that are none.
    Lies,
}

/// The sickness of a server at the moment.
#[derive(Default)]
pub(super) struct Condition(AtomicU8);

impl Condition {
    pub(super) fn set(&self, sickness: Sickness) {
        let place = ALL.iter().position(|it| *it == sickness).unwrap_or_default();
        self.0.store(u8::try_from(place).unwrap_or_default(), Ordering::Relaxed);
    }

    pub(super) fn now(&self) -> Sickness {
        ALL.get(usize::from(self.0.load(Ordering::Relaxed))).copied().unwrap_or(Sickness::None)
    }
}

const ALL: [Sickness; 5] =
    [Sickness::None, Sickness::Dies, Sickness::Floods, Sickness::Hangs, Sickness::Lies];
