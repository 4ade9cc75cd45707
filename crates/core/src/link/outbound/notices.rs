//! Notices: answers to the server, cancellations, and notifications of the application.
//!
//! None of them has an answer of its own, so each is bounded by what it belongs to: an answer by the exchange
//! or session that asked, a cancellation by 5 s, a notification by its patience, counted from its start. They
//! bypass gates and the limit of calls in flight. Notifications take turns (`turns.rs`), because an
//! application may send any number of them.

use std::time::Duration;

use bytes::Bytes;

use super::Outbound;
use super::inbox::Question;
use crate::answer::status;
use crate::event::Event;
use crate::exchange::{Ending, Sent};
use crate::failure::{Cause, Delivery, Failure};
use crate::head::AnswerHead;
use crate::headers::Headers;
use crate::ids::{AttemptId, CredentialsId, ExchangeId, Generation, NoticeId};
use crate::link::Link;
use crate::link::attempts::{NewRequest, Owner};
use crate::link::context::Context;
use crate::link::timers::Timer;
use crate::message::notification;
use crate::message::{Answer, Json, answer_body, notification_body};
use crate::moment::Moment;
use crate::outcome::{CallError, CallName, Kind, Reason};
use crate::output::{Address, Lane, Output, Verb};

/// A message on its way to the server.
#[derive(Debug)]
pub(crate) struct Notice {
    pub(super) kind: NoticeKind,
    call: CallName,
    began: Moment,
    attempts: u32,
    resends: u32,
    delivery: Delivery,
    state: NoticeState,
}

/// What a notice says, and to which session.
#[derive(Clone, Debug)]
pub(super) enum NoticeKind {
    Answer {
        to: Address,
        exchange: Option<ExchangeId>,
        body: Bytes,
    },
    Cancelled {
        to: Address,
        body: Bytes,
    },
    /// A notification to whichever session is in force, in the form of its era.
    Notification {
        params: Option<Json>,
    },
}

#[derive(Clone, Copy, Debug)]
enum NoticeState {
    AwaitCredentials,
    AwaitLink,
    AwaitSession,
    AwaitTurn,
    Out { attempt: AttemptId, until: Moment },
    Paused { until: Moment },
}

impl Notice {
    pub(crate) const fn waits_for_credentials(&self) -> bool {
        matches!(self.state, NoticeState::AwaitCredentials)
    }

    pub(crate) const fn waits_for_link(&self) -> bool {
        matches!(self.state, NoticeState::AwaitLink)
    }

    pub(crate) const fn waits_for_session(&self) -> bool {
        matches!(self.state, NoticeState::AwaitSession)
    }

    const fn is_answer(&self) -> bool {
        matches!(self.kind, NoticeKind::Answer { .. })
    }

    const fn is_notification(&self) -> bool {
        matches!(self.kind, NoticeKind::Notification { .. })
    }
}

impl Outbound {
    pub(super) fn add_notice(&mut self, now: Moment, kind: NoticeKind, call: CallName) -> NoticeId {
        let id = self.next_notice();
        let state = NoticeState::Paused { until: now };
        let (attempts, resends, delivery) = (0, 0, Delivery::NotSent);
        let notice = Notice { kind, call, began: now, attempts, resends, delivery, state };
        self.answers += usize::from(notice.is_answer());
        self.notices.insert(id, notice);
        id
    }

    /// Ends a notice; the one place that does.
    pub(super) fn end_notice(
        &mut self,
        cx: &mut Context,
        now: Moment,
        id: NoticeId,
        outcome: Result<(), Ending>,
    ) {
        let Some(notice) = self.notices.remove(&id) else { return };
        self.turns.leave(id);
        self.answers -= usize::from(notice.is_answer());
        cx.timers.set(Timer::Notice(id), None);
        if let NoticeState::Out { attempt, .. } = notice.state {
            cx.abort(attempt);
        }
        if !matches!(notice.kind, NoticeKind::Notification { .. }) {
            return;
        }
        if let Err(ending) = &outcome {
            cx.tell(Event::NotificationDropped { reason: ending.reason.clone() });
        }
        let outcome = outcome.map_err(|ending| CallError {
            kind: ending.kind,
            delivery: notice.delivery,
            call: notice.call,
            attempts: notice.attempts,
            handshakes: 0,
            elapsed: now.since(notice.began),
            retry_after: ending.retry_after,
            reason: ending.reason,
            status: None,
            said: None,
            is_repeatable: false,
        });
        cx.put(Output::Noticed { notice: id, outcome });
    }
}

