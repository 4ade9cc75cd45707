//! What is known about sessions that answers called lost, and which questions are harmless to ask.

use std::collections::BTreeMap;

use super::Health;
use crate::answer::Suspicion;
use crate::exchange::Exchange;
use crate::ids::{ConnectionId, CredentialsId, Generation};
use crate::link::context::Context;
use crate::link::effects::SessionEffect;
use crate::link::session::Sessions;

/// What is known about sessions that answers called lost.
#[derive(Debug, Default)]
pub(crate) struct Doubts {
    /// The refusals that wait for the reply of the connection that made the session. There may be several,
    /// because a session may be left while its question is out and the next one be questioned, too.
    refusals: BTreeMap<Generation, Suspicion>,
    /// The newest session in which the server refused a harmless request.
    refused: Option<Generation>,
    /// The newest credentials under which the server refused a harmless request.
    refused_credentials: Option<CredentialsId>,
    /// How many answers in a row called a session lost that was alive.
    false_alarms: u32,
    /// The harmless requests that the server has answered by a result.
    answers: Harmless,
}

/// The harmless requests that a server has answered by a result.
#[derive(Clone, Copy, Debug, Default)]
struct Harmless {
    ping: bool,
    list: Option<&'static str>,
}

impl Health {
    /// Notes an answered call: its session is alive, and its method may be harmless to ask with.
    pub(crate) fn note_success(&mut self, exchange: &Exchange) {
        self.doubts.false_alarms = 0;
        self.doubts.answers.learn(&exchange.call.method);
    }

    /// Returns the method of a harmless question about a session.
    pub(crate) fn question(&self, wants_handshake: bool) -> &'static str {
        self.doubts.answers.question(wants_handshake)
    }

    /// Whether the server has refused a harmless request in this session.
    pub(crate) fn has_refused(&self, generation: Generation) -> bool {
        self.doubts.refused >= Some(generation)
    }

    /// Notes that the server refused a harmless request under these credentials.
    pub(crate) fn credentials_refused(&mut self, credentials: CredentialsId) {
        self.doubts.refused_credentials = self.doubts.refused_credentials.max(Some(credentials));
    }

    /// Whether the server has refused a harmless request under these credentials.
    pub(crate) fn has_refused_credentials(&self, credentials: CredentialsId) -> bool {
        self.doubts.refused_credentials == Some(credentials)
    }

    /// Gives up a session in which the server refused a harmless request.
    pub(crate) fn session_refused(&mut self, cx: &mut Context, generation: Generation) {
        self.doubts.refused = self.doubts.refused.max(Some(generation));
        cx.then(SessionEffect::Lose(generation));
    }

    /// Counts a refusal in a session that seems alive. Some servers answer a ping in any session: after the
    /// third such refusal in a row, later calls get a new session. No call is repeated for that.
    pub(crate) fn false_alarm(&mut self, cx: &mut Context, generation: Generation) {
        self.doubts.false_alarms += 1;
        if self.doubts.false_alarms >= MOST_FALSE_ALARMS {
            self.doubts.false_alarms = 0;
            cx.then(SessionEffect::Lose(generation));
        }
    }

    /// Keeps a refusal until the connection that made the session has replied.
    pub(crate) fn keep_refusal(&mut self, generation: Generation, refusal: Suspicion) {
        self.doubts.refusals.insert(generation, refusal);
    }

    /// Takes the refusal that waited for the reply of the connection that made the session.
    pub(crate) fn take_refusal(&mut self, generation: Generation) -> Option<Suspicion> {
        self.doubts.refusals.remove(&generation)
    }

    /// Returns the connection that the standing stream must leave to calls. Where a session was lost before,
    /// replicas may not share sessions, and calls need the connection that made theirs.
    pub(crate) fn kept_free(&self, session: &Sessions) -> Option<ConnectionId> {
        let ready = session.ready().filter(|_| self.doubts.refused.is_some());
        ready.and_then(|ready| ready.home)
    }
}

impl Harmless {
    fn learn(&mut self, method: &str) {
        match LISTS.into_iter().find(|list| *list == method) {
            Some(list) => self.list = self.list.or(Some(list)),
            None => self.ping |= method == PING,
        }
    }

    /// Returns the method to ask with: one that the server has answered before, if there is one. A server may
    /// answer `ping` before the handshake, so a ping says nothing about a missing one.
    fn question(self, wants_handshake: bool) -> &'static str {
        match self.list {
            list if wants_handshake => list.unwrap_or(LISTS[0]),
            Some(list) if !self.ping => list,
            _ => PING,
        }
    }
}

const PING: &str = "ping";
const LISTS: [&str; 4] =
    ["tools/list", "prompts/list", "resources/list", "resources/templates/list"];
const MOST_FALSE_ALARMS: u32 = 3;
