//! One call of a world: made, awaited, perhaps cancelled, and reported to the oracle.

use std::time::Duration;

use ridethrough::Era;
use tokio::time::timeout;

use super::plan::{GatewayCall, Peace};
use super::record::Meant;
use super::rounds::go_through;
use super::shape::Manner;
use super::site::ASKING_TOOL;
use crate::world::host::lock;
use crate::world::told::Told;

impl GatewayCall {
    pub(super) async fn play(self) -> Told {
        if self.learns {
            self.caller.learn().await;
        }
        let (call, number) = (self.order.call, self.caller.number);
        let meant = Meant {
            caller: number,
            target: self.tool.target.clone(),
            person: self.person,
            learnt: self.learnt,
            cancelled: None,
            inquiries: 0,
            questions: 0,
        };
        self.record.begun(call, meant);
        let goes_through_rounds =
            self.caller.shape.manner == Manner::Rounds && self.tool.target.tool == ASKING_TOOL;
        // Each request of such a caller has the deadline; the time of its person is its own.
        let of_person = self.person.takes.unwrap_or_default();
        let most = if goes_through_rounds { self.deadline * 5 + of_person } else { self.deadline };
        lock(&self.record.oracle).begun(call, number, self.order.is_safe, most);
        self.record
            .note(|| format!("call {call} is of {:?} as {}", self.tool.target, self.tool.name));
        let calling = async {
            if goes_through_rounds {
                go_through(&self).await
            } else {
                self.caller
                    .call(self.order, &self.tool.name, self.deadline, self.wants_progress)
                    .await
            }
        };
        let patience = self.gives_up.unwrap_or(most + Duration::from_secs(5));
        let told = timeout(patience, calling).await.unwrap_or(Told::TakenBack);
        let told = told_of_all(told, self.order.is_safe);
        if matches!(self.caller.shape.manner, Manner::Client(Era::Legacy)) {
            self.record.cancelled(call);
        }
        lock(&self.record.oracle).ended(call, &told, &self.order.result());
        self.judge(&told);
        *lock(&self.endings).entry(told.name()).or_default() += 1;
        told
    }

    /// Checks that neither a reload costs a call, nor a question that is answered in time, where nothing else
    /// goes wrong.
    fn judge(&self, told: &Told) {
        let is_unknown = matches!(told, Told::Failed { kind, .. } if UNKNOWN.contains(&&**kind));
        // A name is the server's until the config is read again, which may give it another.
        let is_gone = is_unknown && self.learnt < self.record.reloads();
        let is_lost = matches!(told, Told::Failed { .. } | Told::ServerError(_)) && !is_gone;
        let asks = self.tool.target.tool == ASKING_TOOL;
        if self.peace >= Peace::Reloads && !asks && is_lost {
            let what = format!("call {} ended: {told:?}", self.order.call);
            self.record.broken("a reload costs no call", what);
        }
        let is_attended = !matches!(self.caller.shape.manner, Manner::Unattended(_));
        let in_time = self.person.takes.is_some_and(|takes| takes < IN_TIME);
        let is_answered = matches!(told, Told::Answered(_));
        if self.peace == Peace::Questions
            && asks
            && is_attended
            && in_time
            && !self.person.declines
            && !is_answered
        {
            let what = format!("call {} ended: {told} {told:?}", self.order.call);
            self.record.broken("a question that is answered in time costs no call", what);
        }
    }
}

/// Returns the outcome as far as it is about all requests of a call. A gateway speaks of one of them, and a call
/// that may run twice is sent again.
fn told_of_all(told: Told, is_safe: bool) -> Told {
    match told {
        Told::Failed { kind, .. } if is_safe && kind.starts_with("gateway:") => {
            Told::Failed { kind, may_have_run: true }
        }
        told => told,
    }
}

/// The errors for a name that leads to no server: all were asked, or some could not be.
const UNKNOWN: [&str; 2] = ["gateway: unknown", "gateway: notListed"];
/// How soon an answer is in time: calls and holds last for 10 minutes.
const IN_TIME: Duration = Duration::from_secs(480);
