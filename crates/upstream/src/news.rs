//! What people are told while the link recovers: a line when it begins, then lines at widening intervals,
//! and a line when it is over, with the time that was lost. [`Detail`] can add every fault.

use std::collections::BTreeSet;
use std::time::Duration;

use ridethrough_core::answer::words::excerpt;
use ridethrough_core::event::Remedy;
use ridethrough_core::{Event, ExchangeId, Reason};
use tokio::time::Instant;

/// How much people are told. In order: each level includes the one before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Detail {
    /// People are told that the link recovers, at widening intervals, and that it is connected again.
    #[default]
    Summary,
    /// Every fault.
    Faults,
    /// Every event of the link. No event contains a payload or a secret.
    Everything,
}

/// Whether the upstream is in trouble, and when to say so again.
#[derive(Debug, Default)]
pub(crate) struct News {
    trouble: Option<Trouble>,
    tells_each: bool,
    recoveries: u64,
    lost: Duration,
}

#[derive(Debug)]
struct Trouble {
    since: Instant,
    whose: Whose,
    what: String,
    next: Instant,
    pause: Duration,
}

/// What the present trouble is about.
#[derive(Debug)]
enum Whose {
    /// These calls: when the last of them has ended, the trouble is over.
    Calls(BTreeSet<ExchangeId>),
    /// The upstream as a whole.
    Upstream,
}

impl News {
    pub(crate) fn new(detail: Detail) -> Self {
        Self { tells_each: detail == Detail::Faults, ..Self::default() }
    }

    pub(crate) const fn is_in_trouble(&self) -> bool {
        self.trouble.is_some()
    }

    /// Returns how often the link has recovered.
    pub(crate) const fn recoveries(&self) -> u64 {
        self.recoveries
    }

    /// Returns the time that was lost in all.
    pub(crate) const fn lost(&self) -> Duration {
        self.lost
    }

    /// Takes in an event of the link; returns the line that people are shown, if any.
    pub(crate) fn heard(&mut self, now: Instant, event: &Event) -> Option<String> {
        if is_recovery(event) {
            let lost = now - self.trouble.take()?.since;
            self.recoveries += 1;
            self.lost += lost;
            return Some(format!("back after {:.1} s", lost.as_secs_f64()));
        }
        if let Event::FellBack { .. } = event {
            return Some(FELL_BACK.to_owned());
        }
        if let Event::CallEnded { exchange, .. } = event {
            return self.gave_up(now, *exchange);
        }
        let what = excerpt(&trouble(event)?);
        let call = match event {
            Event::Hiccup { exchange, .. } => Some(*exchange),
            _ => None,
        };
        if let Some(trouble) = &mut self.trouble {
            trouble.what.clone_from(&what);
            trouble.whose.add(call);
            return self.tells_each.then_some(what);
        }
        let line = format!("{what}; recovering");
        let whose = call.map_or(Whose::Upstream, |call| Whose::Calls([call].into()));
        self.trouble = Some(Trouble { since: now, whose, what, next: now + FIRST, pause: FIRST });
        Some(line)
    }

    /// Takes in a call that ended without an answer. If nothing else was wrong, there is nothing left to
    /// recover.
    fn gave_up(&mut self, now: Instant, call: ExchangeId) -> Option<String> {
        let Trouble { whose: Whose::Calls(calls), since, what, .. } = self.trouble.as_mut()? else {
            return None;
        };
        if !calls.remove(&call) || !calls.is_empty() {
            return None;
        }
        let lasted = now - *since;
        let line = format!("no answer after {:.1} s: {what}", lasted.as_secs_f64());
        self.trouble = None;
        Some(line)
    }

    /// Returns when the next reminder is due.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.trouble.as_ref().map(|trouble| trouble.next)
    }

    /// Returns the reminder that is due.
    pub(crate) fn remind(&mut self, now: Instant) -> Option<String> {
        let trouble = self.trouble.as_mut()?;
        trouble.pause = (trouble.pause * 2).min(LONGEST);
        trouble.next = now + trouble.pause;
        let lasted = (now - trouble.since).as_secs();
        Some(format!("still recovering after {lasted} s: {}", trouble.what))
    }
}

impl Whose {
    /// Adds a call to the trouble, or the upstream as a whole.
    fn add(&mut self, call: Option<ExchangeId>) {
        match (self, call) {
            (Self::Calls(calls), Some(call)) => drop(calls.insert(call)),
            (whose, None) => *whose = Self::Upstream,
            (Self::Upstream, Some(_)) => {}
        }
    }
}

/// Returns what is wrong, if the event says that something is.
fn trouble(event: &Event) -> Option<String> {
    match event {
        Event::BreakerOpened { .. } => Some("the upstream keeps failing".to_owned()),
        Event::ConnectFailed { failure, .. } => {
            Some(format!("the upstream cannot be reached: {failure}"))
        }
        // Some faults have no words of their own; the remedy tells them.
        Event::Hiccup { call, reason: Reason::Nothing, remedy, .. } => Some(match remedy {
            Remedy::RenewCredentials => format!("the upstream refused the credentials of {call}"),
            Remedy::CheckSession | Remedy::RenewSession => {
                format!("the upstream does not know the session of {call}")
            }
            _ => format!("{call} hit a fault"),
        }),
        Event::Hiccup { call, reason, .. } => Some(format!("{call} hit a fault: {reason}")),
        Event::SessionLost { .. } => Some("the upstream lost the session".to_owned()),
        Event::SessionRenewalFailed { reason, .. } => {
            Some(format!("the upstream gives no session: {reason}"))
        }
        _ => None,
    }
}

