//! The one loop of a bridge, which passes on everything that comes from either side.
//!
//! It never waits for one thing while another could go on. Requests of the host run side by side. What the
//! host does not read is bounded; at the bound nothing more is taken in. Notifications of the host that the
//! upstream does not take are bounded too (`held`).
//!
//! ```text
//!   lines ──▶ held ──▶ calls ──────▶ ┌──────────┐
//!             rounds  listens        │ upstream │
//!   outbox ◀─ greeting  host ◀────── └──────────┘ effects
//! ```

mod ending;
mod greet;
mod listening;
mod modern;
mod pass;

use std::collections::BTreeSet;
use std::io;

use futures_util::FutureExt;
use ridethrough::event::{Delivered, Inbox};
use ridethrough_core::QuestionId;
use ridethrough_upstream::{Ask, Asks, Settings, Upstream, UpstreamNews};
use ridethrough_wire::line_buffer::Line;
use ridethrough_wire::message::MOST_LINE;
use tokio::task::coop::consume_budget;
use tokio::time::{Instant, sleep_until};

use crate::calls::{Calls, Finished};
use crate::greeting::Greeting;
use crate::held::Held;
use crate::host::Host;
use crate::lines::{Lines, Source};
use crate::listens::Listens;
use crate::outbox::{Outbox, Sink};
use crate::own_requests::{OwnAnswer, OwnRequests};
use crate::rounds::Rounds;

pub(crate) struct Router {
    lines: Lines,
    outbox: Outbox,
    /// Messages of the host that wait for room at the upstream.
    held: Held,
    host: Host,
    /// Whether the host writes no more.
    has_host_left: bool,
    /// The host's `initialize` or `server/discover` that has no answer yet.
    greeting: Option<Greeting>,
    calls: Calls,
    rounds: Rounds,
    listens: Listens,
    own_requests: OwnRequests,
    /// The upstream's questions that were sent to the host and have no answer.
    questions: BTreeSet<QuestionId>,
    inbox: Inbox,
    upstream: Upstream,
    asks: Asks,
    /// How many inputs were handled since the last look at the other sources.
    in_a_row: usize,
}

/// The input that the loop woke up for.
enum Woken {
    Asked(Ask),
    Delivered(Delivered),
    Finished(Finished),
    GreetingDue,
    HeldDue,
    Line(Option<Line>),
    Noticed,
    OwnAnswer(OwnAnswer),
    RoundsDue,
    Upstream(UpstreamNews),
    Written(io::Result<()>),
}

impl Router {
    pub(crate) fn new(settings: Settings, asks: Asks, source: Source, sink: Sink) -> Self {
        Self {
            lines: Lines::new(source, MOST_LINE),
            outbox: Outbox::new(sink, settings.masker.clone()),
            held: Held::default(),
            host: Host::default(),
            has_host_left: false,
            greeting: None,
            calls: Calls::default(),
            rounds: Rounds::default(),
            listens: Listens::default(),
            own_requests: OwnRequests::default(),
            questions: BTreeSet::new(),
            inbox: settings.client.inbox(),
            upstream: Upstream::new(settings),
            asks,
            in_a_row: 0,
        }
    }

    /// Serves the host until it closes its end; fails when the host reads no more.
    pub(crate) async fn serve(&mut self) -> io::Result<()> {
        loop {
            // A host that always has more to say must not keep other tasks from the thread.
            consume_budget().await;
            match self.wait().await {
                Woken::Line(None) => return Ok(()),
                Woken::Written(Err(error)) => return Err(error),
                woken => self.handle(woken),
            }
        }
    }

