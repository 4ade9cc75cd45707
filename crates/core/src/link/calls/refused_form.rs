//! Mending a call whose form a stateless server refused before it looked at what the call asks: the form is
//! corrected and the call goes out again, once.
//!
//! ```text
//!   -32022 that names our revision ──▶ sent again
//!   -32020 to a tool ──▶ tools listed again, to correct its headers ──▶ sent again
//! ```
//! Any other error about a request (-32021, -32601, -32602) is the server's answer.

use ridethrough_wire::message::code::{HEADER_MISMATCH, UNSUPPORTED_VERSION};
use ridethrough_wire::message::{Answer, Json, Params};

use super::Calls;
use crate::answer::discovery::names_our_revision;
use crate::event::{Event, Remedy};
use crate::exchange::{Awaited, Phase, Purpose, Then, Waiting};
use crate::failure::Delivery;
use crate::ids::{AttemptId, ExchangeId};
use crate::link::HANDSHAKE_LIMIT;
use crate::link::effects::CallEffect;
use crate::link::own_request::OwnRequest;
use crate::moment::Moment;
use crate::outcome::Reason;
use crate::rule::Rule;

/// The progress of a list of tools that the link reads for itself, page by page.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Relisting {
    /// How many pages were read.
    pages: u32,
    /// When the whole list must be there.
    until: Moment,
}

impl Calls {
    /// Mends a call that was refused for its form. Returns whether the call goes on.
    pub(crate) fn mend(
        &mut self,
        id: ExchangeId,
        answer: &Answer,
        carrier: Option<AttemptId>,
    ) -> bool {
        let Some(exchange) = self.all.get_mut(id) else { return false };
        let is_tool = &*exchange.call.method == "tools/call";
        let is_stale = match answer.error().map(|error| error.code) {
            Some(HEADER_MISMATCH) if is_tool && !exchange.own_routing_headers => true,
            Some(UNSUPPORTED_VERSION) if names_our_revision(answer) => false,
            _ => return false,
        };
        if !exchange.is_named {
            return false;
        }
        // A server that sent something about the call, or failed at it, has begun to run it.
        let has_begun = exchange.live().is_some_and(|live| match &live.phase {
            Phase::Asked => false,
            Phase::Body(head) => head.status.is_server_error(),
            Phase::Stream { fruitful, .. } => *fruitful,
        });
        let has_begun = has_begun || exchange.is_later_round() || exchange.counters.redirects > 0;
        if has_begun || std::mem::replace(&mut exchange.counters.mended, true) {
            return false;
        }
        exchange.counters.note(Delivery::Refused);
        // The event names a fixed reason, because the server's words may quote what was sent.
        let reason = Reason::Rule(Rule::RefusedForm);
        self.hiccup(id, reason, Remedy::Resend { at: self.base.cx.now });
        self.release(id, carrier);
        if is_stale {
            self.wait(id, Waiting::Tools);
            self.list_tools();
        } else {
            self.let_out(id, Then::Send)
        }
        true
    }

    /// Lists the tools for the link itself, unless that is under way.
    pub(super) fn list_tools(&mut self) {
        if self.relisting.is_none() {
            self.ask_for_tools(
                None,
                Relisting { pages: 0, until: self.base.cx.now + HANDSHAKE_LIMIT },
            );
        }
    }

    fn ask_for_tools(&mut self, cursor: Option<Json>, relisting: Relisting) {
        self.relisting = Some(relisting);
        let cursor = cursor.map(|cursor| ("cursor".to_owned(), cursor));
        let params = Params::new(Some(Json::empty_object().with_members(cursor)), false);
        let request =
            OwnRequest::new(Purpose::Tools, LIST, relisting.until.since(self.base.cx.now));
        self.ask(OwnRequest { params, ..request });
    }

    /// Takes in a page of the link's own list; `None` if it could not be had.
    pub(crate) fn tools_page(&mut self, answer: Option<&Answer>) {
        #[derive(serde::Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Next {
            #[serde(default)]
            next_cursor: Option<Json>,
        }

        let Some(Relisting { pages, until }) = self.relisting else { return };
        let Some(Answer::Result(page)) = answer else {
            self.tools_listed();
            return self.learning_ended(answer);
        };
        if self.tools.learn(page, pages == 0).is_changed {
            self.base.cx.tell(Event::ToolsChanged);
        }
        let next = page.read::<Next>().and_then(|next| next.next_cursor);
        let next = next.filter(|cursor| cursor.as_str() != "null" && pages < MOST_PAGES);
        match next {
            Some(cursor) => {
                self.ask_for_tools(Some(cursor), Relisting { pages: pages + 1, until });
            }
            None => {
                self.tools_listed();
                self.learning_ended(answer);
            }
        }
    }

    /// Ends the link's own list, complete or not, and lets out the calls that waited for it.
    fn tools_listed(&mut self) {
        self.relisting = None;
        self.base.cx.then(CallEffect::LetOutAll(Awaited::Tools));
    }
}

const LIST: &str = "tools/list";
/// The most pages that the link reads: a server can list without end.
const MOST_PAGES: u32 = 100;
