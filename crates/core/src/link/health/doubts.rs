//! Answers that speak of a lost session: checked by a question before the link believes them.
//!
//! ```text
//!   suspect ──a harmless question, for all suspects──▶ a result: the answer stands
//!                                                  ├──▶ refused likewise ──▶ asked where the session was made
//!                                                  │        ├──▶ a result: sent once more, there
//!                                                  │        └──▶ anything else: renewed, and sent once more
//!                                                  └──▶ anything else: the answer stands, in doubt
//! ```
//! Renewing a session and repeating a call are two decisions: a call is repeated only if the server refuses a
//! harmless request as it refused the call. The question goes out on the connection that carried the refusal,
//! because replicas behind one address need not know each other's sessions.

use std::collections::BTreeMap;
use std::time::Duration;

use super::Health;
use crate::answer::{PostReading, Suspicion};
use crate::exchange::{Doubt, Exchange, Purpose, Rules, Sent, State, Step, Then, Waiting};
use crate::failure::Delivery;
use crate::ids::{ConnectionId, ExchangeId, Generation};
use crate::link::Link;
use crate::link::calls::{OwnOutcome, OwnReply, OwnRequest};
use crate::link::session::Ready;
use crate::message::Answer;
use crate::moment::Moment;
use crate::output::Route;

/// What is known about sessions that answers called lost.
#[derive(Debug, Default)]
pub(crate) struct Doubts {
    /// The refusals that wait for the reply of the connection that made the session. There may be several,
    /// because a session may be left while its question is out and the next one be questioned, too.
    refusals: BTreeMap<Generation, Suspicion>,
    /// The newest session in which the server refused a harmless request.
    refused: Option<Generation>,
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

/// What was found out about a session in question.
enum SessionVerdict<'a> {
    Lives,
    Refused(&'a Suspicion),
    Unknown,
}

impl Health {
    /// Notes an answered call: its session is alive, and its method may be harmless to ask with.
    pub(crate) fn note_success(&mut self, exchange: &Exchange) {
        self.doubts.false_alarms = 0;
        self.doubts.answers.learn(&exchange.call.method);
    }
}

impl Link {
    /// Holds back an answer that speaks of a lost session until the server was asked.
    pub(crate) fn suspect(&mut self, now: Moment, id: ExchangeId, suspicion: Suspicion) {
        let Some(exchange) = self.calls.get(id) else { return };
        let Some(generation) = exchange.sent.as_ref().map(Sent::generation) else { return };
        let connection = exchange.live().and_then(|live| live.connection);
        let wants_handshake = suspicion.wants_handshake;
        self.enter(now, id, State::Doubted(Box::new(Doubt::Session(suspicion.clone()))));
        if self.health.doubts.refused >= Some(generation) {
            // The server has already refused a harmless request in this session.
            return self.resolve(now, id, &SessionVerdict::Refused(&suspicion));
        }
        if self.current_generation() == Some(generation) {
            self.ask_about_session(now, connection, wants_handshake);
        } else {
            // The link cannot ask about a session that it has left.
            self.resolve(now, id, &SessionVerdict::Unknown);
        }
    }

    /// Asks whether the session in force is alive, unless the era has no sessions.
    pub(crate) fn check_session(&mut self, now: Moment) {
        if self.session.era().has_sessions() {
            self.ask_about_session(now, None, false);
        }
    }

    /// Asks about a session, unless another one has taken its place.
    pub(crate) fn check_generation(&mut self, now: Moment, generation: Generation) {
        if self.current_generation() == Some(generation) {
            self.check_session(now);
        }
    }

    /// Row 9: asks about the session of a call whose stream is gone. The call goes out again once the reply
    /// is there, or at once if its session was left.
    pub(crate) fn check_session_of(&mut self, now: Moment, id: ExchangeId) {
        let sent = self.calls.get(id).and_then(|exchange| exchange.sent.as_ref());
        if sent.map(Sent::generation) == self.current_generation() {
            self.check_session(now)
        } else {
            self.let_out(now, id, Then::Send)
        }
    }

    fn ask_about_session(
        &mut self,
        now: Moment,
        connection: Option<ConnectionId>,
        wants_handshake: bool,
    ) {
        let Some(ready) = self.session.ready() else { return };
        if self.is_asked_about(ready.generation()) {
            return;
        }
        let to = ready.address.clone();
        let method = self.health.doubts.answers.question(wants_handshake);
        let request = OwnRequest::new(Purpose::Session, method, LIMIT);
        let route = connection.map_or(Route::Any, Route::Prefer);
        self.ask(now, OwnRequest { to: Some(to), route, ..request });
    }

