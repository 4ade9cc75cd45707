//! The source of a result: the server, or the cache.

use std::sync::Arc;
use std::time::Duration;

use crate::error::Error;

/// The source of a result.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum Source {
    /// The server, which was asked just now.
    #[default]
    Server,
    /// The cache: the server was not asked, because it allowed to keep an earlier result.
    Kept {
        /// The age of the result.
        age: Duration,
    },
    /// The cache, past the time that the server allowed, because the server could not be asked: see
    /// [`Cache::stale_if_error`](crate::policy::Cache::stale_if_error).
    Stale {
        /// The age of the result.
        age: Duration,
        /// Why there is no newer result.
        error: Arc<Error>,
    },
}

/// A result, and its source.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Sourced<T> {
    /// The result.
    pub value: T,
    /// The source. For a list of several pages, that of the least fresh one.
    pub source: Source,
}

impl Source {
    /// Whether the result's time is over.
    pub const fn is_stale(&self) -> bool {
        matches!(self, Self::Stale { .. })
    }

    /// Returns the age of the result.
    pub const fn age(&self) -> Duration {
        match self {
            Self::Server => Duration::ZERO,
            Self::Kept { age } | Self::Stale { age, .. } => *age,
        }
    }

    /// Returns the less fresh of both.
    pub(crate) fn worse(self, other: Self) -> Self {
        let rank = |source: &Self| (source.is_stale(), source.age());
        if rank(&other) > rank(&self) { other } else { self }
    }
}
