//! Where a result comes from.

use std::sync::Arc;
use std::time::Duration;

use crate::error::Error;

/// Where a result comes from.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum Source {
    /// From the server, which was asked just now.
    #[default]
    Server,
    /// From what the server said so long ago and allowed to keep; it was not asked.
    Kept {
        /// How old it is.
        age: Duration,
    },
    /// From what the server said so long ago. Its time is over, but the server could not be asked: see
    /// [`Cache::stale_if_error`](crate::policy::Cache::stale_if_error).
    Stale {
        /// How old it is.
        age: Duration,
        /// Why there is no newer one.
        error: Arc<Error>,
    },
}

/// A result, and where it comes from.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Sourced<T> {
    /// The result.
    pub value: T,
    /// Where it comes from. For a list of several pages, the worst of theirs.
    pub source: Source,
}

impl Source {
    /// Whether its time is over.
    pub const fn is_stale(&self) -> bool {
        matches!(self, Self::Stale { .. })
    }

    /// How old it is.
    pub const fn age(&self) -> Duration {
        match self {
            Self::Server => Duration::ZERO,
            Self::Kept { age } | Self::Stale { age, .. } => *age,
        }
    }

    /// The one of both that says less about the present.
    pub(crate) fn worse(self, other: Self) -> Self {
        let rank = |source: &Self| (source.is_stale(), source.age());
        if rank(&other) > rank(&self) { other } else { self }
    }
}
