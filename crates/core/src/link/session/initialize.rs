//! The answers that `initialize` may get, and what follows from each.

use std::time::Duration;

use http::StatusCode;
use ridethrough_wire::message::Answer;

use super::Sessions;
use super::renewal::{self, Opening, Ready, Session, Stage};
use crate::answer::{PostReading, status};
use crate::exchange::{Ending, MOST_STEP_UPS, follow};
use crate::head::{AnswerHead, Content, Redirect};
use crate::link::context::Context;
use crate::link::effects::{CredentialsEffect, SessionEffect};
use crate::outcome::{Kind, Reason};
use crate::output::Address;
use crate::rule::Rule;

impl Sessions {
    /// Whether a refused `initialize` is worth another try. A server that has answered before may come back;
    /// where none ever did, the path is wrong.
    pub(crate) fn may_pass(&self, status: StatusCode) -> bool {
        let has_spoken = matches!(&self.state, Session::Renewing(renewal) if renewal.has_spoken);
        if status::is_no_server_here(status) {
            self.had_session || has_spoken
        } else {
            status.is_server_error()
        }
    }

    /// Acts on the answer to `initialize`.
    pub(crate) fn initialize_answered(
        &mut self,
        cx: &mut Context,
        head: &AnswerHead,
        reading: PostReading,
    ) {
        let may_tell = !head.status.is_server_error() && !status::is_guard(head.status);
        if may_tell && self.doubts_era(cx, &reading) {
            return;
        }
        match reading {
            PostReading::Answer(Answer::Error(_)) if head.status.is_server_error() => {
                self.handshake_failed(cx, head.retry_after, Reason::Status(head.status));
            }
            PostReading::Answer(Answer::Error(_)) if status::is_guard(head.status) => {
                let ending = Ending::new(Kind::rejected(head.status), Reason::Status(head.status));
                self.fail(cx, ending);
            }
            PostReading::Answer(answer) => self.initialize_replied(cx, head, &answer),
            PostReading::Deferred { status, hint, .. } => {
                self.handshake_deferred(cx, status, hint);
            }
            PostReading::Interrupted { status, hint } => {
                self.handshake_failed(cx, hint, Reason::Status(status));
            }
            PostReading::Rejected(status, _) if self.may_pass(status) => {
                if status::is_not_found(status) {
                    // A 404 may come from something other than the server: the next try begins with the era.
                    self.era.forget();
                }
                self.handshake_failed(cx, head.retry_after, Reason::Status(status));
            }
            PostReading::Suspected(_) => {
                self.handshake_failed(cx, None, Reason::Status(head.status));
            }
            PostReading::Unauthorized { .. } => self.handshake_unauthorized(cx, head, 1),
            PostReading::NeedsScope { .. } => {
                self.handshake_unauthorized(cx, head, MOST_STEP_UPS);
            }
            PostReading::Redirected(to, status) => self.handshake_redirected(cx, to, status),
            PostReading::Rejected(status, _) => {
                let ending = Ending::new(Kind::rejected(status), Reason::Status(status));
                self.fail(cx, ending);
            }
            PostReading::Accepted => {
                let reason = Reason::Rule(Rule::InitializeUnanswered);
                self.fail(cx, Ending::new(Kind::PeerMisbehaved, reason));
            }
            PostReading::Misbehaved(why) => {
                let why = if head.content == Content::Html { Rule::WebPage } else { why };
                let ending = Ending::new(Kind::PeerMisbehaved, Reason::Rule(why));
                self.fail(cx, ending);
            }
        }
    }

    fn initialize_replied(&mut self, cx: &mut Context, head: &AnswerHead, answer: &Answer) {
        let Some(renewal) = self.renewal() else { return };
        let Stage::Opening(Opening { generation, opens, .. }) = renewal.stage else { return };
        let (target, carrier) = (renewal.target.clone(), opens.carrier());
        let session = head.session.clone();
        let address = Address { generation, session, version: None, target, carrier };
        match renewal::agreed_version(answer) {
            Ok(version) => {
                self.era.gave_a_session();
                let server = Some(answer.json().clone());
                let ready = Ready::new(version, address, server);
                self.send_initialized(cx, Ready { home: head.connection, ..ready });
            }
            Err(words) => {
                self.leave_unused(cx, address);
                if self.agreed_on_no_session(cx, answer) {
                    return;
                }
                let words = cx.secrets.masked(&words);
                let ending = Ending::new(Kind::Incompatible, Reason::Said(words.into()));
                self.fail(cx, ending);
            }
        }
    }

    fn handshake_deferred(&mut self, cx: &mut Context, status: StatusCode, hint: Option<Duration>) {
        let Some(renewal) = self.renewal() else { return };
        renewal.deferrals += 1;
        let ending = Ending::new(Kind::rejected(status), Reason::Status(status));
        let ending = Ending { retry_after: hint, ..ending };
        let is_limited = !status::is_unavailable(status);
        if is_limited && renewal.deferrals > renewal::MOST_DEFERRALS {
            return self.fail(cx, ending);
        }
        self.handshake_failed(cx, hint, Reason::Status(status));
    }

    fn handshake_unauthorized(&mut self, cx: &mut Context, head: &AnswerHead, most_rounds: u32) {
        let Some(renewal) = self.renewal() else { return };
        let Stage::Opening(Opening { credentials, .. }) = renewal.stage else { return };
        if renewal.credential_rounds >= most_rounds {
            let ending = Ending::new(Kind::Unauthorized, Reason::Status(head.status));
            return self.fail(cx, ending);
        }
        renewal.credential_rounds += 1;
        self.enter_stage(cx, Stage::AwaitCredentials);
        let challenge = head.challenge.clone();
        cx.then(CredentialsEffect::Renew { rejected: credentials, challenge });
    }

    fn handshake_redirected(&mut self, cx: &mut Context, to: Option<Redirect>, status: StatusCode) {
        let Some(renewal) = self.renewal() else { return };
        match follow(to, status, renewal.redirects) {
            Ok(path) => {
                renewal.redirects += 1;
                renewal.target = Some(path);
                cx.then(SessionEffect::TryHandshake);
            }
            Err(reason) => {
                let ending = Ending::new(Kind::rejected(status), reason);
                self.fail(cx, ending);
            }
        }
    }
}
