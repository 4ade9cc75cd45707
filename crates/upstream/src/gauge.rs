//! The state of a running upstream and of what stands in front of it, read from outside.
//!
//! The program's loop and the client's driver are each asked for what they know. They share no state with the
//! reader and never wait for it. A snapshot contains no payload, no secret and no words of the server but its
//! name.

use std::fmt;
use std::time::Duration;

use ridethrough::Client;
use ridethrough::event::Status;
use ridethrough_core::answer::words::shortened;
use ridethrough_core::breaker;
use ridethrough_core::{Era, Moment, Reason};
use serde::{Deserialize, Serialize};
use tokio::sync::{mpsc, oneshot};

/// Reads the state of a program while it runs. Cheap to clone.
#[derive(Clone)]
pub struct Gauge {
    client: Client,
    asks: mpsc::UnboundedSender<Ask>,
}

/// The questions of gauges, which the program's loop takes in.
pub type Asks = mpsc::UnboundedReceiver<Ask>;

/// A question of a gauge.
pub struct Ask(oneshot::Sender<Own>);

/// The facts that the program's loop knows.
struct Own {
    /// Without what only the link knows.
    snapshot: Snapshot,
    had_session: bool,
    is_in_trouble: bool,
}

/// The state of a bridge. Times are in milliseconds before or after the moment it was read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct Snapshot {
    /// What the host calls itself.
    pub host: Option<String>,
    /// What the server calls itself.
    pub server: Option<String>,
    /// Whether calls go through.
    pub state: State,
    /// The era of the protocol: `legacy` has sessions, `modern` has none.
    pub era: String,
    /// The revision agreed on.
    pub revision: Option<String>,
    /// The number of the session; each handshake takes the next.
    pub generation: Option<u64>,
    /// How old the session is.
    pub age_ms: Option<u64>,
    /// How long the bridge runs.
    pub up_since_ms: u64,
    /// The last failure, whether it is over or not.
    pub last_error: Option<LastError>,
    /// The login that is needed before any call can be made.
    pub login: Option<NeededLogin>,
    /// When the next attempt begins after a failure.
    pub next_attempt_ms: Option<u64>,
    /// Whether new calls go out.
    pub breaker: Breaker,
    /// Requests of the host that have no answer yet, the oldest first; 50 at most.
    pub in_flight: Vec<InFlight>,
    /// How many requests of the host have no answer yet, in all.
    pub in_flight_count: usize,
    /// Calls, the bridge's own included, that wait for a connection, a session, a moment or a place.
    pub waiting: usize,
    /// How often the connection recovered.
    pub recoveries: u64,
    /// How long that took, in all.
    pub lost_ms: u64,
    /// Notifications of the host that were dropped, because the server takes them too slowly.
    pub dropped_notifications: u64,
    /// Calls that were not sent, because they repeat one that may have run.
    pub held_repeats: u64,
}

/// Whether calls go through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum State {
    /// There was no session yet.
    #[default]
    Connecting,
    /// A person must log in.
    LoginNeeded,
    /// Calls go through.
    Ready,
    /// Something went wrong, and the client is recovering.
    Recovering,
    /// A state that only a bridge of another version has.
    #[serde(other)]
    Unknown,
}

/// Whether new calls go out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Breaker {
    /// New calls go out.
    #[default]
    Closed,
    /// New calls are refused for a while.
    Open,
    /// New calls are refused while the server is asked whether it is back.
    Probing,
    /// A state that only a bridge of another version has.
    #[serde(other)]
    Unknown,
}

/// A login that is needed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NeededLogin {
    /// Why the login is needed.
    pub reason: String,
    /// The command that logs in.
    pub command: String,
}

/// A failure, and when it happened.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LastError {
    /// What went wrong.
    pub message: String,
    /// How long ago it happened.
    pub ago_ms: u64,
}

/// A request of the host that has no answer yet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct InFlight {
    /// The method.
    pub method: String,
    /// The tool, if one is called.
    pub tool: Option<String>,
    /// How long the request has been open.
    pub elapsed_ms: u64,
}

impl Gauge {
    /// Creates a gauge of this client's link, and the other end of its questions.
    pub fn new(client: Client) -> (Self, Asks) {
        let (asks, asked) = mpsc::unbounded_channel();
        (Self { client, asks }, asked)
    }

    /// Returns the state of the program; `None` if it does not run.
    pub async fn read(&self) -> Option<Snapshot> {
        let (reply, own) = oneshot::channel();
        self.asks.send(Ask(reply)).ok()?;
        let own = own.await.ok()?;
        Some(snapshot(own, &self.client.status().await?))
    }
}

impl Ask {
    pub(crate) fn answer(self, snapshot: Snapshot, had_session: bool, is_in_trouble: bool) {
        // The reader may be gone, and then needs no answer.
        let _ = self.0.send(Own { snapshot, had_session, is_in_trouble });
    }
}

impl fmt::Debug for Gauge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gauge").finish_non_exhaustive()
    }
}

/// Adds what the link knows.
fn snapshot(own: Own, link: &Status) -> Snapshot {
    let ago = |at: Moment| millis(link.now.since(at));
    let is_well = link.generation.is_some()
        && link.outage_since.is_none()
        && link.breaker == breaker::BreakerState::Closed
        && !own.is_in_trouble;
    Snapshot {
        state: match (is_well, own.had_session) {
            _ if own.snapshot.login.is_some() => State::LoginNeeded,
            (true, _) => State::Ready,
            (false, true) => State::Recovering,
            (false, false) => State::Connecting,
        },
        era: match link.era {
            Era::Legacy => "legacy",
            Era::Modern => "modern",
        }
        .to_owned(),
        revision: link.version.map(|version| version.to_string()),
        generation: link.generation.map(|generation| generation.number()),
        age_ms: link.session_since.map(ago),
        last_error: link
            .last_failure
            .as_ref()
            .map(|(at, reason)| LastError { message: message(reason), ago_ms: ago(*at) }),
        next_attempt_ms: link.next_attempt.map(|at| millis(at.since(link.now))),
        breaker: match link.breaker {
            breaker::BreakerState::Closed => Breaker::Closed,
            breaker::BreakerState::Open { .. } => Breaker::Open,
            breaker::BreakerState::Probing => Breaker::Probing,
        },
        waiting: link.calls_waiting,
        ..own.snapshot
    }
}

/// Returns what went wrong. A server that refuses credentials may repeat them, so its words are left out.
fn message(reason: &Reason) -> String {
    match reason {
        Reason::Said(_) => "the server refused in words of its own".to_owned(),
        Reason::Nothing => "unknown".to_owned(),
        reason => short(&reason.to_string()),
    }
}

/// Shortens words of others to one line that is safe for a terminal.
pub fn short(words: &str) -> String {
    shortened(words, LONGEST)
}

/// Returns a time as snapshots write it.
pub fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

const LONGEST: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_server_are_not_repeated() {
        let told = message(&Reason::Said("no such token: s3cret".into()));

        assert!(!told.contains("s3cret"), "{told}");
    }

    #[test]
    fn names_are_harmless_and_short() {
        assert_eq!(short("a\u{1b}[2J"), "a\u{fffd}[2J");
        assert_eq!(short(&"é".repeat(1000)).chars().count(), LONGEST);
    }

    #[test]
    fn a_snapshot_of_another_version_is_read_as_far_as_it_goes() {
        let read: Snapshot = serde_json::from_str(r#"{"state":"new","novelty":[1]}"#).unwrap();

        assert_eq!(read, Snapshot { state: State::Unknown, ..Snapshot::default() });
    }
}
