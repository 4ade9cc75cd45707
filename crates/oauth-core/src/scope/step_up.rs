//! More scope after `insufficient_scope`, and when to stop asking for it.

use std::collections::BTreeMap;

use super::ScopeSet;

/// Counts the authorizations that an operation has cost.
#[derive(Clone, Debug, Default)]
pub struct StepUps {
    /// The counts by resource and operation.
    asked: BTreeMap<(String, String), u32>,
}

/// What to do about a demand for more scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StepUp {
    /// Authorize again, with all of these.
    Authorize(ScopeSet),
    /// The person has been asked often enough: report the refusal.
    GiveUp,
}

impl StepUps {
    /// Decides about a demand for `demanded` by an operation, such as `tools/call add`, of a resource.
    ///
    /// The scopes that were requested before stay in the request: a new authorization replaces the old one. A
    /// demand for nothing new is met once, because the person may have consented to less than was requested.
    pub fn demand(
        &mut self,
        place: (&str, &str),
        requested: &ScopeSet,
        demanded: &ScopeSet,
    ) -> StepUp {
        let (resource, operation) = place;
        let asked = self.asked.entry((resource.to_owned(), operation.to_owned())).or_default();
        let is_nothing_new = requested.contains_all(demanded);
        if *asked >= MOST_STEP_UPS || (is_nothing_new && *asked > 0) {
            return StepUp::GiveUp;
        }
        *asked += 1;
        StepUp::Authorize(requested.union(demanded))
    }
}

/// The most step-ups of one operation: with the login that makes three authorizations.
const MOST_STEP_UPS: u32 = 2;