    /// Waits for the next input. Progress comes before the answer it leads to; writing comes last, so that
    /// messages that arrive together are written together.
    async fn wait(&mut self) -> Woken {
        self.in_a_row += 1;
        if self.in_a_row.is_multiple_of(CROWD)
            && let Some(woken) = self.look_around()
        {
            return woken;
        }
        let is_open = !self.outbox.is_full();
        // When the bridge ends, only the answers of open calls are left, and all of them must be written.
        let is_answering = is_open || self.upstream.is_ending();
        let is_listening = is_open && self.is_listening();
        let greet_by = self.greeting.as_ref().map(|it| it.by);
        let (held_until, rounds_at) = (self.held.until(), self.rounds.due());
        tokio::select! {
            biased;
            Some(delivered) = self.inbox.next(), if is_open => Woken::Delivered(delivered),
            Some(finished) = self.calls.next(), if is_answering && !self.calls.is_empty() => {
                Woken::Finished(finished)
            }
            Some(()) = self.held.notices.next() => Woken::Noticed,
            Some(answer) = self.own_requests.next() => Woken::OwnAnswer(answer),
            line = self.lines.next(), if is_listening => Woken::Line(line),
            news = self.upstream.next(is_open) => Woken::Upstream(news),
            Some(ask) = self.asks.recv() => Woken::Asked(ask),
            () = at(held_until) => Woken::HeldDue,
            () = at(greet_by) => Woken::GreetingDue,
            // A full outbox has room for rounds: each call is answered once before its host comes back, and a
            // call that is given up writes nothing.
            () = at(rounds_at) => Woken::RoundsDue,
            written = self.outbox.drive() => Woken::Written(written),
        }
    }

    /// Looks at one of the other sources first, each in turn, so that a source that always has input does not
    /// delay the others.
    fn look_around(&mut self) -> Option<Woken> {
        let is_open = !self.outbox.is_full();
        match self.in_a_row / CROWD % 9 {
            0 => self.outbox.drive().now_or_never().map(Woken::Written),
            1 => self.asks.try_recv().ok().map(Woken::Asked),
            2 => self.held.notices.next().now_or_never().flatten().map(|()| Woken::Noticed),
            3 => self.upstream.next(is_open).now_or_never().map(Woken::Upstream),
            4 => {
                let is_due = self.greeting.as_ref().is_some_and(|it| it.by <= Instant::now());
                is_due.then_some(Woken::GreetingDue)
            }
            5 => self.own_requests.next().now_or_never().flatten().map(Woken::OwnAnswer),
            6 => {
                let is_due = self.rounds.due().is_some_and(|due| due <= Instant::now());
                is_due.then_some(Woken::RoundsDue)
            }
            _ if !is_open => None,
            7 => self.calls.next().now_or_never().flatten().map(Woken::Finished),
            _ if !self.is_listening() => None,
            _ => self.lines.next().now_or_never().map(Woken::Line),
        }
    }

    /// Whether more of the host's messages are taken in.
    fn is_listening(&self) -> bool {
        self.held.is_empty() && !self.has_host_left
    }

    fn handle(&mut self, woken: Woken) {
        match woken {
            Woken::Asked(ask) => self.tell_gauge(ask),
            Woken::Delivered(delivered) => self.hand_over(delivered),
            Woken::Finished(finished) => self.finish(finished),
            Woken::GreetingDue => self.greet_without_upstream(),
            Woken::HeldDue | Woken::Noticed => self.take_held(Some(Instant::now())),
            Woken::Line(Some(line)) => self.take_line(line),
            // `serve` handles these two before.
            Woken::Line(None) | Woken::Written(_) => {}
            Woken::OwnAnswer(answer) => self.own_request_is_answered(answer),
            Woken::RoundsDue => self.rounds_are_due(),
            Woken::Upstream(news) => {
                self.upstream.take_in(news);
                self.carry_out();
            }
        }
    }

    fn tell_gauge(&self, ask: Ask) {
        self.upstream.tell_gauge(ask, |snapshot| {
            snapshot.dropped_notifications = self.held.notices.dropped();
            snapshot.in_flight = self.calls.oldest(Instant::now());
            snapshot.in_flight_count = self.calls.count();
        });
    }
}

async fn at(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

/// How many inputs are handled before the other sources are looked at.
const CROWD: usize = 32;

#[cfg(test)]
mod tests;
