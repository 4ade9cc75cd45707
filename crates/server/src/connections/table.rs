//! The table of open connections: which of them count, and which of those was silent for longest.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::time::Instant;

use super::{Connection, Standing};
use crate::by_last_use::ByLastUse;

#[derive(Debug, Default)]
pub(super) struct Table {
    next: u64,
    open: BTreeMap<u64, Arc<Connection>>,
    /// Those among them that were not told to close.
    unauthenticated: ByLastUse<Arc<Connection>>,
    authenticated: ByLastUse<Arc<Connection>>,
}

impl Table {
    /// Adds a new connection, which has not shown the token.
    pub(super) fn add(&mut self) -> Arc<Connection> {
        self.next += 1;
        let connection = Arc::new(Connection::new(self.next));
        self.open.insert(self.next, connection.clone());
        self.unauthenticated.insert(self.next, connection.clone());
        connection
    }

    /// Counts a connection among those that have shown the token.
    pub(super) fn authenticate(&mut self, connection: &Connection) {
        if let Some(moved) = self.unauthenticated.remove(connection.number) {
            self.authenticated.insert(connection.number, moved);
        }
    }

    pub(super) fn remove(&mut self, connection: &Connection) {
        self.open.remove(&connection.number);
        self.forget(connection);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Returns how many connections there are that have not been told to close.
    pub(super) fn count(&self, standing: Standing) -> usize {
        match standing {
            Standing::Authenticated => self.authenticated.len(),
            Standing::Unauthenticated => self.unauthenticated.len(),
        }
    }

    /// Returns the connections that are used for a session, or all.
    pub(super) fn of(&self, session: Option<u64>) -> impl Iterator<Item = &Arc<Connection>> {
        let is_of = move |it: &&Arc<Connection>| {
            session.is_none_or(|session| it.state().sessions.contains(&session))
        };
        self.open.values().filter(is_of)
    }

    /// Closes the connection that was silent for longest among those. Returns whether there was one.
    pub(super) fn close_longest_silent(&mut self, standing: Standing) -> bool {
        let those = match standing {
            Standing::Authenticated => &mut self.authenticated,
            Standing::Unauthenticated => &mut self.unauthenticated,
        };
        let longest = those.longest_unused(Instant::now(), |it| it.state().silent_since()).cloned();
        longest.inspect(|connection| self.close(connection)).is_some()
    }

    pub(super) fn close(&mut self, connection: &Connection) {
        self.forget(connection);
        connection.close();
    }

    /// Leaves a connection out that does not count any more.
    fn forget(&mut self, connection: &Connection) {
        self.unauthenticated.remove(connection.number);
        self.authenticated.remove(connection.number);
    }
}
