//! What the link does with the answer to `server/discover`, and with answers to `initialize` that make it ask.

use std::time::Duration;

use http::StatusCode;
use ridethrough_wire::era::Era;
use ridethrough_wire::message::Answer;

use super::Sessions;
use super::renewal::Ready;
use crate::answer::discovery::{self, Verdict};
use crate::answer::{PostReading, status};
use crate::exchange::Ending;
use crate::failure::Delivery;
use crate::head::AnswerHead;
use crate::link::context::Context;
use crate::link::effects::SessionEffect;
use crate::outcome::{Kind, Reason};
use crate::output::Address;

impl Sessions {
    /// Acts on the answer to `server/discover`.
    pub(crate) fn discovered(
        &mut self,
        cx: &mut Context,
        head: &AnswerHead,
        reading: PostReading,
        named: Option<Answer>,
    ) {
        match (discovery::verdict_of(head, named.as_ref(), reading.answer()), &named) {
            (Verdict::Modern(version), Some(Answer::Result(server))) => {
                let server = Some(server.clone());
                self.found_era(cx, Era::Modern);
                let Some((generation, target)) = self.opening_place() else { return };
                let address = Address { generation, target, ..Address::default() };
                self.become_ready(cx, Ready::new(version, address, server));
            }
            (Verdict::Modern(_), _) => self.ask_once_more(cx, reading.answer().cloned()),
            (Verdict::Legacy, _) => {
                self.found_era(cx, Era::Legacy);
                cx.then(SessionEffect::TryHandshake);
            }
            (Verdict::Disjoint { supported }, _) => {
                self.fail_incompatible(cx, supported.join(", "));
            }
            (Verdict::Refused, _) => {
                let words = reading.answer().and_then(Answer::error).map(|it| it.message);
                self.fail_incompatible(cx, words.unwrap_or_default());
            }
            (Verdict::NoEvidence, _) => self.discovered_nothing(cx, head, reading),
        }
    }

    /// Handles an answer to `server/discover` that says nothing about the era. After a few of them
    /// `initialize` is tried, because some servers answer every other request in useless ways; at once after
    /// a status that would be the end of `initialize`, too. Never if the server asks for credentials or for
    /// time.
    fn discovered_nothing(&mut self, cx: &mut Context, head: &AnswerHead, reading: PostReading) {
        let is_useless = !status::wants_to_be_asked_again(head.status);
        let is_refused = matches!(reading, PostReading::Answer(_) | PostReading::Rejected(..));
        if is_useless && is_refused && self.refuses_for_good(head.status) {
            return self.assume_legacy(cx);
        }
        if is_useless && self.guess_era(cx) {
            return;
        }
        match reading {
            // A guard, such as a proxy or a firewall, may answer in JSON-RPC, too.
            PostReading::Answer(_) | PostReading::Rejected(..) if is_useless => {
                self.handshake_failed(cx, head.retry_after, Reason::Status(head.status));
            }
            PostReading::Answer(_) => {
                self.initialize_answered(
                    cx,
                    head,
                    PostReading::Rejected(head.status, Delivery::Unknown),
                );
            }
            reading => self.initialize_answered(cx, head, reading),
        }
    }

    /// Whether a status would end a handshake that has come to `initialize`.
    fn refuses_for_good(&self, status: StatusCode) -> bool {
        !status.is_success() && !self.may_pass(status)
    }

    /// Assumes the legacy era, if the server was asked in vain often and long enough. Returns whether it does.
    pub(crate) fn guess_era(&mut self, cx: &mut Context) -> bool {
        let now = cx.now;
        let Some(renewal) = self.renewal() else { return false };
        let since = *renewal.asked_in_vain_since.get_or_insert(now);
        renewal.asked_in_vain += 1;
        if renewal.asked_in_vain < USELESS_ANSWERS || now.since(since) < USELESS_FOR {
            return false;
        }
        self.assume_legacy(cx);
        true
    }

    /// Goes on as with a legacy server, without evidence that it is one.
    fn assume_legacy(&mut self, cx: &mut Context) {
        self.era.assume_legacy(cx.now);
        cx.then(SessionEffect::TryHandshake);
    }

    /// Asks for the era again after a refused `initialize`, because the server may have left its era. Returns
    /// whether it asks: not if it has just done so.
    pub(crate) fn doubts_era(&mut self, cx: &mut Context, reading: &PostReading) -> bool {
        let Some(renewal) = self.state.renewal() else { return false };
        let is_new = renewal.is_discovered;
        let is_refused = match reading {
            PostReading::Answer(answer) => answer.error().is_some(),
            PostReading::Rejected(status, _) => status::refuses_the_form(*status),
            _ => false,
        };
        if is_new || !is_refused || !self.era.is_open() {
            return false;
        }
        if self.era.is_guessed() {
            // A guess is checked once more, and not for ever.
            renewal.is_discovered = true;
        }
        self.era.forget();
        self.era.gave_no_session();
        cx.then(SessionEffect::TryHandshake);
        true
    }

    /// Asks for the era after a result of `initialize` that begins no session of a known revision, if nothing
    /// else has shown that the server has sessions. Returns whether it asks.
    pub(crate) fn agreed_on_no_session(&mut self, cx: &mut Context, answer: &Answer) -> bool {
        let is_first = self.era.asked_for_a_session_first();
        let Answer::Result(_) = answer else { return false };
        let Some(renewal) = self.renewal() else { return false };
        if !is_first || renewal.is_discovered || !self.era.is_open() {
            return false;
        }
        self.era.gave_no_session();
        cx.then(SessionEffect::TryHandshake);
        true
    }

    /// Asks a modern server again, once, after it refused the revision that it names itself: the refusal may
    /// have been temporary.
    fn ask_once_more(&mut self, cx: &mut Context, answer: Option<Answer>) {
        let Some(renewal) = self.renewal() else { return };
        if std::mem::replace(&mut renewal.is_asked_again, true) {
            let words = answer.as_ref().and_then(Answer::error).map(|it| it.message);
            return self.fail_incompatible(cx, words.unwrap_or_default());
        }
        cx.then(SessionEffect::TryHandshake);
    }

    fn fail_incompatible(&mut self, cx: &mut Context, words: String) {
        let words = cx.secrets.masked(&words);
        let ending = Ending::new(Kind::Incompatible, Reason::Said(words.into()));
        self.fail(cx, ending);
    }
}

/// How many useless answers to `server/discover` there must be before `initialize` is tried.
const USELESS_ANSWERS: u32 = 3;
/// How long `server/discover` must have been useless before `initialize` is tried.
const USELESS_FOR: Duration = Duration::from_millis(1500);
