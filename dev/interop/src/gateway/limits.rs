//! What cannot be translated, and what happens instead. A run fails if a limit is not needed any more.

use super::{HostRevision, ServerKind};

/// A feature that some pairs do not have.
pub(super) struct GatewayLimit {
    hosts: &'static [HostRevision],
    kinds: &'static [ServerKind],
    /// The servers, or all if there are none.
    servers: &'static [&'static str],
    feature: &'static str,
    pub(super) instead: &'static str,
    /// Whether it is tried all the same, because something definite must happen instead.
    pub(super) is_asked: bool,
}

/// Returns the limit of a pair, if there is one.
pub(super) fn limit(
    host: HostRevision,
    kind: ServerKind,
    server: &str,
    feature: &str,
) -> Option<&'static GatewayLimit> {
    LIMITS.iter().find(|it| {
        it.feature == feature
            && it.hosts.contains(&host)
            && it.kinds.contains(&kind)
            && (it.servers.is_empty() || it.servers.contains(&server))
    })
}

/// What no pair has.
const NONE: GatewayLimit = GatewayLimit {
    hosts: &HostRevision::ALL,
    kinds: &ServerKind::ALL,
    servers: &[],
    feature: "",
    instead: "",
    is_asked: false,
};
const TASK: GatewayLimit = GatewayLimit { feature: "task", ..NONE };
const URL: GatewayLimit = GatewayLimit { feature: "URL", ..NONE };
const RESUME: GatewayLimit = GatewayLimit { feature: "resume after a cut", ..NONE };
const OLD: &[ServerKind] = &[ServerKind::June2025, ServerKind::HttpSse];

const LIMITS: &[GatewayLimit] = &[
    GatewayLimit { kinds: OLD, instead: "the revision of the server has no tasks", ..TASK },
    GatewayLimit {
        hosts: &[HostRevision::June2025],
        instead: "the revision of the host has no tasks, and the gateway tells it of none",
        ..TASK
    },
    GatewayLimit {
        servers: &["python", "rmcp", "typescript-split"],
        instead: "the server of this SDK has no tasks, or none that a host of another SDK here can follow",
        ..TASK
    },
    GatewayLimit {
        hosts: &[HostRevision::Stateless],
        instead: "the SDK of the host has no tasks; those of a server with sessions are not translated, and the call is a plain one",
        ..TASK
    },
    GatewayLimit { kinds: OLD, instead: "the revision of the server has no such question", ..URL },
    GatewayLimit {
        servers: &["python", "rmcp"],
        instead: "the server of this SDK has no tool that asks so",
        ..URL
    },
    GatewayLimit {
        hosts: &[HostRevision::June2025],
        instead: "the revision of the host has no such question: the gateway refuses it for the host, and the server decides what becomes of the call",
        is_asked: true,
        ..URL
    },
    GatewayLimit {
        servers: &["rmcp"],
        feature: "list change",
        instead: "the list of the server of this SDK stays as it is, so nothing is told",
        ..NONE
    },
    GatewayLimit {
        kinds: &[ServerKind::Stdio],
        instead: "there is no connection that could be cut",
        ..RESUME
    },
    GatewayLimit {
        kinds: &[ServerKind::Stateless],
        instead: "streams of the server cannot be resumed: the call ends with the error that says that it may have run, and does not run twice",
        is_asked: true,
        ..RESUME
    },
    GatewayLimit {
        kinds: &[ServerKind::HttpSse],
        instead: "the one stream of the server is its session, which is begun anew: a call under way ends with the error that says that it may have run",
        ..RESUME
    },
];