impl Link {
    /// Sends a notification. It ends with exactly one [`Output::Noticed`].
    pub fn notify(
        &mut self,
        now: Moment,
        method: impl Into<std::sync::Arc<str>>,
        params: Option<&Json>,
    ) -> NoticeId {
        let call = CallName { method: method.into(), tool: None };
        let id = self.outbound.add_notice(
            now,
            NoticeKind::Notification { params: params.cloned() },
            call,
        );
        if self.closing.is_begun() {
            self.outbound.end_notice(
                &mut self.cx,
                now,
                id,
                Err(Ending::new(Kind::Closed, Reason::Nothing)),
            )
        } else {
            self.send_notice(now, id)
        }
        id
    }

    /// Answers a question that the application does not get to see. Beyond a limit such answers are dropped:
    /// the server asks faster than it reads.
    pub(crate) fn send_own_answer(&mut self, now: Moment, question: &Question, answer: &Answer) {
        if self.outbound.answers >= MOST_ANSWERS {
            self.cx.tell(Event::ServerFloods)
        } else {
            self.send_answer(now, question, answer)
        }
    }

    pub(crate) fn send_answer(&mut self, now: Moment, question: &Question, answer: &Answer) {
        let Question { generation, exchange, .. } = *question;
        let ready = self.session.ready().map(|ready| &ready.address);
        let sent = exchange.and_then(|id| self.calls.get(id)?.sent.as_ref()).map(|it| &it.to);
        let asked_by = ready.into_iter().chain(sent).find(|to| to.generation == generation);
        // Without its session, the server no longer waits for the answer.
        let Some(to) = asked_by.cloned() else { return };
        let call = CallName { method: "answer".into(), tool: None };
        let body = answer_body(&question.id, answer);
        let id = self.outbound.add_notice(now, NoticeKind::Answer { to, exchange, body }, call);
        self.send_notice(now, id);
    }

