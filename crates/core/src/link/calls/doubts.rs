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

use std::sync::Arc;
use std::time::Duration;

use ridethrough_wire::message::Answer;

use super::Calls;
use crate::answer::{PostReading, Suspicion};
use crate::exchange::{
    Awaited, Exchange, HeldBack, Purpose, Rules, Sent, State, Step, Then, Waiting,
};
use crate::failure::Delivery;
use crate::ids::{ConnectionId, ExchangeId, Generation};
use crate::link::effects::{
    CallEffect, ListeningEffect, SessionEffect, SessionVerdict, StandingStream,
};
use crate::link::own_request::{OwnOutcome, OwnRequest};
use crate::output::Route;

impl Calls {
    /// Holds back an answer that speaks of a lost session until the server was asked.
    pub(crate) fn suspect(&mut self, id: ExchangeId, suspicion: Suspicion) {
        let Some(exchange) = self.all.get(id) else { return };
        let Some(generation) = exchange.sent.as_ref().map(Sent::generation) else { return };
        let connection = exchange.live().and_then(|live| live.connection);
        let wants_handshake = suspicion.wants_handshake;
        self.enter(id, State::Doubted(Box::new(HeldBack::Session(suspicion.clone()))));
        if self.base.health.has_refused(generation) {
            // The server has already refused a harmless request in this session.
            let verdict = SessionVerdict::Refused(suspicion.into());
            return self.resolve_session(id, &verdict);
        }
        if self.base.session.current_generation() == Some(generation) {
            self.ask_about_session(connection, wants_handshake);
        } else {
            // The link cannot ask about a session that it has left.
            self.resolve_session(id, &SessionVerdict::Unknown);
        }
    }

    /// Asks whether the session in force is alive, unless the era has no sessions.
    pub(crate) fn check_session(&mut self) {
        if self.base.session.era().has_sessions() {
            self.ask_about_session(None, false);
        }
    }

    /// Asks about a session, unless another one has taken its place.
    pub(crate) fn check_generation(&mut self, generation: Generation) {
        if self.base.session.current_generation() == Some(generation) {
            self.check_session();
        }
    }

    /// Row 9: asks about the session of a call whose stream is gone. The call goes out again once the reply
    /// is there, or at once if its session was left.
    pub(crate) fn check_session_of(&mut self, id: ExchangeId) {
        let sent = self.all.get(id).and_then(|exchange| exchange.sent.as_ref());
        if sent.map(Sent::generation) == self.base.session.current_generation() {
            self.check_session()
        } else {
            self.let_out(id, Then::Send)
        }
    }

    fn ask_about_session(&mut self, connection: Option<ConnectionId>, wants_handshake: bool) {
        let Some(ready) = self.base.session.ready() else { return };
        if self.is_asked_about(ready.generation()) {
            return;
        }
        let to = ready.address.clone();
        let method = self.base.health.question(wants_handshake);
        let request = OwnRequest::new(Purpose::Session, method, LIMIT);
        let route = connection.map_or(Route::Any, Route::Prefer);
        self.ask(OwnRequest { to: Some(to), route, ..request });
    }

    /// Whether a question about this session is out.
    fn is_asked_about(&self, generation: Generation) -> bool {
        let mut questions = self.all.iter().filter(|exchange| {
            let question = exchange.origin.question();
            matches!(question, Some(Purpose::Home | Purpose::Session))
        });
        questions.any(|question| question.sent.as_ref().map(Sent::generation) == Some(generation))
    }

    /// Handles the reply to a harmless request in the session.
    pub(super) fn session_told(
        &mut self,
        generation: Generation,
        word: OwnOutcome,
        stream: StandingStream,
    ) {
        let reply = match word {
            OwnOutcome::Answered(reply) => *reply,
            OwnOutcome::Nothing(_) => {
                return self.settle_session(generation, &SessionVerdict::Unknown, stream);
            }
        };
        let connection = reply.connection();
        match reply.reading {
            PostReading::Answer(Answer::Result(_)) => {
                self.settle_session(generation, &SessionVerdict::Lives, stream);
            }
            PostReading::Suspected(refusal) => {
                self.ask_at_home(generation, (*refusal, connection), stream);
            }
            _ => self.settle_session(generation, &SessionVerdict::Unknown, stream),
        }
    }

    /// Asks again on the connection that made the session, after a refusal on another: replicas behind one
    /// address need not know each other's sessions.
    fn ask_at_home(
        &mut self,
        generation: Generation,
        (refusal, by): (Suspicion, Option<ConnectionId>),
        stream: StandingStream,
    ) {
        let ready = self.base.session.ready().filter(|ready| ready.generation() == generation);
        let home = ready.and_then(|ready| ready.home.map(|home| (home, ready.address.clone())));
        match home {
            Some((home, to))
                if by.is_some_and(|by| by != home) && stream.connection != Some(home) =>
            {
                let method = self.base.health.question(refusal.wants_handshake);
                self.base.health.keep_refusal(generation, refusal);
                let request = OwnRequest::new(Purpose::Home, method, HOME_LIMIT);
                let route = Route::Only(home);
                self.ask(OwnRequest { to: Some(to), route, ..request });
            }
            _ => {
                let verdict = SessionVerdict::Refused(refusal.into());
                self.settle_session(generation, &verdict, stream);
            }
        }
    }

