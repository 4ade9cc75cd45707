//! Sessions and their renewal: one handshake at a time, however many calls wait for it.
//!
//! ```text
//!   Absent ───a call needs it───▶ Renewing: initialize ▶ initialized ──▶ Ready (generation + 1)
//!     ▲                              │    ▲                                │
//!     │                       failed ▼    │ time is up                     │
//!     │                            Paused ┘                                │
//!     └─────────────────────────── lost ◀──────────────────────────────────┘
//! ```
//! Each handshake takes a new generation, so "newer than the one I lost" is a comparison. The loop ends with
//! the patience of the calls that wait, never after a number of tries.

use std::sync::Arc;
use std::time::Duration;

use ridethrough_wire::era::{Carrier, Era, Version};
use ridethrough_wire::message::{Answer, Json};
use serde::Deserialize;

use crate::answer::PostReading;
use crate::backoff::{Window, YOUNG, gap};
use crate::exchange::LastRefusal;
use crate::head::AnswerHead;
use crate::ids::{AttemptId, ConnectionId, CredentialsId, Generation};
use crate::moment::Moment;
use crate::outcome::Reason;
use crate::output::Address;
use crate::rng::Rng;

/// The session of a link.
#[derive(Debug)]
pub(crate) enum Session {
    Absent,
    Ready(Ready),
    Renewing(Box<Renewal>),
}

/// A session that calls can use.
#[derive(Clone, Debug)]
pub(crate) struct Ready {
    pub(crate) address: Address,
    pub(crate) version: Version,
    /// The result of `initialize` or `server/discover`, in full.
    pub(crate) server: Option<Json>,
    /// When the session began.
    pub(crate) since: Moment,
    /// The connection that the session was made on.
    pub(crate) home: Option<ConnectionId>,
    /// Whether the session was made without evidence that the server has sessions.
    pub(crate) is_guessed: bool,
}

impl Ready {
    /// Creates a session whose requests name the revision, if the revision has a header for it.
    pub(crate) fn new(version: Version, address: Address, server: Option<Json>) -> Self {
        let header = Some(version).filter(|version| version.has_version_header());
        let address = Address { version: header, ..address };
        Self { address, version, server, since: Moment::START, home: None, is_guessed: false }
    }

    pub(crate) const fn generation(&self) -> Generation {
        self.address.generation
    }
}

/// A handshake that is under way, or paused before its next try.
#[derive(Debug)]
pub(crate) struct Renewal {
    pub(crate) stage: Stage,
    began: Moment,
    /// Whether there was a session before, so that a server is known to exist.
    had_session: bool,
    late: u32,
    /// How many answers were refusals or errors.
    refusals: u32,
    /// How many times the server asked for time.
    pub(crate) deferrals: u32,
    /// How many times the credentials were renewed for this handshake.
    pub(crate) credential_rounds: u32,
    /// The moment until which the server asked to be left alone.
    pub(crate) asked_until: Moment,
    pub(crate) redirects: u32,
    pub(crate) target: Option<Arc<str>>,
    /// Whether the server answered something in JSON-RPC that names our request.
    pub(crate) has_spoken: bool,
    /// Whether the era was found during this handshake.
    pub(crate) is_discovered: bool,
    /// Whether a modern server was asked again after it refused the revision that it names itself.
    pub(crate) is_asked_again: bool,
    /// How `initialize` was refused, while HTTP+SSE is tried.
    pub(crate) refusal: Option<Box<RefusedInitialize>>,
    /// How many answers to `server/discover` said nothing about the era, and since when.
    pub(crate) asked_in_vain: u32,
    pub(crate) asked_in_vain_since: Option<Moment>,
    /// Why the last try failed.
    pub(crate) last: Reason,
    /// How the server refused the last failed try.
    pub(crate) last_refusal: Option<LastRefusal>,
}

/// A refused `initialize`, kept until it is known whether the server speaks HTTP+SSE.
#[derive(Debug)]
pub(crate) struct RefusedInitialize {
    pub(crate) head: AnswerHead,
    pub(crate) reading: PostReading,
}

#[derive(Debug)]
pub(crate) enum Stage {
    AwaitCredentials,
    AwaitLink,
    Opening(Opening),
    /// The server has answered `initialize`, and must still accept `initialized`.
    Initialized {
        attempt: AttemptId,
        until: Moment,
        ready: Ready,
    },
    Paused {
        until: Moment,
    },
}

/// The first request of a handshake, while it is out.
#[derive(Debug)]
pub(crate) struct Opening {
    pub(crate) opens: Opens,
    pub(crate) attempt: AttemptId,
    pub(crate) wire_id: u64,
    pub(crate) generation: Generation,
    pub(crate) credentials: CredentialsId,
    pub(crate) until: Moment,
    pub(crate) head: Option<AnswerHead>,
}

/// The first request of a handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opens {
    /// `server/discover`, because the era is not known.
    Discover,
    Initialize(Carrier),
}