    /// Whether a question about this session is out.
    fn is_asked_about(&self, generation: Generation) -> bool {
        let mut questions = self.calls.iter().filter(|exchange| {
            let question = exchange.origin.question();
            matches!(question, Some(Purpose::Home | Purpose::Session))
        });
        questions.any(|question| question.sent.as_ref().map(Sent::generation) == Some(generation))
    }

    /// Handles the reply to a harmless request in the session.
    pub(crate) fn session_told(&mut self, now: Moment, generation: Generation, word: OwnOutcome) {
        let reply = match word {
            OwnOutcome::Answered(reply) => *reply,
            OwnOutcome::Nothing(_) => {
                return self.session_settled(now, generation, &SessionVerdict::Unknown);
            }
        };
        let connection = reply.connection();
        match reply.reading {
            PostReading::Answer(Answer::Result(_)) => {
                self.session_settled(now, generation, &SessionVerdict::Lives);
            }
            PostReading::Suspected(refusal) => {
                self.ask_at_home(now, generation, *refusal, connection);
            }
            _ => self.session_settled(now, generation, &SessionVerdict::Unknown),
        }
    }

    /// Asks again on the connection that made the session, after a refusal on another: replicas behind one
    /// address need not know each other's sessions.
    fn ask_at_home(
        &mut self,
        now: Moment,
        generation: Generation,
        refusal: Suspicion,
        by: Option<ConnectionId>,
    ) {
        let ready = self.session.ready().filter(|ready| ready.generation() == generation);
        let home = ready.and_then(|ready| ready.home.map(|home| (home, ready.address.clone())));
        match home {
            Some((home, to)) if by.is_some_and(|by| by != home) && !self.listening.holds(home) => {
                let method = self.health.doubts.answers.question(refusal.wants_handshake);
                self.health.doubts.refusals.insert(generation, refusal);
                let request = OwnRequest::new(Purpose::Home, method, HOME_LIMIT);
                self.ask(now, OwnRequest { to: Some(to), route: Route::Only(home), ..request });
            }
            _ => self.session_settled(now, generation, &SessionVerdict::Refused(&refusal)),
        }
    }

    /// Handles the reply of the connection that made the session.
    pub(crate) fn home_told(&mut self, now: Moment, generation: Generation, word: OwnOutcome) {
        let Some(refusal) = self.health.doubts.refusals.remove(&generation) else { return };
        let lives_there = matches!(&word, OwnOutcome::Answered(reply) if is_result(reply));
        let home = self.session.ready().and_then(|ready| ready.home);
        match home.filter(|_| lives_there && self.current_generation() == Some(generation)) {
            Some(home) => self.send_home(now, generation, &refusal, home),
            None => self.session_settled(now, generation, &SessionVerdict::Refused(&refusal)),
        }
    }

    /// Sends refused calls once more on the connection that made the session, where the session is alive.
    fn send_home(
        &mut self,
        now: Moment,
        generation: Generation,
        refusal: &Suspicion,
        home: ConnectionId,
    ) {
        for id in self.suspects(generation) {
            let Some(exchange) = self.calls.get_mut(id) else { continue };
            let State::Doubted(doubt) = &exchange.state else { continue };
            let Doubt::Session(suspicion) = &**doubt else { continue };
            if exchange.counters.session_renewed || !suspicion.is_confirmed_by(refusal) {
                self.resolve(now, id, &SessionVerdict::Unknown);
                continue;
            }
            exchange.counters.session_renewed = true;
            exchange.counters.note(Delivery::Refused);
            exchange.route = Route::Prefer(home);
            self.let_out(now, id, Then::Send);
        }
        self.release_session_checks(now);
        self.listening.listener_session_checked(&mut self.cx, now);
    }

    fn session_settled(
        &mut self,
        now: Moment,
        generation: Generation,
        verdict: &SessionVerdict<'_>,
    ) {
        let suspects = self.suspects(generation);
        let listener_asked = self.listening.is_checking();
        match verdict {
            // Calls that have lost two sessions renew nothing: the next call tries this session first.
            SessionVerdict::Refused(_) if self.have_all_renewed(&suspects) => {}
            SessionVerdict::Refused(_) => self.session_refused(now, generation),
            SessionVerdict::Lives if !suspects.is_empty() => self.false_alarm(now, generation),
            SessionVerdict::Lives | SessionVerdict::Unknown => {}
        }
        for id in suspects {
            self.resolve(now, id, verdict);
        }
        self.release_session_checks(now);
        self.listening.listener_session_checked(&mut self.cx, now);
        if listener_asked && matches!(verdict, SessionVerdict::Refused(_)) {
            // The standing stream wants its session back without waiting for a call.
            self.ensure_session(now);
        }
    }

