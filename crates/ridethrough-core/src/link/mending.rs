//! A stateless server refused the form of a request before it looked at what it asks: the form is mended
//! and the call goes out again, once.
//!
//! ```text
//!   -32022 that names our revision ──▶ sent again
//!   -32020 to a tool ──▶ tools listed anew, so that its headers are right ──▶ sent again
//! ```
//! Everything else that is wrong with a request (-32021, -32601, -32602) is the server's answer.

use bytes::Bytes;
use http::StatusCode;

use super::attempts::Owner;
use super::timers::Timer;
use super::{Link, renewal};
use crate::discovery::{self, Verdict};
use crate::event::{Event, Remedy};
use crate::exchange::{Phase, State, Then, Waiting};
use crate::failure::Delivery;
use crate::ids::{AttemptId, ExchangeId};
use crate::message::code::{HEADER_MISMATCH, UNSUPPORTED_VERSION};
use crate::message::{Answer, Incoming, Json, Message, Params};
use crate::moment::Moment;
use crate::outcome::Reason;
use crate::output::Verb;

/// Tools that are listed for the link itself, page after page.
#[derive(Debug)]
pub(super) struct Relisting {
    attempt: AttemptId,
    wire_id: u64,
    listed: Listed,
    /// When the whole list must be there.
    until: Moment,
}

/// How far a list has come.
#[derive(Clone, Copy, Debug)]
struct Listed {
    pages: u32,
    /// How often it broke off, and began anew.
    breaks: u32,
}

impl Link {
    /// Mends a call that was refused for its form. Returns whether it goes on.
    pub(super) fn mend(
        &mut self,
        now: Moment,
        id: ExchangeId,
        answer: &Answer,
        carrier: Option<AttemptId>,
    ) -> bool {
        let Some(exchange) = self.exchanges.get_mut(&id) else { return false };
        let is_tool = &*exchange.call.method == "tools/call";
        let is_stale = match answer.error().map(|error| error.code) {
            Some(HEADER_MISMATCH) if is_tool => true,
            Some(UNSUPPORTED_VERSION) if names_our_revision(answer) => false,
            _ => return false,
        };
        // A server that has told something of the call has begun it.
        let has_begun = exchange
            .live()
            .is_some_and(|live| matches!(live.phase, Phase::Stream { fruitful: true, .. }));
        if has_begun || std::mem::replace(&mut exchange.ledger.mended, true) {
            return false;
        }
        exchange.ledger.note(Delivery::Refused);
        // The server's words may quote what was sent.
        let reason = Reason::Rule("the server refused the form of the request");
        self.hiccup(now, id, reason, Remedy::Resend { at: now });
        self.release(now, id, carrier);
        match is_stale {
            true => {
                self.wait(now, id, Waiting::Tools);
                self.list_tools(now);
            }
            false => self.let_out(now, id, Then::Send),
        }
        true
    }

    /// Lists the tools for the link itself, unless that is under way.
    fn list_tools(&mut self, now: Moment) {
        if self.relisting.is_none() {
            self.ask_for_tools(now, None, Listed { pages: 0, breaks: 0 }, now + renewal::LIMIT);
        }
    }

    fn ask_for_tools(&mut self, now: Moment, cursor: Option<Json>, listed: Listed, until: Moment) {
        let Some(to) = self.session.ready().map(|ready| ready.address.clone()) else {
            return self.tools_listed(now);
        };
        let cursor = cursor.map(|cursor| ("cursor".to_owned(), cursor));
        let params = Params::new(Some(Json::empty_object().with_members(cursor)), false);
        let wire_id = self.next_wire_id();
        let body = self.body(&params, wire_id, LIST);
        let headers = self.own_headers(LIST);
        let attempt = self.request_with(Owner::Tools, Verb::Post { body }, to, headers);
        self.relisting = Some(Relisting { attempt, wire_id, listed, until });
        self.timers.set(Timer::Tools, Some(until));
    }

    /// The whole answer to our own list.
    pub(super) fn tools_body(&mut self, now: Moment, body: &Bytes) {
        let messages = Incoming::parse(body).map(Incoming::into_messages).unwrap_or_default();
        if !messages.iter().any(|message| self.tools_heard(now, message)) {
            self.tools_listed(now);
        }
    }

    /// A message that may be the answer to our own list. Returns whether it was.
    pub(super) fn tools_heard(&mut self, now: Moment, message: &Message) -> bool {
        #[derive(serde::Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Next {
            #[serde(default)]
            next_cursor: Option<Json>,
        }

        let Some(Relisting { attempt, wire_id, listed, until }) = self.relisting else {
            return false;
        };
        let Message::Response { id: Some(id), answer } = message else { return false };
        if id.number() != Some(wire_id) {
            return false;
        }
        self.drain(attempt);
        let Answer::Result(page) = answer else {
            self.tools_listed(now);
            return true;
        };
        if self.tools.learn(page, listed.pages == 0).is_changed {
            self.tell(Event::ToolsChanged);
        }
        let next = page.read::<Next>().and_then(|next| next.next_cursor);
        let next = next.filter(|cursor| cursor.as_str() != "null" && listed.pages < MOST_PAGES);
        match next {
            Some(cursor) => {
                let listed = Listed { pages: listed.pages + 1, ..listed };
                self.ask_for_tools(now, Some(cursor), listed, until);
            }
            None => self.tools_listed(now),
        }
        true
    }

    /// The list broke off. It only reads: it is asked for again, from its first page.
    pub(super) fn tools_broke(&mut self, now: Moment) {
        match self.relisting {
            Some(Relisting { listed: Listed { breaks, .. }, until, .. })
                if breaks < MOST_BREAKS =>
            {
                self.ask_for_tools(now, None, Listed { pages: 0, breaks: breaks + 1 }, until);
            }
            _ => self.tools_listed(now),
        }
    }

    /// The list took too long.
    pub(super) fn tools_due(&mut self, now: Moment) {
        if let Some(Relisting { attempt, .. }) = self.relisting {
            self.abort(attempt);
        }
        self.tools_listed(now);
    }

    /// The list is over, well or not: those who waited for it go out with what is known.
    pub(super) fn tools_listed(&mut self, now: Moment) {
        self.relisting = None;
        self.timers.set(Timer::Tools, None);
        let is_meant = |waiting: &Waiting| matches!(waiting, Waiting::Tools);
        let waits = |state: &State| matches!(state, State::Waiting(waiting) if is_meant(waiting));
        for id in self.ids_where(|exchange| waits(&exchange.state)) {
            self.let_out_if(now, id, Then::Send, is_meant);
        }
    }
}

fn names_our_revision(answer: &Answer) -> bool {
    matches!(discovery::verdict(StatusCode::BAD_REQUEST, Some(answer)), Verdict::Modern(_))
}

const LIST: &str = "tools/list";
/// A server can list without end.
const MOST_PAGES: u32 = 100;
/// As often as any call that only reads is sent again.
const MOST_BREAKS: u32 = 3;
