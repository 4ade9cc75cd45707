//! The event streams of the model server, as its event store keeps them.

use std::collections::BTreeMap;
use std::time::Duration;

use ridethrough_core::Moment;
use ridethrough_core::rng::Rng;

use crate::machine::faults::MachineFaults;
use crate::machine::script::{News, Script, event};

/// All streams that can be resumed.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    stored: BTreeMap<u64, Stream>,
    next: u64,
}

/// The events of one request's stream, from the first to its answer.
#[derive(Clone, Debug)]
pub(crate) struct Stream {
    number: u64,
    pub(crate) call: u64,
    pub(crate) session: Option<u64>,
    has_ids: bool,
    retry: Option<Duration>,
    /// When each event happens; the last one is the answer.
    events: Vec<(Moment, String)>,
}

impl Streams {
    /// Plans the stream of a request that ends at `done` with `answer`.
    pub(crate) fn plan(
        &mut self,
        call: u64,
        session: Option<u64>,
        (now, done): (Moment, Moment),
        answer: String,
        (faults, rng): (&MachineFaults, &mut Rng),
    ) -> u64 {
        self.next += 1;
        let has_ids = rng.below(1000) < faults.resumable;
        let polls = has_ids && rng.below(1000) < faults.polling;
        let retry = polls.then(|| Duration::from_millis(rng.below(400)));
        let mut events = vec![(now, String::new())];
        for step in 0..rng.below(4) {
            let at = now + rng.between(Duration::ZERO, done.since(now));
            events.push((at, notification(call, step)));
        }
        events.sort_by_key(|(at, _)| *at);
        events.push((done, answer));
        let stream = Stream { number: self.next, call, session, has_ids, retry, events };
        self.stored.insert(self.next, stream);
        self.next
    }

    /// Returns the stream, and the place in it, that an event id names.
    pub(crate) fn find(&self, event_id: &str) -> Option<(&Stream, usize)> {
        let (number, place) = event_id.split_once('-')?;
        let stream = self.stored.get(&number.parse().ok()?)?;
        Some((stream, place.parse().ok()?))
    }

    pub(crate) fn get(&self, number: u64) -> Option<&Stream> {
        self.stored.get(&number)
    }

    /// Forgets all streams: a restarted server has lost its memory.
    pub(crate) fn forget(&mut self) {
        self.stored.clear();
    }
}

impl Stream {
    /// Returns what a connection gets of this stream from event `from` on, perhaps not to its end.
    pub(crate) fn play(
        &self,
        now: Moment,
        from: usize,
        faults: &MachineFaults,
        rng: &mut Rng,
    ) -> Script {
        let latency = rng.between(Duration::from_micros(200), Duration::from_millis(20));
        let mut script = Script::stream(latency);
        let is_cut = rng.below(1000) < faults.cut_stream;
        let rest = self.events.len().saturating_sub(from);
        let heard = if is_cut { rng.below(rest as u64) as usize } else { rest };
        let mut at = latency;
        for place in from..from + heard {
            let (known, data) = &self.events[place];
            at = at.max(known.since(now) + latency);
            if rng.below(1000) < faults.odd_event {
                script.push(at, self.oddity(place, rng));
            }
            let id = self.has_ids.then(|| format!("{}-{}", self.number, place + 1));
            script.push(at, event(id.as_deref(), data, self.retry.filter(|_| place == 0)));
        }
        if self.has_ids && heard == 0 && from == 0 {
            // A server that is polled sends a priming event before it closes the stream.
            let id = format!("{}-1", self.number);
            script.push(at, event(Some(&id), "", self.retry));
        }
        let end = at + rng.between(Duration::ZERO, Duration::from_millis(50));
        script.push(end, self.ending(is_cut, rng));
        script
    }

    /// Something that a stream should not contain, and that must change nothing.
    fn oddity(&self, place: usize, rng: &mut Rng) -> News {
        match rng.below(4) {
            0 => event(None, "this is not JSON", None),
            1 => event(None, r#"{"jsonrpc":"2.0","id":99999999,"result":{}}"#, None),
            2 => News::Comment,
            // A replay of an event that this connection, or an earlier one, has had.
            _ => {
                let id = self.has_ids.then(|| format!("{}-{}", self.number, place.max(1)));
                event(id.as_deref(), &notification(self.call, 0), None)
            }
        }
    }

    fn ending(&self, is_cut: bool, rng: &mut Rng) -> News {
        use ridethrough_core::{Cause, Failure};

        if is_cut && rng.below(2) == 0 {
            News::Failure(Failure::unknown(Cause::Reset))
        } else {
            News::End
        }
    }
}

fn notification(call: u64, step: u64) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{{"call":{call},"step":{step}}}}}"#
    )
}
