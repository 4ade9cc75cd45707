//! The base: the parts that calls and the standing stream stand on.

use ridethrough_wire::era::Eras;

use crate::moment::Moment;
use crate::policy::RetryPolicy;

use super::admission::Admission;
use super::context::Context;
use super::credentials::Credentials;
use super::health::Health;
use super::outbound::Outbound;
use super::reach::Reach;
use super::request::Identity;
use super::session::Sessions;

/// The parts that know nothing of calls, and the context. Each of them gets the context, and what else it
/// needs to know as a value or as a reference to one of the others.
#[derive(Debug)]
pub(crate) struct Base {
    pub(crate) cx: Context,
    pub(crate) reach: Reach,
    pub(crate) session: Sessions,
    pub(crate) health: Health,
    pub(crate) admission: Admission,
    pub(crate) outbound: Outbound,
    pub(crate) credentials: Credentials,
}

impl Base {
    pub(crate) fn new(
        now: Moment,
        eras: Eras,
        identity: Identity,
        policy: RetryPolicy,
        seed: u64,
    ) -> Self {
        Self {
            cx: Context::new(now, policy, seed),
            reach: Reach::new(),
            session: Sessions::new(eras, identity),
            health: Health::new(now),
            admission: Admission::new(now),
            outbound: Outbound::default(),
            credentials: Credentials::default(),
        }
    }
}
