//! The logins that a caller is being asked for, so that its calls lead to one page for each server.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::{FutureExt, Shared, WeakShared};
use ridethrough_server::BoxFuture;

/// How a login ended that the caller was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LoginEnd {
    /// The caller cannot show pages after all.
    CannotShow,
    Declined,
    Done,
    Failed(String),
}

/// A login that calls of one session wait for together.
pub(crate) type AskedLogin = Shared<BoxFuture<'static, LoginEnd>>;

/// The logins that a caller is being asked for, by server.
#[derive(Default)]
pub(crate) struct AskedLogins(Mutex<WeakLogins>);

type WeakLogins = BTreeMap<Arc<str>, WeakShared<BoxFuture<'static, LoginEnd>>>;

impl AskedLogins {
    /// Whether the caller is being asked for a login at this server.
    pub(crate) fn has(&self, server: &str) -> bool {
        self.lock().get(server).and_then(WeakShared::upgrade).is_some_and(|it| it.peek().is_none())
    }

    /// Returns the login at this server that the caller is being asked for, or begins one. It ends when nobody
    /// waits for it any more.
    pub(crate) fn join(
        &self,
        server: &Arc<str>,
        begin: impl FnOnce() -> BoxFuture<'static, LoginEnd>,
    ) -> AskedLogin {
        let mut asked = self.lock();
        let running = asked.get(server).and_then(WeakShared::upgrade);
        if let Some(running) = running.filter(|it| it.peek().is_none()) {
            return running;
        }
        let begun = begin().shared();
        asked.extend(begun.downgrade().map(|it| (server.clone(), it)));
        begun
    }

    fn lock(&self) -> MutexGuard<'_, WeakLogins> {
        // No code panics in the middle of a change, so a poisoned lock is still valid.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
