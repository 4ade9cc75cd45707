//! Notices: answers to the server, cancellations, and notifications of the application.
//!
//! None of them has an answer of its own, so each is bounded by what it belongs to: an answer by the exchange
//! or session that asked, a cancellation by 5 s, a notification by its patience, counted from its start. They
//! bypass gates and the limit of calls in flight. Notifications take turns (`turns.rs`), because an
//! application may send any number of them.

use std::time::Duration;

use bytes::Bytes;
use ridethrough_wire::message::Json;

use super::Outbound;
use crate::answer::status;
use crate::event::Event;
use crate::exchange::Ending;
use crate::failure::{Cause, Delivery, Failure};
use crate::head::AnswerHead;
use crate::ids::{AttemptId, CredentialsId, ExchangeId, Generation, NoticeId};
use crate::link::context::Context;
use crate::link::effects::{CallEffect, CredentialsEffect, Effect, OutboundEffect, ReachEffect};
use crate::link::reach::Reach;
use crate::link::session::Sessions;
use crate::link::timers::Timer;
use crate::moment::Moment;
use crate::outcome::{CallError, CallName, Kind, Reason};
use crate::output::{Address, Output};
use crate::rule::Rule;

/// A message on its way to the server.
#[derive(Debug)]
pub(crate) struct Notice {
    pub(super) kind: NoticeKind,
    pub(super) call: CallName,
    began: Moment,
    pub(super) attempts: u32,
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
pub(super) enum NoticeState {
    AwaitCredentials,
    AwaitLink,
    AwaitSession,
    AwaitTurn,
    Out { attempt: AttemptId },
    Paused,
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

