//! The events of a world, and the requests that are out.

use std::time::Duration;

use ridethrough_core::{AttemptId, CredentialsId, ExchangeId, QuestionId};

use crate::machine::script::News;
use crate::machine::server::Outage;

/// An event that is due at a moment.
#[derive(Debug)]
pub(super) enum DueHappening {
    Answer(QuestionId, bool),
    Begin,
    Cancel(ExchangeId),
    Credentials(CredentialsId, bool),
    Connected(AttemptId, bool),
    FleetChanges,
    News(AttemptId, News),
    OutageBegins(Outage, Duration),
    OutageEnds,
    Restart,
    Run(AttemptId, u64),
    Scope(bool),
}

/// A request that is out.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) call: Option<u64>,
    pub(super) is_handshake: bool,
    /// The generation whose era is asked for; pings of a stateless server have that form, too.
    pub(super) asks_era_of: Option<u64>,
    pub(super) listens: Option<u64>,
}
