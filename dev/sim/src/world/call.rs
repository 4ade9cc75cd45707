//! One call of a world: made, awaited, perhaps cancelled, and reported to the oracle.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::timeout;

use super::host::{Shared, lock};
use super::oracle::Oracle;
use super::order::Order;
use super::people::Caller;
use super::told::Told;

/// One call, as it will be made.
pub(super) struct CallPlan {
    pub(super) caller: Caller,
    pub(super) number: usize,
    pub(super) order: Order,
    pub(super) deadline: Duration,
    pub(super) gives_up: Option<Duration>,
    pub(super) wants_progress: bool,
    pub(super) is_bridged: bool,
    pub(super) oracle: Shared<Oracle>,
    pub(super) endings: Shared<BTreeMap<String, u64>>,
}

impl CallPlan {
    pub(super) async fn play(self) -> Told {
        let Self { caller, number, order, deadline, wants_progress, .. } = &self;
        // Progress that a host asked for extends its call.
        let most = if self.is_bridged && *wants_progress { *deadline * 4 } else { *deadline };
        lock(&self.oracle).begun(order.call, *number, order.is_safe, most);
        let calling = caller.call(*order, *deadline, *wants_progress);
        let patience = self.gives_up.unwrap_or(most + Duration::from_secs(5));
        let told = match timeout(patience, calling).await {
            Ok(told) => told,
            Err(_) => {
                caller.take_back(*order).await;
                Told::TakenBack
            }
        };
        lock(&self.oracle).ended(order.call, &told, &order.result());
        *lock(&self.endings).entry(told.name()).or_default() += 1;
        told
    }
}
