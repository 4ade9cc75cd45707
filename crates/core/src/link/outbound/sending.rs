//! Sending notices: each goes out at once, or waits for the connection, the session or its turn.

use std::time::Duration;

use ridethrough_wire::headers::Headers;
use ridethrough_wire::message::notification;
use ridethrough_wire::message::{Answer, Json, answer_body, notification_body};

use super::Outbound;
use super::notices::{NoticeKind, NoticeState};
use super::questions::Question;
use crate::event::Event;
use crate::exchange::{Ending, Sent};
use crate::ids::NoticeId;
use crate::link::admission::Admission;
use crate::link::attempts::{NewRequest, Owner};
use crate::link::context::Context;
use crate::link::effects::{OutboundEffect, ReachEffect, SessionEffect};
use crate::link::reach::Reach;
use crate::link::session::Sessions;
use crate::moment::Moment;
use crate::outcome::{CallName, Kind, Reason};
use crate::output::{Address, Lane, Verb};

impl Outbound {
    /// Sends a notification of the application.
    pub(crate) fn notify(
        &mut self,
        cx: &mut Context,
        call: CallName,
        params: Option<Json>,
    ) -> NoticeId {
        let id = self.add_notice(cx.now, NoticeKind::Notification { params }, call);
        if cx.is_closing() {
            self.end_notice(cx, id, Err(Ending::new(Kind::Closed, Reason::Nothing)))
        } else {
            cx.then(OutboundEffect::Send(id));
        }
        id
    }

    /// Answers a question that the application does not get to see. Beyond a limit such answers are dropped:
    /// the server asks faster than it reads.
    pub(crate) fn send_own_answer(
        &mut self,
        cx: &mut Context,
        question: &Question,
        answer: &Answer,
        to: Option<Address>,
    ) {
        if self.answers >= MOST_ANSWERS {
            cx.tell(Event::ServerFloods)
        } else {
            self.send_answer(cx, question, answer, to)
        }
    }

    /// Answers a question of the server, at the address that it was asked from.
    pub(crate) fn send_answer(
        &mut self,
        cx: &mut Context,
        question: &Question,
        answer: &Answer,
        to: Option<Address>,
    ) {
        // Without its session, the server no longer waits for the answer.
        let Some(to) = to else { return };
        let call = CallName { method: "answer".into(), tool: None };
        let (body, exchange) = (answer_body(&question.id, answer), question.exchange);
        let id = self.add_notice(cx.now, NoticeKind::Answer { to, exchange, body }, call);
        cx.then(OutboundEffect::Send(id));
    }

    /// Tells the server that no caller waits for the answer to this request.
    pub(crate) fn send_cancelled(&mut self, cx: &mut Context, sent: &Sent) {
        let now = cx.now;
        let params = format!(r#"{{"requestId":{}}}"#, sent.wire_id);
        let params = Json::new(params).expect("made of valid JSON");
        let call = CallName { method: notification::CANCELLED.into(), tool: None };
        let body = notification_body(&call.method, Some(&params));
        let to = sent.to.clone();
        let kind = NoticeKind::Cancelled { to: to.clone(), body: body.clone() };
        let id = self.add_notice(now, kind, call);
        self.send_out(
            cx,
            id,
            NewRequest::new(Owner::Notice(id), Verb::Post { body }, to),
            now + CANCEL_LIMIT,
        );
    }

    /// Sends a notice, or notes what it waits for.
    pub(crate) fn send_notice(
        &mut self,
        cx: &mut Context,
        id: NoticeId,
        (reach, session, admission): (&Reach, &Sessions, &Admission),
    ) {
        let Some(notice) = self.notices.get(&id) else { return };
        let (to, limit, body, headers) = match &notice.kind {
            NoticeKind::Cancelled { to, body } => {
                (to.clone(), CANCEL_LIMIT, body.clone(), Headers::default())
            }
            _ if !reach.lets_control_out() => {
                self.wait(cx, id, NoticeState::AwaitLink, reach);
                return cx.then(ReachEffect::Drive);
            }
            NoticeKind::Answer { to, body, .. } => {
                (to.clone(), LIMIT, body.clone(), Headers::default())
            }
            NoticeKind::Notification { params } => {
                let Some(ready) = session.ready() else {
                    self.wait(cx, id, NoticeState::AwaitSession, reach);
                    return cx.then(SessionEffect::Ensure);
                };
                self.turns.wait(id);
                if self.turns.next(admission.capacity()) != Some(id) {
                    return self.wait(cx, id, NoticeState::AwaitTurn, reach);
                }
                let method = &notice.call.method;
                let body = session.notification(method, params.as_ref());
                (ready.address.clone(), LIMIT, body, session.own_headers(method))
            }
        };
        let lane = if notice.is_notification() { Lane::Notice } else { Lane::Control };
        let request = NewRequest::new(Owner::Notice(id), Verb::Post { body }, to);
        self.send_out(cx, id, NewRequest { headers, lane, ..request }, cx.now + limit);
    }

    fn send_out(&mut self, cx: &mut Context, id: NoticeId, request: NewRequest, until: Moment) {
        let attempt = cx.send(request);
        if let Some(notice) = self.notices.get_mut(&id) {
            notice.attempts += 1;
        }
        self.enter(cx, id, NoticeState::Out { attempt }, Some(until));
    }
}

const MOST_ANSWERS: usize = 1000;
const CANCEL_LIMIT: Duration = Duration::from_secs(5);
const LIMIT: Duration = Duration::from_secs(30);
