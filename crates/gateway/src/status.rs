//! How each server behind the gateway is, for people and for programs that watch it.

use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::future::join_all;
use ridethrough::Era;
use ridethrough::event::Status;
use ridethrough_core::Reason;
use ridethrough_core::breaker::BreakerState;
use serde::{Deserialize, Serialize};
use tokio::time::timeout;

use crate::upstreams::{Load, Upstream};

/// How one server behind the gateway is. No header, no token and no URL is in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct UpstreamStatus {
    /// The name of the server.
    pub name: String,
    /// Whether calls go through.
    pub state: UpstreamState,
    /// Whether the server is a process that the gateway starts.
    pub is_local: bool,
    /// The era of the protocol, `legacy` or `modern`, if a link is open.
    pub era: Option<String>,
    /// The revision agreed on, if it is.
    pub revision: Option<String>,
    /// How many links to it are open.
    pub links: usize,
    /// The age of the oldest session with it.
    pub session_age_ms: Option<u64>,
    /// How many calls are under way.
    pub in_flight: usize,
    /// How many calls wait for a place.
    pub queued: usize,
    /// How many calls wait for the answer of a person.
    pub asking: usize,
    /// How many calls wait for a connection, a session or a moment.
    pub waiting: usize,
    /// When the next attempt begins after a failure.
    pub next_attempt_ms: Option<u64>,
    /// Whether new calls are refused because the server does not answer.
    pub is_breaker_open: bool,
    /// How many calls were not sent, because they repeat one that may have run.
    pub held_repeats: u64,
    /// What last went wrong, in one line and in our own words.
    pub last_error: Option<String>,
    /// How long ago that was.
    pub last_error_ago_ms: Option<u64>,
}

/// Whether calls go through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum UpstreamState {
    /// No link is open, because nobody needs one.
    #[default]
    Idle,
    /// A link is being opened, and none was before.
    Connecting,
    /// Calls go through.
    Ready,
    /// Something went wrong, and the client is recovering.
    Recovering,
    /// A state that only a gateway of another version has.
    #[serde(other)]
    Unknown,
}

/// Returns how a server is. A link whose client does not answer at once counts as recovering.
pub(crate) async fn of(upstream: &Upstream) -> UpstreamStatus {
    let links = upstream.links.all();
    let asked = links.iter().map(|link| timeout(PATIENCE, link.client.status()));
    let told: Vec<_> = join_all(asked).await.into_iter().map(|it| it.ok().flatten()).collect();
    let known: Vec<&Status> = told.iter().flatten().collect();
    let failure = known
        .iter()
        .filter_map(|it| it.last_failure.as_ref().map(|(at, why)| (millis(it.now.since(*at)), why)))
        .min_by_key(|(ago, _)| *ago);
    let is_well = told.iter().all(|it| it.as_ref().is_some_and(is_well));
    let Load { in_flight, queued, aside } = upstream.bulkhead.load();
    UpstreamStatus {
        name: upstream.name().to_string(),
        state: match (links.is_empty(), is_well, upstream.was_reached()) {
            (true, ..) => UpstreamState::Idle,
            (_, true, _) => UpstreamState::Ready,
            (_, false, true) => UpstreamState::Recovering,
            (_, false, false) => UpstreamState::Connecting,
        },
        is_local: upstream.settings.connect.is_local(),
        era: known
            .first()
            .map(|it| if it.era == Era::Modern { "modern" } else { "legacy" }.to_owned()),
        revision: known.iter().find_map(|it| it.version).map(|it| it.to_string()),
        links: links.len(),
        session_age_ms: known
            .iter()
            .filter_map(|it| it.session_since.map(|at| millis(it.now.since(at))))
            .max(),
        in_flight,
        queued,
        asking: aside,
        waiting: known.iter().map(|it| it.calls_waiting).sum(),
        next_attempt_ms: known
            .iter()
            .filter_map(|it| it.next_attempt.map(|at| millis(at.since(it.now))))
            .min(),
        is_breaker_open: known.iter().any(|it| it.breaker != BreakerState::Closed),
        held_repeats: upstream.held_repeats.load(Ordering::Relaxed),
        last_error: failure.map(|(_, why)| message(why)),
        last_error_ago_ms: failure.map(|(ago, _)| ago),
    }
}

fn is_well(status: &Status) -> bool {
    status.generation.is_some()
        && status.outage_since.is_none()
        && status.breaker == BreakerState::Closed
}

/// A server's own words may hold anything, so they are not repeated.
fn message(reason: &Reason) -> String {
    match reason {
        Reason::Said(_) => "the server refused in words of its own".to_owned(),
        Reason::Nothing => "unknown".to_owned(),
        reason => reason.to_string().replace('\n', " "),
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// How long a client may take to say how it is.
const PATIENCE: Duration = Duration::from_millis(500);
