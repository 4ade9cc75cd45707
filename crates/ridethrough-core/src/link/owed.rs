//! Messages we owe: answers to the server, cancellations, notifications of the application.
//!
//! None of them has an answer of its own, so each is bounded by what it belongs to: an answer by
//! the exchange or session that asked, a cancellation by 5 s, a notification by the patience that
//! runs from its wish. They bypass gates and the limit of calls in flight. Notifications take turns
//! (`owed/turns.rs`): there is no end to what an application may have to tell.

mod crowd;
mod turns;

pub(super) use turns::Turns;

use std::time::Duration;

use bytes::Bytes;

use super::Link;
use super::attempts::Owner;
use super::inbox::Question;
use super::timers::Timer;
use crate::answer::status;
use crate::event::Event;
use crate::exchange::{Ending, Sent};
use crate::failure::{Cause, Delivery, Failure};
use crate::head::AnswerHead;
use crate::headers::Headers;
use crate::ids::{AttemptId, CredentialsId, ExchangeId, Generation, NoticeId};
use crate::message::{Answer, Json, answer_body, notification_body};
use crate::moment::Moment;
use crate::outcome::{CallError, CallName, Kind, Reason};
use crate::output::{Address, Lane, Output, Verb};

/// A message on its way to the server.
#[derive(Debug)]
pub(super) struct Owed {
    due: Due,
    call: CallName,
    began: Moment,
    attempts: u32,
    resends: u32,
    delivery: Delivery,
    state: State,
}

/// What is owed, and to which session.
#[derive(Clone, Debug)]
enum Due {
    Answer {
        to: Address,
        exchange: Option<ExchangeId>,
        body: Bytes,
    },
    Cancelled {
        to: Address,
        body: Bytes,
    },
    /// To whichever session there is, in the form of its era.
    Notification {
        params: Option<Json>,
    },
}

#[derive(Clone, Copy, Debug)]
enum State {
    AwaitCredentials,
    AwaitLink,
    AwaitSession,
    AwaitTurn,
    Out { attempt: AttemptId, until: Moment },
    Paused { until: Moment },
}

impl Owed {
    pub(super) const fn waits_for_credentials(&self) -> bool {
        matches!(self.state, State::AwaitCredentials)
    }

    pub(super) const fn waits_for_link(&self) -> bool {
        matches!(self.state, State::AwaitLink)
    }

    pub(super) const fn waits_for_session(&self) -> bool {
        matches!(self.state, State::AwaitSession)
    }

    const fn is_answer(&self) -> bool {
        matches!(self.due, Due::Answer { .. })
    }

    const fn is_notification(&self) -> bool {
        matches!(self.due, Due::Notification { .. })
    }
}

impl Link {
    /// Tells the server something. Ends by exactly one [`Output::Noticed`].
    pub fn notify(
        &mut self,
        now: Moment,
        method: impl Into<std::sync::Arc<str>>,
        params: Option<&Json>,
    ) -> NoticeId {
        let call = CallName { method: method.into(), tool: None };
        let id = self.owe(now, Due::Notification { params: params.cloned() }, call);
        match self.closing.is_begun() {
            true => self.owed_ended(now, id, Err(Ending::new(Kind::Closed, Reason::Nothing))),
            false => self.send_owed(now, id),
        }
        id
    }

    /// Answers a question that the application was not asked. A server that asks faster than it listens is not
    /// owed everything.
    pub(super) fn owe_own_answer(&mut self, now: Moment, question: &Question, answer: &Answer) {
        match self.answers_owed >= MOST_OWED {
            true => self.tell(Event::ServerFloods),
            false => self.owe_answer(now, question, answer),
        }
    }

    pub(super) fn owe_answer(&mut self, now: Moment, question: &Question, answer: &Answer) {
        let Question { generation, exchange, .. } = *question;
        let ready = self.session.ready().map(|ready| &ready.address);
        let sent = exchange.and_then(|id| self.exchanges.get(&id)?.sent.as_ref()).map(|it| &it.to);
        let asked_by = ready.into_iter().chain(sent).find(|to| to.generation == generation);
        // Without a session to send it to, nobody is left who asked.
        let Some(to) = asked_by.cloned() else { return };
        let call = CallName { method: "answer".into(), tool: None };
        let body = answer_body(&question.id, answer);
        let id = self.owe(now, Due::Answer { to, exchange, body }, call);
        self.send_owed(now, id);
    }

