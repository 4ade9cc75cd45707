//! How the calls of a host are treated: how long one may take, and which may be sent twice.

use std::collections::BTreeSet;
use std::time::Duration;

use ridethrough::Call;
use ridethrough_core::Extension;
use ridethrough_core::message::Json;

/// What whoever starts a bridge says about all calls of its host.
#[derive(Clone, Debug, Default)]
pub(crate) struct Manner {
    /// The time for one call; that of the client's policy, if absent.
    pub(crate) limit: Option<Duration>,
    /// Tools that do no harm if they run twice.
    pub(crate) repeatable: BTreeSet<String>,
}

impl Manner {
    /// The call, with everything that is said about it.
    pub(crate) fn apply(&self, call: Call, method: &str, params: Option<&Json>) -> Call {
        let mut call = call;
        if let Some(limit) = self.limit {
            call = call.timeout(limit);
        }
        if params.is_some_and(asks_for_progress) {
            let by = self.limit.unwrap_or(WHILE_IT_MOVES);
            call = call.extended_by_progress(Extension { by, cap: AT_MOST });
        }
        if method == "tools/call" && self.is_repeatable(params) {
            call = call.idempotent();
        }
        call
    }

    fn is_repeatable(&self, params: Option<&Json>) -> bool {
        // Most bridges name none, and most params are large.
        !self.repeatable.is_empty()
            && params
                .and_then(|params| params.member("name")?.read::<String>())
                .is_some_and(|tool| self.repeatable.contains(&tool))
    }
}

fn asks_for_progress(params: &Json) -> bool {
    // Most calls do not, and need not be read for it.
    memchr::memmem::find(params.as_bytes(), b"progressToken").is_some()
        && params.member("_meta").is_some_and(|meta| meta.member("progressToken").is_some())
}

/// A host that asks for progress watches; it takes a call back when it has seen enough.
const WHILE_IT_MOVES: Duration = Duration::from_secs(600);
const AT_MOST: Duration = Duration::from_secs(24 * 3600);
