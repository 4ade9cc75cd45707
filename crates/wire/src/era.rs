//! The two eras of the protocol, and what each revision allows.
//!
//! All code that depends on the era asks a question here, so that `Era` is the one list of differences.
//! *Legacy* revisions have `initialize`, sessions and resumable streams. *Modern* ones are stateless: no
//! handshake, no session, no resume, and a call is cancelled by closing its stream.

use std::fmt;
use std::time::Duration;

/// A family of revisions that share their wire behaviour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Era {
    /// 2024-11-05, 2025-03-26, 2025-06-18 and 2025-11-25.
    Legacy,
    /// 2026-07-28.
    Modern,
}

impl Era {
    /// How long a server is believed to be legacy. One that is upgraded may go on accepting legacy requests,
    /// so the link asks again from time to time.
    pub const LEGACY_LASTS: Duration = Duration::from_secs(3600);

    /// Whether `initialize` makes a session before the first call.
    pub const fn has_sessions(self) -> bool {
        matches!(self, Self::Legacy)
    }

    /// Whether a broken stream can be resumed by GET with `Last-Event-ID`.
    pub const fn resumes_streams(self) -> bool {
        matches!(self, Self::Legacy)
    }

    /// Returns how the server learns that a call is cancelled.
    pub const fn cancels_by(self) -> CancelBy {
        match self {
            Self::Legacy => CancelBy::Notification,
            Self::Modern => CancelBy::Closing,
        }
    }

    /// Returns the harmless request that shows whether a server is alive.
    pub const fn probe_method(self) -> &'static str {
        match self {
            Self::Legacy => "ping",
            Self::Modern => "server/discover",
        }
    }
}

/// The eras that a link may speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Eras {
    /// The era that the server speaks. The link asks, and follows when the server changes.
    Either,
    /// This era, whatever the server says.
    Only(Era),
}

impl From<Era> for Eras {
    fn from(era: Era) -> Self {
        Self::Only(era)
    }
}

/// The HTTP transport between a client and a server at a URL.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Carrier {
    /// HTTP+SSE of 2024-11-05: the client's messages go to an address that the server names, and all of the
    /// server's come on one stream. The stream is the session.
    HttpSse,
    /// Streamable HTTP: each message of the client is a request with an answer of its own.
    #[default]
    StreamableHttp,
}

/// How a call is cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CancelBy {
    /// By closing the response stream.
    Closing,
    /// By `notifications/cancelled`; a closed connection means nothing.
    Notification,
}

/// A revision of the protocol that this crate speaks, in the order of their dates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    /// The first revision: HTTP+SSE, or lines of a local server.
    V2024_11_05,
    /// Sessions and batches.
    V2025_03_26,
    /// Batches removed, version header added.
    V2025_06_18,
    /// Polling by `retry:` (SEP-1699).
    V2025_11_25,
    /// Stateless.
    V2026_07_28,
}

impl Version {
    /// The newest revision that begins with `initialize`, which is offered first.
    pub const LATEST_LEGACY: Self = Self::V2025_11_25;

    /// All revisions, in the order of their dates.
    pub const ALL: [Self; 5] = [
        Self::V2024_11_05,
        Self::V2025_03_26,
        Self::V2025_06_18,
        Self::V2025_11_25,
        Self::V2026_07_28,
    ];

    /// Returns the revision of this name, if it is known.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|version| version.as_str() == name)
    }

    /// Returns the name of the revision on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V2024_11_05 => "2024-11-05",
            Self::V2025_03_26 => "2025-03-26",
            Self::V2025_06_18 => "2025-06-18",
            Self::V2025_11_25 => "2025-11-25",
            Self::V2026_07_28 => "2026-07-28",
        }
    }

    /// Returns the era of the revision.
    pub const fn era(self) -> Era {
        match self {
            Self::V2024_11_05 | Self::V2025_03_26 | Self::V2025_06_18 | Self::V2025_11_25 => {
                Era::Legacy
            }
            Self::V2026_07_28 => Era::Modern,
        }
    }

    /// Whether requests carry `MCP-Protocol-Version`.
    pub const fn has_version_header(self) -> bool {
        !matches!(self, Self::V2024_11_05 | Self::V2025_03_26)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_revision_is_read_back_from_its_own_name() {
        for version in Version::ALL {
            assert_eq!(Version::parse(version.as_str()), Some(version));
        }
        assert_eq!(Version::parse("2024-10-07"), None);
    }

    #[test]
    fn only_the_stateless_revision_is_modern() {
        let modern: Vec<_> = Version::ALL.into_iter().filter(|v| v.era() == Era::Modern).collect();

        assert_eq!(modern, [Version::V2026_07_28]);
    }
}
