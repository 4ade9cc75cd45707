//! How calls are made: how long one may take, and which may be sent twice.

use std::time::Duration;

use ridethrough::Call;
use ridethrough_core::hints::OperatorHints;
use ridethrough_core::{DoubtForm, DoubtRepeat, Extension, ReplayRule};
use ridethrough_wire::message::Json;

/// The settings for all calls.
#[derive(Clone, Debug, Default)]
pub struct Manner {
    /// The time for one call; if absent, that of the client's policy.
    pub limit: Option<Duration>,
    /// Which tools can run twice, as the operator says.
    pub hints: OperatorHints,
    /// How the caller is told that a call of a tool may have run.
    pub doubt: DoubtForm,
    /// What becomes of a call that repeats one that may have run.
    pub repeat: DoubtRepeat,
}

impl Manner {
    /// Returns the call with these settings.
    pub(crate) fn apply(&self, call: Call, method: &str, params: Option<&Json>) -> Call {
        let mut call = call;
        if let Some(limit) = self.limit {
            call = call.timeout(limit);
        }
        if params.is_some_and(asks_for_progress) {
            let by = self.limit.unwrap_or(WHILE_IT_MOVES);
            call = call.extended_by_progress(Extension { by, cap: AT_MOST });
        }
        match self.rule(method, params) {
            ReplayRule::ByNature => call,
            ReplayRule::Once => call.once(),
            ReplayRule::Repeatable => call.idempotent(),
        }
    }

    /// Returns the form of a doubt about a request of which no more is known than what was asked.
    pub(crate) fn doubt_about(&self, method: &str, params: Option<&Json>) -> DoubtForm {
        if self.rule(method, params) == ReplayRule::Repeatable {
            return DoubtForm::Error;
        }
        self.doubt.of_request(method, params)
    }

    fn rule(&self, method: &str, params: Option<&Json>) -> ReplayRule {
        // Checked first: most bridges name no such tool, and params may be large.
        if self.hints.is_empty() || method != "tools/call" {
            return ReplayRule::ByNature;
        }
        let tool = params.and_then(|params| params.member("name")?.read::<String>());
        tool.map_or(ReplayRule::ByNature, |tool| self.hints.rule(&tool))
    }
}

fn asks_for_progress(params: &Json) -> bool {
    // A search in the bytes is enough for most calls, which ask for no progress.
    memchr::memmem::find(params.as_bytes(), b"progressToken").is_some()
        && params.member("_meta").is_some_and(|meta| meta.member("progressToken").is_some())
}

/// By how much progress extends a call without a limit: a caller that asks for progress watches the call, and
/// cancels it when it has seen enough.
const WHILE_IT_MOVES: Duration = Duration::from_secs(600);
const AT_MOST: Duration = Duration::from_secs(24 * 3600);