    pub(crate) fn send_cancelled(&mut self, now: Moment, sent: &Sent) {
        let params = format!(r#"{{"requestId":{}}}"#, sent.wire_id);
        let params = Json::new(params).expect("made of valid JSON");
        let call = CallName { method: notification::CANCELLED.into(), tool: None };
        let body = notification_body(&call.method, Some(&params));
        let id = self.outbound.add_notice(
            now,
            NoticeKind::Cancelled { to: sent.to.clone(), body },
            call,
        );
        self.send_notice(now, id);
    }

    pub(super) fn send_notice(&mut self, now: Moment, id: NoticeId) {
        let Some(notice) = self.outbound.notices.get(&id) else { return };
        let (to, limit, body, headers) = match &notice.kind {
            NoticeKind::Cancelled { to, body } => {
                (to.clone(), CANCEL_LIMIT, body.clone(), Headers::default())
            }
            _ if !self.reach.is_connected() => {
                self.notice_waits(id, NoticeState::AwaitLink);
                return self.drive_dial(now);
            }
            NoticeKind::Answer { to, body, .. } => {
                (to.clone(), LIMIT, body.clone(), Headers::default())
            }
            NoticeKind::Notification { params } => {
                let Some(ready) = self.session.ready() else {
                    self.notice_waits(id, NoticeState::AwaitSession);
                    return self.ensure_session(now);
                };
                self.outbound.turns.wait(id);
                if self.outbound.turns.next(self.admission.capacity()) != Some(id) {
                    return self.notice_waits(id, NoticeState::AwaitTurn);
                }
                let method = &notice.call.method;
                let body = self.session.notification(method, params.as_ref());
                (ready.address.clone(), LIMIT, body, self.session.own_headers(method))
            }
        };
        let lane = if notice.is_notification() { Lane::Notice } else { Lane::Control };
        let owner = Owner::Notice(id);
        let request = NewRequest::new(owner, Verb::Post { body }, to);
        let attempt = self.cx.send(NewRequest { headers, lane, ..request });
        if let Some(notice) = self.outbound.notices.get_mut(&id) {
            notice.attempts += 1;
        }
        self.notice_waits(id, NoticeState::Out { attempt, until: now + limit });
    }

    fn notice_waits(&mut self, id: NoticeId, state: NoticeState) {
        let patience = self.reach.patience(&self.cx.policy);
        let Some(notice) = self.outbound.notices.get_mut(&id) else { return };
        notice.state = state;
        match state {
            _ if !notice.is_notification() => {}
            NoticeState::AwaitTurn => self.outbound.turns.wait(id),
            NoticeState::Out { .. } => self.outbound.turns.go(id),
            _ => self.outbound.turns.leave(id),
        }
        let alarm = match state {
            NoticeState::Out { until, .. } | NoticeState::Paused { until } => Some(until),
            // An answer waits for as long as its exchange or session does.
            _ if notice.is_answer() => None,
            _ => Some(notice.began + patience),
        };
        self.cx.timers.set(Timer::Notice(id), alarm);
    }

    pub(crate) fn notice_due(&mut self, now: Moment, id: NoticeId) {
        let Some(notice) = self.outbound.notices.get(&id) else { return };
        match notice.state {
            NoticeState::Paused { .. } => self.send_notice(now, id),
            NoticeState::Out { attempt, .. } => {
                self.cx.abort(attempt);
                self.notice_failed(now, id, Failure::unknown(Cause::TimedOut));
                self.fill_turns(now);
                self.closing_progressed(now);
            }
            NoticeState::AwaitTurn => {
                let reason = Reason::Rule("the server takes notifications too slowly");
                self.outbound.end_notice(
                    &mut self.cx,
                    now,
                    id,
                    Err(Ending::new(Kind::DeadlinePassed, reason)),
                );
            }
            NoticeState::AwaitCredentials | NoticeState::AwaitLink | NoticeState::AwaitSession => {
                let reason = self.reach.last_failure().map(|(_, reason)| reason.clone());
                let ending = Ending::new(Kind::Unreachable, reason.unwrap_or(Reason::Nothing));
                self.outbound.end_notice(&mut self.cx, now, id, Err(ending));
            }
        }
    }

    /// Handles the server's answer to a notice that was sent to this session with these credentials.
    pub(crate) fn notice_answered(
        &mut self,
        now: Moment,
        id: NoticeId,
        (generation, credentials): (Generation, CredentialsId),
        head: &AnswerHead,
    ) {
        let Some(notice) = self.outbound.notices.get_mut(&id) else { return };
        let status = head.status;
        if status.is_success() || matches!(notice.kind, NoticeKind::Cancelled { .. }) {
            return self.outbound.end_notice(&mut self.cx, now, id, Ok(()));
        }
        let is_deferral = status::asks_to_come_back(head);
        let is_proven = is_deferral || status::is_not_carried_out(status);
        notice.delivery =
            notice.delivery.max(if is_proven { Delivery::Refused } else { Delivery::Unknown });
        if status::is_unauthorized(status)
            && notice.is_answer()
            && notice.resends < self.cx.policy.resends
        {
            // The server still waits for this answer; it only refused the credentials.
            notice.resends += 1;
            self.notice_waits(id, NoticeState::AwaitCredentials);
            return self.renew_credentials(now, credentials, head.challenge.clone());
        }
        let is_trouble = status.is_server_error() || status::is_outage(status);
        let may_repeat = if notice.is_answer() {
            is_deferral || is_trouble
        } else {
            is_deferral && notice.resends < self.cx.policy.resends
        };
        let is_too_late = !notice.is_answer()
            && head
                .retry_after
                .is_some_and(|hint| now + hint > notice.began + self.cx.policy.patience);
        if may_repeat && !is_too_late {
            return self.repeat_notice(now, id, head.retry_after);
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
        self.outbound.end_notice(&mut self.cx, now, id, Err(ending));
        if is_lost {
            self.check_generation(now, generation);
        }
    }

    pub(crate) fn notice_failed(&mut self, now: Moment, id: NoticeId, failure: Failure) {
        let Some(notice) = self.outbound.notices.get_mut(&id) else { return };
        notice.delivery = notice.delivery.max(failure.delivery);
        match (&notice.kind, failure.delivery) {
            (NoticeKind::Cancelled { .. }, _) => {
                self.outbound.end_notice(&mut self.cx, now, id, Ok(()))
            }
            (_, Delivery::NotSent) if failure.cause.is_lasting(self.reach.connected_before()) => {
                // No connect will be made for it: it ends, like the calls that meet such a failure.
                let ending = Ending::new(Kind::Unreachable, Reason::Transport(failure));
                self.outbound.end_notice(&mut self.cx, now, id, Err(ending));
            }
            (_, Delivery::NotSent) => {
                self.notice_waits(id, NoticeState::AwaitLink);
                self.drive_dial(now);
            }
            (NoticeKind::Answer { .. }, _) => self.repeat_notice(now, id, None),
            (NoticeKind::Notification { .. }, _) => {
                let ending = Ending::new(Kind::Interrupted, Reason::Transport(failure));
                self.outbound.end_notice(&mut self.cx, now, id, Err(ending));
            }
        }
    }

    fn repeat_notice(&mut self, now: Moment, id: NoticeId, hint: Option<Duration>) {
        let Some(notice) = self.outbound.notices.get_mut(&id) else { return };
        let backoff = self.cx.policy.backoff.full_jitter(notice.resends, &mut self.cx.rng);
        notice.resends += 1;
        self.notice_waits(id, NoticeState::Paused { until: now + hint.unwrap_or(backoff) });
    }
}

const MOST_ANSWERS: usize = 1000;
const CANCEL_LIMIT: Duration = Duration::from_secs(5);
const LIMIT: Duration = Duration::from_secs(30);