    pub(super) const fn is_notification(&self) -> bool {
        matches!(self.kind, NoticeKind::Notification { .. })
    }
}

impl Outbound {
    pub(super) fn add_notice(&mut self, now: Moment, kind: NoticeKind, call: CallName) -> NoticeId {
        let id = self.next_notice();
        let state = NoticeState::Paused;
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
            elapsed: cx.now.since(notice.began),
            retry_after: ending.retry_after,
            reason: ending.reason,
            status: None,
            said: None,
            is_repeatable: false,
        });
        cx.put(Output::Noticed { notice: id, outcome });
    }

    /// Moves a notice into a wait. A notification waits for as long as its patience lasts.
    pub(super) fn wait(
        &mut self,
        cx: &mut Context,
        id: NoticeId,
        state: NoticeState,
        reach: &Reach,
    ) {
        let Some(notice) = self.notices.get(&id) else { return };
        // An answer waits for as long as its exchange or session does.
        let is_patient = notice.is_answer();
        let until = notice.began + reach.patience(&cx.policy);
        self.enter(cx, id, state, (!is_patient).then_some(until));
    }

    pub(super) fn enter(
        &mut self,
        cx: &mut Context,
        id: NoticeId,
        state: NoticeState,
        alarm: Option<Moment>,
    ) {
        let Some(notice) = self.notices.get_mut(&id) else { return };
        notice.state = state;
        match state {
            _ if !notice.is_notification() => {}
            NoticeState::AwaitTurn => self.turns.wait(id),
            NoticeState::Out { .. } => self.turns.go(id),
            _ => self.turns.leave(id),
        }
        cx.timers.set(Timer::Notice(id), alarm);
    }

    /// Handles a notice whose pause, wait or time on the way is over.
    pub(crate) fn notice_due(&mut self, cx: &mut Context, id: NoticeId, reach: &Reach) {
        let Some(notice) = self.notices.get(&id) else { return };
        match notice.state {
            NoticeState::Paused => cx.then(OutboundEffect::Send(id)),
            NoticeState::Out { attempt, .. } => {
                cx.abort(attempt);
                self.notice_failed(cx, id, Failure::unknown(Cause::TimedOut), reach);
                cx.then(OutboundEffect::FillTurns);
                cx.then(Effect::Close);
            }
            NoticeState::AwaitTurn => {
                let reason = Reason::Rule(Rule::NotificationsTooSlow);
                let ending = Ending::new(Kind::DeadlinePassed, reason);
                self.end_notice(cx, id, Err(ending));
            }
            NoticeState::AwaitCredentials | NoticeState::AwaitLink | NoticeState::AwaitSession => {
                let reason = cx.last_failure().map(|(_, reason)| reason.clone());
                let ending = Ending::new(Kind::Unreachable, reason.unwrap_or(Reason::Nothing));
                self.end_notice(cx, id, Err(ending));
            }
        }
    }

    /// Handles the server's answer to a notice that was sent to this session with these credentials.
    pub(crate) fn notice_answered(
        &mut self,
        cx: &mut Context,
        id: NoticeId,
        (generation, credentials): (Generation, CredentialsId),
        head: &AnswerHead,
        (reach, session): (&Reach, &Sessions),
    ) {
        let Some(notice) = self.notices.get_mut(&id) else { return };
        let status = head.status;
        if status.is_success() || matches!(notice.kind, NoticeKind::Cancelled { .. }) {
            return self.end_notice(cx, id, Ok(()));
        }
        let is_proven = status::is_not_carried_out(status, 0) || status::is_challenged(head);
        notice.delivery =
            notice.delivery.max(if is_proven { Delivery::Refused } else { Delivery::Unknown });
        if status::is_unauthorized(status)
            && notice.is_answer()
            && notice.resends < cx.policy.resends
        {
            // The server still waits for this answer; it only refused the credentials.
            notice.resends += 1;
            self.wait(cx, id, NoticeState::AwaitCredentials, reach);
            let challenge = head.challenge.clone();
            return cx.then(CredentialsEffect::Renew { rejected: credentials, challenge });
        }
        let is_trouble = status.is_server_error() || status::is_outage(status);
        let may_repeat = if notice.is_answer() {
            status::is_limit(status) || is_trouble
        } else {
            status::is_limit(status) && notice.resends < cx.policy.resends
        };
        let is_too_late = !notice.is_answer()
            && head
                .retry_after
                .is_some_and(|hint| cx.now + hint > notice.began + cx.policy.patience);
        if may_repeat && !is_too_late {
            return self.repeat_notice(cx, id, head.retry_after);
        }
        let ready = session.ready().filter(|ready| ready.generation() == generation);
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
        self.end_notice(cx, id, Err(ending));
        if is_lost {
            cx.then(CallEffect::CheckGeneration(generation));
        }
    }

    /// Handles a notice whose attempt failed below HTTP.
    pub(crate) fn notice_failed(
        &mut self,
        cx: &mut Context,
        id: NoticeId,
        failure: Failure,
        reach: &Reach,
    ) {
        let Some(notice) = self.notices.get_mut(&id) else { return };
        notice.delivery = notice.delivery.max(failure.delivery);
        match (&notice.kind, failure.delivery) {
            (NoticeKind::Cancelled { .. }, _) => self.end_notice(cx, id, Ok(())),
            (_, Delivery::NotSent) if failure.cause.is_lasting(reach.connected_before()) => {
                // No connect will be made for it: it ends, like the calls that meet such a failure.
                let ending = Ending::new(Kind::Unreachable, Reason::Transport(failure));
                self.end_notice(cx, id, Err(ending));
            }
            (_, Delivery::NotSent) => {
                self.wait(cx, id, NoticeState::AwaitLink, reach);
                cx.then(ReachEffect::Drive);
            }
            (NoticeKind::Answer { .. }, _) => self.repeat_notice(cx, id, None),
            (NoticeKind::Notification { .. }, _) => {
                let ending = Ending::new(Kind::Interrupted, Reason::Transport(failure));
                self.end_notice(cx, id, Err(ending));
            }
        }
    }

    fn repeat_notice(&mut self, cx: &mut Context, id: NoticeId, hint: Option<Duration>) {
        let Some(notice) = self.notices.get_mut(&id) else { return };
        let backoff = cx.policy.backoff.full_jitter(notice.resends, &mut cx.rng);
        notice.resends += 1;
        let until = cx.now + hint.unwrap_or(backoff);
        self.enter(cx, id, NoticeState::Paused, Some(until));
    }
}
