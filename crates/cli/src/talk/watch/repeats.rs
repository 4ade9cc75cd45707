//! Merges repeated failures: they are shown when they begin, when the reason changes, at widening intervals,
//! and when they are over.

use std::time::Duration;

use ridethrough::event::{Event, Moment};
use ridethrough::wording;

/// The repeated failure, if there is one.
#[derive(Default)]
pub(super) struct Repeats {
    run: Option<Run>,
}

/// Failures for one reason, one after the other.
struct Run {
    reason: String,
    began: Moment,
    count: u64,
    /// When the run is shown next.
    next: Moment,
    pause: Duration,
}

/// What is shown of an event.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum RepeatTold {
    /// The event's own words.
    AsItIs,
    /// Nothing: it was shown.
    Nothing,
    /// These words instead.
    Words(String),
}

impl Repeats {
    /// Notes an event, and returns what is shown of it.
    pub(super) fn see(&mut self, at: Moment, event: &Event) -> RepeatTold {
        let reason = match event {
            Event::ConnectFailed { failure, .. } => failure.to_string(),
            Event::SessionRenewalFailed { reason, .. } => format!("the handshake failed: {reason}"),
            // The standing stream ends with its connection, and cannot come back before it.
            Event::ListenerLost { .. } if self.run.is_some() => return RepeatTold::Nothing,
            Event::Connected { .. } | Event::SessionReady { .. } => {
                self.run = None;
                return RepeatTold::AsItIs;
            }
            _ => return RepeatTold::AsItIs,
        };
        match &mut self.run {
            Some(run) if run.reason == reason => run.again(at),
            run => {
                let words = format!("{reason}; it is tried again until it goes well");
                let next = at + FIRST;
                *run = Some(Run { reason, began: at, count: 1, next, pause: FIRST });
                RepeatTold::Words(words)
            }
        }
    }
}

impl Run {
    fn again(&mut self, at: Moment) -> RepeatTold {
        self.count += 1;
        if at < self.next {
            return RepeatTold::Nothing;
        }
        self.pause = (self.pause * 2).min(LONGEST);
        self.next = at + self.pause;
        let since = wording::time(at.since(self.began));
        RepeatTold::Words(format!("{} still, {} times in {since}", self.reason, self.count))
    }
}

const FIRST: Duration = Duration::from_secs(10);
const LONGEST: Duration = Duration::from_secs(300);

#[cfg(test)]
mod tests {
    use ridethrough::transport::{Cause, Failure};

    use super::*;

    #[test]
    fn a_server_that_is_down_is_told_when_it_begins_and_at_widening_intervals() {
        let mut repeats = Repeats::default();

        let told: Vec<_> = (0..400)
            .map(|it| {
                (it * 100, repeats.see(Moment::millis(it * 100), &failed(Cause::ConnectRefused)))
            })
            .filter(|(_, told)| *told != RepeatTold::Nothing)
            .collect();

        let words = |text: &str| RepeatTold::Words(text.to_owned());
        assert_eq!(
            told,
            [
                (0, words("connection refused; it is tried again until it goes well")),
                (10_000, words("connection refused still, 101 times in 10.0 s")),
                (30_000, words("connection refused still, 301 times in 30.0 s")),
            ]
        );
    }

    #[test]
    fn another_reason_and_the_end_are_told_at_once() {
        let mut repeats = Repeats::default();
        let at = Moment::millis(1);
        repeats.see(at, &failed(Cause::ConnectRefused));

        let other = repeats.see(at, &failed(Cause::NameUnknown));
        let stream = repeats.see(at, &Event::ListenerLost { retry: at });
        let back = repeats.see(at, &Event::Connected { outage: Duration::from_secs(1) });
        let again = repeats.see(at, &failed(Cause::NameUnknown));

        assert!(matches!(other, RepeatTold::Words(_)) && matches!(again, RepeatTold::Words(_)));
        assert_eq!((stream, back), (RepeatTold::Nothing, RepeatTold::AsItIs));
    }

    fn failed(cause: Cause) -> Event {
        Event::ConnectFailed { failure: Failure::not_sent(cause), next: Moment::millis(1) }
    }
}