/// Whether the event says that the link works again.
const fn is_recovery(event: &Event) -> bool {
    matches!(
        event,
        Event::BreakerClosed
            | Event::CallEnded { kind: None, .. }
            | Event::Connected { .. }
            | Event::SessionReady { .. }
    )
}

const FELL_BACK: &str = "the upstream refuses Streamable HTTP; it is spoken to by HTTP+SSE of 2024-11-05, \
     where a call cannot be resumed";
const FIRST: Duration = Duration::from_secs(5);
/// The longest time between reminders, so that a person who looks at the log of a program that is down for a
/// night still sees why.
const LONGEST: Duration = Duration::from_secs(600);

#[cfg(test)]
mod tests {
    use ridethrough_core::{
        CallName, Carrier, Cause, Delivery, Failure, Generation, Kind, Moment, Version,
    };

    use super::*;

    #[test]
    fn an_outage_is_told_once_then_at_widening_intervals_and_once_when_it_is_over() {
        let (mut news, mut now) = (News::default(), Instant::now());
        let begun = now;

        let first = news.heard(now, &down());
        assert_eq!(
            first.as_deref(),
            Some("the upstream cannot be reached: connection refused; recovering")
        );
        let mut reminded = Vec::new();
        while now < begun + Duration::from_secs(100) {
            now += Duration::from_secs(1);
            assert_eq!(news.heard(now, &down()), None);
            if news.due().is_some_and(|due| due <= now) {
                assert!(news.remind(now).unwrap().starts_with("still recovering after "));
                reminded.push((now - begun).as_secs());
            }
        }
        let back = news.heard(now, &ready());

        assert_eq!(reminded, [5, 15, 35, 75]);
        assert_eq!(back.as_deref(), Some("back after 100.0 s"));
        assert_eq!((news.heard(now, &ready()), news.due()), (None, None));
    }

    #[test]
    fn an_older_way_to_speak_is_told_and_is_no_trouble() {
        let mut news = News::default();

        let line = news.heard(Instant::now(), &Event::FellBack { to: Carrier::HttpSse });

        assert!(line.unwrap().contains("spoken to by HTTP+SSE of 2024-11-05"));
        assert_eq!(news.due(), None);
    }

    /// Before this was fixed, the line ended in the middle of its sentence: `hit a fault: ; recovering`.
    #[test]
    fn a_fault_without_words_of_its_own_is_told_by_what_is_done_about_it() {
        let line = |remedy| {
            let call = CallName { method: "tools/call".into(), tool: Some("deploy".into()) };
            let (exchange, reason) = (ExchangeId::new(1), Reason::Nothing);
            let event = Event::Hiccup { exchange, call, reason, remedy };
            News::default().heard(Instant::now(), &event).unwrap()
        };

        assert_eq!(
            line(Remedy::RenewSession),
            "the upstream does not know the session of tools/call `deploy`; recovering"
        );
        assert_eq!(
            line(Remedy::RenewCredentials),
            "the upstream refused the credentials of tools/call `deploy`; recovering"
        );
    }

    #[test]
    fn a_call_that_is_given_up_is_told_and_is_not_recovered_for_ever() {
        let (mut news, now) = (News::default(), Instant::now());
        let later = now + Duration::from_secs(3);

        news.heard(now, &hiccup(1));
        news.heard(now, &hiccup(2));
        assert_eq!(news.heard(later, &ended(1)), None, "the other goes on");
        let line = news.heard(later, &ended(2));

        let words = "no answer after 3.0 s: tools/call `deploy` hit a fault: connection reset";
        assert_eq!(line.as_deref(), Some(words));
        assert_eq!((news.due(), news.recoveries()), (None, 0));
    }

    #[test]
    fn an_upstream_that_is_down_stays_down_when_a_call_is_given_up() {
        let (mut news, now) = (News::default(), Instant::now());
        news.heard(now, &hiccup(1));
        news.heard(now, &down());

        assert_eq!(news.heard(now, &ended(1)), None);

        assert!(news.is_in_trouble());
        news.heard(now + Duration::from_secs(2), &ready());
        assert_eq!((news.recoveries(), news.lost()), (1, Duration::from_secs(2)));
    }

    #[test]
    fn whoever_wants_to_know_hears_of_every_fault() {
        let (mut news, now) = (News::new(Detail::Faults), Instant::now());

        let told: Vec<_> = (0..3).filter_map(|_| news.heard(now, &down())).collect();

        assert_eq!(told.len(), 3, "{told:?}");
        assert!(told[0].ends_with("; recovering") && told[2].ends_with("connection refused"));
    }

    fn hiccup(exchange: u64) -> Event {
        let reason = Reason::Transport(Failure::unknown(Cause::Reset));
        let (exchange, remedy) = (ExchangeId::new(exchange), Remedy::CheckSession);
        Event::Hiccup { exchange, call: deploy(), reason, remedy }
    }

    fn ended(exchange: u64) -> Event {
        Event::CallEnded {
            exchange: ExchangeId::new(exchange),
            call: deploy(),
            kind: Some(Kind::Exhausted),
            attempts: 3,
            elapsed: Duration::ZERO,
            delivery: Delivery::Unknown,
        }
    }

    fn deploy() -> CallName {
        CallName { method: "tools/call".into(), tool: Some("deploy".into()) }
    }

    fn down() -> Event {
        let failure = Failure::not_sent(Cause::ConnectRefused);
        Event::ConnectFailed { failure, next: Moment::default() }
    }

    fn ready() -> Event {
        Event::SessionReady { generation: Generation::new(1), version: Version::LATEST_LEGACY }
    }
}