    pub(super) fn owe_cancel(&mut self, now: Moment, sent: &Sent) {
        let params = format!(r#"{{"requestId":{}}}"#, sent.wire_id);
        let params = Json::new(params).expect("made of valid JSON");
        let call = CallName { method: "notifications/cancelled".into(), tool: None };
        let body = notification_body(&call.method, Some(&params));
        let id = self.owe(now, Due::Cancelled { to: sent.to.clone(), body }, call);
        self.send_owed(now, id);
    }

    fn owe(&mut self, now: Moment, due: Due, call: CallName) -> NoticeId {
        self.ids.notice = self.ids.notice.next();
        let state = State::Paused { until: now };
        let (attempts, resends, delivery) = (0, 0, Delivery::NotSent);
        let owed = Owed { due, call, began: now, attempts, resends, delivery, state };
        self.answers_owed += usize::from(owed.is_answer());
        self.owed.insert(self.ids.notice, owed);
        self.ids.notice
    }

    fn send_owed(&mut self, now: Moment, id: NoticeId) {
        let Some(owed) = self.owed.get(&id) else { return };
        let (to, limit, body, headers) = match &owed.due {
            Due::Cancelled { to, body } => {
                (to.clone(), CANCEL_LIMIT, body.clone(), Headers::default())
            }
            _ if !self.dial.is_connected() => {
                self.owed_waits(id, State::AwaitLink);
                return self.drive_dial(now);
            }
            Due::Answer { to, body, .. } => (to.clone(), LIMIT, body.clone(), Headers::default()),
            Due::Notification { params } => {
                let Some(ready) = self.session.ready() else {
                    self.owed_waits(id, State::AwaitSession);
                    return self.ensure_session(now);
                };
                self.turns.wait(id);
                if self.turns.next(self.capacity) != Some(id) {
                    return self.owed_waits(id, State::AwaitTurn);
                }
                let method = &owed.call.method;
                let body = self.notification(method, params.as_ref());
                (ready.address.clone(), LIMIT, body, self.own_headers(method))
            }
        };
        let lane = if owed.is_notification() { Lane::Notice } else { Lane::Control };
        let owner = Owner::Notice(id);
        let attempt = self.request_in(lane, owner, Verb::Post { body }, to, headers);
        if let Some(owed) = self.owed.get_mut(&id) {
            owed.attempts += 1;
        }
        self.owed_waits(id, State::Out { attempt, until: now + limit });
    }

    fn owed_waits(&mut self, id: NoticeId, state: State) {
        let patience = self.patience();
        let Some(owed) = self.owed.get_mut(&id) else { return };
        owed.state = state;
        match state {
            _ if !owed.is_notification() => {}
            State::AwaitTurn => self.turns.wait(id),
            State::Out { .. } => self.turns.go(id),
            _ => self.turns.leave(id),
        }
        let alarm = match state {
            State::Out { until, .. } | State::Paused { until } => Some(until),
            // An answer waits for as long as somebody waits for it.
            _ if owed.is_answer() => None,
            _ => Some(owed.began + patience),
        };
        self.timers.set(Timer::Notice(id), alarm);
    }

    pub(super) fn notice_due(&mut self, now: Moment, id: NoticeId) {
        let Some(owed) = self.owed.get(&id) else { return };
        match owed.state {
            State::Paused { .. } => self.send_owed(now, id),
            State::Out { attempt, .. } => {
                self.abort(attempt);
                self.owed_failed(now, id, Failure::unknown(Cause::TimedOut));
                self.fill_turns(now);
                self.closing_progressed(now);
            }
            State::AwaitTurn => {
                let reason = Reason::Rule("the server takes notifications too slowly");
                self.owed_ended(now, id, Err(Ending::new(Kind::DeadlinePassed, reason)));
            }
            State::AwaitCredentials | State::AwaitLink | State::AwaitSession => {
                let reason = self.last_failure.as_ref().map(|(_, reason)| reason.clone());
                let ending = Ending::new(Kind::Unreachable, reason.unwrap_or(Reason::Nothing));
                self.owed_ended(now, id, Err(ending));
            }
        }
    }

    /// The server answered the POST that was sent to this session with these credentials.
    pub(super) fn owed_answered(
        &mut self,
        now: Moment,
        id: NoticeId,
        (generation, credentials): (Generation, CredentialsId),
        head: &AnswerHead,
    ) {
        let Some(owed) = self.owed.get_mut(&id) else { return };
        let status = head.status;
        if status.is_success() || matches!(owed.due, Due::Cancelled { .. }) {
            return self.owed_ended(now, id, Ok(()));
        }
        let is_deferral = status::asks_to_come_back(head);
        let is_proven = is_deferral || status::is_not_carried_out(status);
        owed.delivery =
            owed.delivery.max(if is_proven { Delivery::Refused } else { Delivery::Unknown });
        if status::is_unauthorized(status) && owed.is_answer() && owed.resends < self.policy.resends
        {
            // The server still waits for this answer; it only wants to know us better.
            owed.resends += 1;
            self.owed_waits(id, State::AwaitCredentials);
            return self.renew_credentials(now, credentials, head.challenge.clone());
        }
        let is_trouble = status.is_server_error() || status::is_outage(status);
        let may_repeat = match owed.is_answer() {
            true => is_deferral || is_trouble,
            false => is_deferral && owed.resends < self.policy.resends,
        };
        let is_too_late = !owed.is_answer()
            && head.retry_after.is_some_and(|hint| now + hint > owed.began + self.policy.patience);
        if may_repeat && !is_too_late {
            return self.owed_again(now, id, head.retry_after);
        }
        let ready = self.session.ready().filter(|ready| ready.generation() == generation);
        let has_session = ready.is_some_and(|ready| ready.address.session.is_some());
        let is_lost = has_session && status::is_gone(status);
        let kind = match status::is_unauthorized(status) {
            true => Kind::Unauthorized,
            false if is_lost => Kind::SessionLost,
            false if is_trouble => Kind::Interrupted,
            false => Kind::rejected(status),
        };
        let ending =
            Ending { retry_after: head.retry_after, ..Ending::new(kind, Reason::Status(status)) };
        self.owed_ended(now, id, Err(ending));
        if is_lost {
            self.check_generation(now, generation);
        }
    }

    pub(super) fn owed_failed(&mut self, now: Moment, id: NoticeId, failure: Failure) {
        let Some(owed) = self.owed.get_mut(&id) else { return };
        owed.delivery = owed.delivery.max(failure.delivery);
        match (&owed.due, failure.delivery) {
            (Due::Cancelled { .. }, _) => self.owed_ended(now, id, Ok(())),
            (_, Delivery::NotSent) if failure.cause.is_lasting(self.dial.connected_before()) => {
                // Nothing will be dialed for it: it ends, like the calls that meet such a fault.
                let ending = Ending::new(Kind::Unreachable, Reason::Transport(failure));
                self.owed_ended(now, id, Err(ending));
            }
            (_, Delivery::NotSent) => {
                self.owed_waits(id, State::AwaitLink);
                self.drive_dial(now);
            }
            (Due::Answer { .. }, _) => self.owed_again(now, id, None),
            (Due::Notification { .. }, _) => {
                let ending = Ending::new(Kind::Interrupted, Reason::Transport(failure));
                self.owed_ended(now, id, Err(ending));
            }
        }
    }

    fn owed_again(&mut self, now: Moment, id: NoticeId, hint: Option<Duration>) {
        let Some(owed) = self.owed.get_mut(&id) else { return };
        let backoff = self.policy.backoff.full_jitter(owed.resends, &mut self.dice);
        owed.resends += 1;
        self.owed_waits(id, State::Paused { until: now + hint.unwrap_or(backoff) });
    }

    /// The one place where a message that we owe ends.
    fn owed_ended(&mut self, now: Moment, id: NoticeId, outcome: Result<(), Ending>) {
        let Some(owed) = self.owed.remove(&id) else { return };
        self.turns.leave(id);
        self.answers_owed -= usize::from(owed.is_answer());
        self.timers.set(Timer::Notice(id), None);
        if let State::Out { attempt, .. } = owed.state {
            self.abort(attempt);
        }
        if !matches!(owed.due, Due::Notification { .. }) {
            return;
        }
        if let Err(ending) = &outcome {
            self.tell(Event::NotificationDropped { reason: ending.reason.clone() });
        }
        let outcome = outcome.map_err(|ending| CallError {
            kind: ending.kind,
            delivery: owed.delivery,
            call: owed.call,
            attempts: owed.attempts,
            handshakes: 0,
            elapsed: now.since(owed.began),
            retry_after: ending.retry_after,
            reason: ending.reason,
            said: None,
            is_repeatable: false,
        });
        self.outbox.push_back(Output::Noticed { notice: id, outcome });
    }
}

const MOST_OWED: usize = 1000;
const CANCEL_LIMIT: Duration = Duration::from_secs(5);
const LIMIT: Duration = Duration::from_secs(30);