    /// Handles the reply of the connection that made the session.
    pub(super) fn home_told(
        &mut self,
        generation: Generation,
        word: &OwnOutcome,
        stream: StandingStream,
    ) {
        let Some(refusal) = self.base.health.take_refusal(generation) else { return };
        let lives_there = matches!(word, OwnOutcome::Answered(reply) if reply.is_result());
        let ready = self.base.session.ready().filter(|ready| ready.generation() == generation);
        match ready.and_then(|ready| ready.home).filter(|_| lives_there) {
            Some(home) => self.send_all_home(generation, refusal, home),
            None => {
                let verdict = SessionVerdict::Refused(refusal.into());
                self.settle_session(generation, &verdict, stream);
            }
        }
    }

    fn send_all_home(&mut self, generation: Generation, refusal: Suspicion, home: ConnectionId) {
        let refusal = Arc::new(refusal);
        for id in self.suspects(generation) {
            self.base.cx.then(CallEffect::SendHome(id, home, Arc::clone(&refusal)));
        }
        self.base.cx.then(CallEffect::LetOutAll(Awaited::SessionCheck));
        self.base.cx.then(ListeningEffect::SessionChecked);
    }

    /// Sends a refused call once more on the connection that made the session, where the session is alive.
    pub(super) fn send_home(&mut self, id: ExchangeId, home: ConnectionId, refusal: &Suspicion) {
        let Some(exchange) = self.all.get_mut(id) else { return };
        let State::Doubted(doubt) = &exchange.state else { return };
        let HeldBack::Session(suspicion) = &**doubt else { return };
        if exchange.counters.session_renewed || !suspicion.is_confirmed_by(refusal) {
            return self.resolve_session(id, &SessionVerdict::Unknown);
        }
        exchange.counters.session_renewed = true;
        exchange.counters.note(Delivery::Refused);
        exchange.route = Route::Prefer(home);
        self.let_out(id, Then::Send);
    }

    /// Tells all calls that waited for it what was found out about their session. Row 9: those that only
    /// waited for the check are sent again, in whichever session is good.
    fn settle_session(
        &mut self,
        generation: Generation,
        verdict: &SessionVerdict,
        stream: StandingStream,
    ) {
        let suspects = self.suspects(generation);
        match verdict {
            // Calls that have lost two sessions renew nothing: the next call tries this session first.
            SessionVerdict::Refused(_) if self.have_all_renewed(&suspects) => {}
            SessionVerdict::Refused(_) => {
                self.base.health.session_refused(&mut self.base.cx, generation)
            }
            SessionVerdict::Lives if !suspects.is_empty() => {
                self.base.health.false_alarm(&mut self.base.cx, generation);
            }
            SessionVerdict::Lives | SessionVerdict::Unknown => {}
        }
        for id in suspects {
            self.base.cx.then(CallEffect::ResolveSession(id, verdict.clone()));
        }
        self.base.cx.then(CallEffect::LetOutAll(Awaited::SessionCheck));
        self.base.cx.then(ListeningEffect::SessionChecked);
        if stream.is_checking && matches!(verdict, SessionVerdict::Refused(_)) {
            // The standing stream wants its session back without waiting for a call.
            self.base.cx.then(SessionEffect::Ensure);
        }
    }

    /// Tells one call what was found out about its session.
    pub(super) fn resolve_session(&mut self, id: ExchangeId, verdict: &SessionVerdict) {
        let Some(exchange) = self.all.get_mut(id) else { return };
        let placeholder = State::Waiting(Waiting::SessionCheck);
        let state = std::mem::replace(&mut exchange.state, placeholder);
        let State::Doubted(doubt) = state else {
            exchange.state = state;
            return;
        };
        let HeldBack::Session(suspicion) = *doubt else { return };
        let is_confirmed =
            matches!(verdict, SessionVerdict::Refused(by) if suspicion.is_confirmed_by(by));
        let lives = matches!(verdict, SessionVerdict::Lives);
        self.decide(id, |exchange: &mut Exchange, rules: &mut Rules<'_>| -> Step {
            match suspicion.otherwise {
                _ if is_confirmed => exchange.session_lost(rules),
                otherwise if lives => exchange.post_answered(rules, otherwise),
                otherwise => exchange.session_unknown(rules, otherwise),
            }
        });
    }

    fn suspects(&self, generation: Generation) -> Vec<ExchangeId> {
        self.all.ids_where(|exchange| {
            let is_of_it = exchange.sent.as_ref().map(Sent::generation) == Some(generation);
            is_of_it
                && matches!(&exchange.state, State::Doubted(doubt)
                    if matches!(**doubt, HeldBack::Session(_)))
        })
    }

    fn have_all_renewed(&self, suspects: &[ExchangeId]) -> bool {
        let has_renewed =
            |id: &ExchangeId| self.all.get(*id).is_some_and(|it| it.counters.session_renewed);
        !suspects.is_empty() && suspects.iter().all(has_renewed)
    }
}

/// How long a question about a session may take.
const LIMIT: Duration = Duration::from_secs(10);
/// How long a question may take on the connection that made the session, which may be busy with a call.
const HOME_LIMIT: Duration = Duration::from_secs(2);
