//! How many results of a server are kept, and for how long.

use std::time::Duration;

/// The settings of a client's cache. It keeps results of `tools/list`, `prompts/list`, `resources/list`,
/// `resources/templates/list`, `resources/read` and `server/discover` for as long as the server allows
/// (`ttlMs`), and never longer than a day. If the server names no time, or zero, nothing is kept. Nor is
/// anything kept of a server with sessions (2025-11-25 and before), which makes no such promise.
///
/// A kept result is dropped when the server announces a change, or may have announced one while the stream of
/// notifications was interrupted; when another server, era or session is found; and, unless it is `public`,
/// when the token changes.
///
/// ```
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// use std::time::Duration;
/// use ridethrough::Client;
/// use ridethrough::call::Source;
/// use ridethrough::policy::Cache;
///
/// let client = Client::builder("https://example.com/mcp")
///     .cache(Cache::new().stale_if_error(Duration::from_secs(300)))
///     .build()?;
///
/// let tools = client.tools().sourced().await?;
/// if let Source::Stale { age, error } = &tools.source {
///     eprintln!("these tools are {age:?} old: {error}");
/// }
/// let certain = client.tools().fresh().await?;
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Cache {
    pub(crate) most_entries: usize,
    pub(crate) most_bytes: usize,
    pub(crate) stale_if_error: Duration,
}

impl Cache {
    /// Creates a cache of at most 256 results and 8 MiB, which returns nothing once its time is over.
    pub const fn new() -> Self {
        Self { most_entries: 256, most_bytes: 8 << 20, stale_if_error: Duration::ZERO }
    }

    /// Creates a cache that keeps nothing, so that each call asks the server.
    pub const fn off() -> Self {
        Self { most_entries: 0, ..Self::new() }
    }

    /// Sets how many results are kept at most; the oldest is dropped first. A page of a list is one result.
    pub const fn most_entries(mut self, entries: usize) -> Self {
        self.most_entries = entries;
        self
    }

    /// Sets how many bytes of results are kept at most; the oldest is dropped first, and a larger result is
    /// not kept.
    pub const fn most_bytes(mut self, bytes: usize) -> Self {
        self.most_bytes = bytes;
        self
    }

    /// Sets how long a result is used after its time is over, **if the server cannot be asked for a new
    /// one**: it cannot be reached, does not answer, or fails (429, 5xx, -32603). Off by default.
    ///
    /// The call takes as long as it would have taken to fail: see [`Call::timeout`](crate::Call::timeout). A
    /// stale result is reported by [`Event::StaleServed`](crate::event::Event::StaleServed), by a `tracing`
    /// record, and by [`Call::sourced`](crate::Call::sourced).
    pub const fn stale_if_error(mut self, time: Duration) -> Self {
        self.stale_if_error = time;
        self
    }

    pub(crate) const fn is_off(self) -> bool {
        self.most_entries == 0
    }
}

impl Default for Cache {
    /// Returns [`Cache::new`]: a server that does not want its results kept names no time.
    fn default() -> Self {
        Self::new()
    }
}
