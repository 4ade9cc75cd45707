//! Which lists the caller has seen, and when they are fetched again to be compared.
//!
//! ```text
//!   resting ──a new session, a gap──▶ fetching ──compared──▶ resting
//!                                      │   └──something happened meanwhile──▶ fetching
//!                                      └──failed──▶ pausing ──▶ fetching
//! ```

use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::future::{BoxFuture, join_all};
use ridethrough::Client;
use ridethrough::server::Server;
use ridethrough_wire::message::{Json, ListKind as Kind};
use tokio::time::{Instant, sleep_until};

use crate::hidden::Hidden;
use crate::lists::{self, Fetched, Lists, Page};

/// The lists of one caller.
#[derive(Default)]
pub(crate) struct ListChecks {
    seen: Lists,
    /// The lists that the caller has asked for, answered or not.
    asked: BTreeSet<Kind>,
    /// Lists that were refused to the caller because a login was needed.
    refused: BTreeSet<Kind>,
    checking: Option<BoxFuture<'static, Checked>>,
    /// Whether the lists must be checked again, because something happened during a check.
    is_due: bool,
    /// When to check again after a failed check; `failed` counts them.
    again: Option<Instant>,
    failed: u32,
}

/// The lists that were fetched.
pub(crate) type Checked = Vec<(Kind, Fetched)>;

impl ListChecks {
    /// The caller asks for a list.
    pub(crate) fn ask(&mut self, kind: Kind) {
        self.asked.insert(kind);
    }

    /// The caller got no list, and is told when there is one.
    pub(crate) fn miss(&mut self, kind: Kind) {
        self.asked.remove(&kind);
    }

    /// The caller got no list for want of a login.
    pub(crate) fn refuse(&mut self, kind: Kind) {
        self.refused.insert(kind);
    }

    /// Records a page that the caller gets. Returns the whole list if the caller now has all of it.
    pub(crate) fn saw(&mut self, page: Page, result: &Json) -> Option<Json> {
        self.seen.saw(page, result)
    }

    /// Returns the lists that were refused, to be told of; once.
    pub(crate) fn take_refused(&mut self) -> BTreeSet<Kind> {
        std::mem::take(&mut self.refused)
    }

    /// Returns the lists of this server that the caller has not asked for.
    pub(crate) fn unasked(&self, server: &Server) -> impl Iterator<Item = Kind> {
        let is_news = |kind: &Kind| !self.asked.contains(kind) && server.can(kind.capability());
        Kind::ALL.into_iter().filter(is_news)
    }

    /// Fetches the lists that the caller has seen, to compare them; without a client, which may not be used while
    /// a login is needed, they are left as they are.
    pub(crate) fn check(&mut self, client: Option<&Client>) {
        if self.checking.is_some() {
            self.is_due = true;
            return;
        }
        let Some(client) = client else { return };
        self.again = None;
        let kinds = self.seen.kinds();
        if kinds.is_empty() {
            return;
        }
        let client = client.clone();
        let looking = join_all(kinds.into_iter().map(move |kind| {
            let client = client.clone();
            async move { (kind, lists::fetch(client, kind).await) }
        }));
        self.checking = Some(Box::pin(looking));
    }

    /// Waits for lists that were fetched; `None` if it is time to check them. Nothing is lost if the future is
    /// dropped.
    pub(crate) async fn next(&mut self) -> Option<Checked> {
        match &mut self.checking {
            Some(checking) => {
                let checked = checking.await;
                self.checking = None;
                Some(checked)
            }
            None => {
                let Some(again) = self.again else { return std::future::pending().await };
                sleep_until(again).await;
                // A check that must wait for a login is not due over and over.
                self.again = None;
                None
            }
        }
    }

    /// Compares the lists that were fetched with those that the caller has seen. Returns those to be told of, by
    /// notification, and whether to check again at once.
    pub(crate) fn compare(
        &mut self,
        checked: Checked,
        hidden: &Hidden,
    ) -> (BTreeSet<&'static str>, bool) {
        let has_failed = checked.iter().any(|(_, it)| matches!(it, Fetched::Failed));
        let mut changed = BTreeSet::new();
        for (kind, fetched) in checked {
            let is_shown = |element: &Json| kind != Kind::Tools || hidden.shows(element);
            if self.seen.renew(kind, fetched, is_shown) {
                changed.insert(kind.changed());
            }
        }
        self.plan(has_failed);
        (changed, std::mem::take(&mut self.is_due))
    }

    /// Plans another check after a failed one: no other event may come that would cause it.
    fn plan(&mut self, has_failed: bool) {
        if !has_failed {
            self.failed = 0;
            return;
        }
        let pause = FIRST_PAUSE * 2_u32.pow(self.failed.min(MOST_DOUBLINGS));
        self.failed += 1;
        self.again = Some(Instant::now() + pause);
    }
}

/// The first pause after a failed check. The client has been patient for its own time before this.
const FIRST_PAUSE: Duration = Duration::from_secs(60);
/// How often the pause doubles: to half an hour at most, because a caller that needs a list asks for it.
const MOST_DOUBLINGS: u32 = 5;

#[cfg(test)]
mod tests {
    use tokio::time::timeout;

    use super::*;

    /// Before this was fixed, a check that was due while a login was needed woke the loop without end.
    #[tokio::test(start_paused = true)]
    async fn a_check_that_must_wait_for_a_login_is_due_once() {
        let mut lists = ListChecks::default();
        lists.plan(true);

        let first = timeout(Duration::from_secs(3600), lists.next()).await;
        lists.check(None);
        let second = timeout(Duration::from_secs(3600), lists.next()).await;

        assert!(matches!(first, Ok(None)));
        assert!(second.is_err());
    }
}