impl Opens {
    pub(crate) const fn carrier(self) -> Carrier {
        match self {
            Self::Discover => Carrier::StreamableHttp,
            Self::Initialize(carrier) => carrier,
        }
    }
}

impl Session {
    /// Returns the state before the first call: legacy sessions are made when needed; the stateless era is
    /// ready.
    pub(crate) fn new(era: Era) -> Self {
        match era {
            Era::Legacy => Self::Absent,
            Era::Modern => {
                let address = Address { generation: Generation::new(1), ..Address::default() };
                Self::Ready(Ready::new(Version::V2026_07_28, address, None))
            }
        }
    }

    pub(crate) const fn ready(&self) -> Option<&Ready> {
        match self {
            Self::Ready(ready) => Some(ready),
            _ => None,
        }
    }

    pub(crate) const fn renewal(&mut self) -> Option<&mut Renewal> {
        match self {
            Self::Renewing(renewal) => Some(renewal),
            _ => None,
        }
    }
}

impl Renewal {
    pub(crate) const fn new(now: Moment, had_session: bool) -> Self {
        Self {
            stage: Stage::AwaitLink,
            began: now,
            had_session,
            late: 0,
            refusals: 0,
            deferrals: 0,
            credential_rounds: 0,
            asked_until: now,
            redirects: 0,
            target: None,
            has_spoken: false,
            is_discovered: false,
            is_asked_again: false,
            refusal: None,
            asked_in_vain: 0,
            asked_in_vain_since: None,
            last: Reason::Nothing,
            last_refusal: None,
        }
    }

    /// Returns the attempt that is out, if one is.
    pub(crate) const fn attempt(&self) -> Option<AttemptId> {
        match &self.stage {
            Stage::Opening(Opening { attempt, .. }) | Stage::Initialized { attempt, .. } => {
                Some(*attempt)
            }
            _ => None,
        }
    }

    /// Whether a reply of the server or of the credentials hook is on its way. Calls wait for it even beyond
    /// their patience, because each reply has a time limit of its own.
    pub(crate) const fn is_under_way(&self) -> bool {
        self.attempt().is_some() || matches!(self.stage, Stage::AwaitCredentials)
    }

    /// Returns when the next try follows, if none is under way.
    pub(crate) const fn next_try(&self) -> Option<Moment> {
        match &self.stage {
            Stage::Paused { until } => Some(*until),
            _ => None,
        }
    }

    /// Returns the moment at which the handshake needs attention.
    pub(crate) const fn due(&self) -> Option<Moment> {
        match &self.stage {
            Stage::Opening(Opening { until, .. })
            | Stage::Initialized { until, .. }
            | Stage::Paused { until } => Some(*until),
            Stage::AwaitCredentials | Stage::AwaitLink => None,
        }
    }

    /// Notes a failure that may pass. Returns when the next try is due.
    pub(crate) fn pause(
        &mut self,
        now: Moment,
        hint: Option<Duration>,
        reason: Reason,
        rng: &mut Rng,
    ) -> Moment {
        let age = now.since(self.began);
        let gap = match reason {
            // A server that answers, or accepts a question without answering it, is there. It is asked less
            // often than one that may come back.
            _ if self.asked_in_vain > 0 || matches!(reason, Reason::Status(_)) => {
                self.refusals = self.refusals.saturating_add(1);
                let most = if self.had_session { COMES_BACK } else { STRANGER };
                Window { first: FIRST_PAUSE, most }.half_jitter(self.refusals - 1, rng)
            }
            _ => gap(age, self.late, rng),
        };
        if age >= YOUNG {
            self.late = self.late.saturating_add(1);
        }
        self.last = reason;
        self.asked_until = now + hint.unwrap_or_default();
        self.asked_until.max(now + gap)
    }
}

/// Reads the revision from the result of `initialize`. The error holds what the server said instead.
pub(crate) fn agreed_version(answer: &Answer) -> Result<Version, Arc<str>> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Agreed {
        protocol_version: String,
    }

    let Answer::Result(result) = answer else {
        return Err(answer.error().unwrap_or_default().message.into());
    };
    let Some(agreed) = result.read::<Agreed>() else { return Err("no protocol version".into()) };
    // A server that echoes any revision it is offered has still answered `initialize`: only a legacy revision
    // can be agreed on.
    Version::parse(&agreed.protocol_version)
        .filter(|version| version.era() == Era::Legacy)
        .ok_or_else(|| agreed.protocol_version.into())
}

/// The first pause after a refusal or an error.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// The longest pause, where a session was before.
const COMES_BACK: Duration = Duration::from_secs(5);
/// The longest pause, where no session ever was.
const STRANGER: Duration = Duration::from_secs(10);
/// How long `server/discover` may take. It is short because `initialize` is another way to find out.
pub(crate) const DISCOVER_LIMIT: Duration = Duration::from_secs(3);
/// How long the link waits for an abandoned `initialize`, so that its session can be deleted.
pub(crate) const ABANDONED_LIMIT: Duration = Duration::from_secs(45);
/// Row 2: how many times a handshake may be deferred.
pub(crate) const MOST_DEFERRALS: u32 = 3;