    /// Gives up a session in which the server refused a harmless request.
    pub(crate) fn session_refused(&mut self, now: Moment, generation: Generation) {
        self.health.doubts.refused = self.health.doubts.refused.max(Some(generation));
        self.lose_session(now, generation);
    }

    /// Counts a refusal in a session that seems alive. Some servers answer a ping in any session: after the
    /// third such refusal in a row, later calls get a new session. No call is repeated for that.
    fn false_alarm(&mut self, now: Moment, generation: Generation) {
        self.health.doubts.false_alarms += 1;
        if self.health.doubts.false_alarms >= MOST_FALSE_ALARMS {
            self.health.doubts.false_alarms = 0;
            self.lose_session(now, generation);
        }
    }

    /// Tells one call what was found out about its session.
    fn resolve(&mut self, now: Moment, id: ExchangeId, verdict: &SessionVerdict<'_>) {
        let Some(exchange) = self.calls.get_mut(id) else { return };
        let placeholder = State::Waiting(Waiting::SessionCheck);
        let state = std::mem::replace(&mut exchange.state, placeholder);
        let State::Doubted(doubt) = state else {
            exchange.state = state;
            return;
        };
        let Doubt::Session(suspicion) = *doubt else { return };
        let is_confirmed =
            matches!(verdict, SessionVerdict::Refused(by) if suspicion.is_confirmed_by(by));
        let lives = matches!(verdict, SessionVerdict::Lives);
        self.decide(now, id, |exchange: &mut Exchange, rules: &mut Rules<'_>| -> Step {
            match suspicion.otherwise {
                _ if is_confirmed => exchange.session_lost(),
                otherwise if lives => exchange.post_answered(rules, otherwise),
                otherwise => exchange.session_unknown(rules, otherwise),
            }
        });
    }

    /// Row 9: sends the calls that waited for the check again, in whichever session is good.
    fn release_session_checks(&mut self, now: Moment) {
        let is_meant = |waiting: &Waiting| matches!(waiting, Waiting::SessionCheck);
        let waits = |state: &State| matches!(state, State::Waiting(waiting) if is_meant(waiting));
        for id in self.calls.ids_where(|exchange| waits(&exchange.state)) {
            self.let_out_if(now, id, Then::Send, is_meant);
        }
    }

    fn suspects(&self, generation: Generation) -> Vec<ExchangeId> {
        self.calls.ids_where(|exchange| {
            let is_of_it = exchange.sent.as_ref().map(Sent::generation) == Some(generation);
            is_of_it
                && matches!(&exchange.state, State::Doubted(doubt)
                    if matches!(**doubt, Doubt::Session(_)))
        })
    }

    fn have_all_renewed(&self, suspects: &[ExchangeId]) -> bool {
        let has_renewed =
            |id: &ExchangeId| self.calls.get(*id).is_some_and(|it| it.counters.session_renewed);
        !suspects.is_empty() && suspects.iter().all(has_renewed)
    }

    /// Returns the connection that the standing stream must leave to calls. Where a session was lost before,
    /// replicas may not share sessions, and calls need the connection that made theirs.
    pub(crate) fn kept_free(&self) -> Option<ConnectionId> {
        let ready = self.session.ready().filter(|_| self.health.doubts.refused.is_some());
        ready.and_then(|ready| ready.home)
    }

    pub(crate) fn current_generation(&self) -> Option<Generation> {
        self.session.ready().map(Ready::generation)
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

fn is_result(reply: &OwnReply) -> bool {
    matches!(reply.reading, PostReading::Answer(Answer::Result(_)))
}

const PING: &str = "ping";
const LISTS: [&str; 4] =
    ["tools/list", "prompts/list", "resources/list", "resources/templates/list"];
/// How long a question about a session may take.
const LIMIT: Duration = Duration::from_secs(10);
/// How long a question may take on the connection that made the session, which may be busy with a call.
const HOME_LIMIT: Duration = Duration::from_secs(2);
const MOST_FALSE_ALARMS: u32 = 3;
