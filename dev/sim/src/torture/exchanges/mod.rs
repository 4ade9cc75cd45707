//! The scripts, by subject.

mod calls;
mod standing;
mod stateless;
mod streams;
mod trouble;

use super::exchange::Exchange;

/// Returns every script.
pub fn all() -> impl Iterator<Item = Exchange> {
    let groups = [
        calls::EXCHANGES,
        streams::EXCHANGES,
        trouble::EXCHANGES,
        standing::EXCHANGES,
        stateless::EXCHANGES,
    ];
    groups.into_iter().flatten().copied()
}
