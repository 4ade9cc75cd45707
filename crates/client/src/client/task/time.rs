//! How long a task is followed, and how often it is asked for.

use std::time::Duration;

use ridethrough_core::backoff::Window;
use ridethrough_core::rng::Rng;
use ridethrough_core::{CallOptions, Extension};
use tokio::time::Instant;

/// The time that a task may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Time {
    pub(super) began: Instant,
    /// When that time is over, if it has an end.
    pub(super) until: Option<Instant>,
    /// The extension of that time when the task makes progress.
    extension: Option<Extension>,
    /// How long a task without such an end may stay without an answer.
    pub(super) silence: Duration,
}

impl Time {
    /// Returns the time of a call, which its task shares.
    pub(super) fn of_call(options: &CallOptions, usual: Duration) -> Self {
        let began = Instant::now();
        let until = began.checked_add(options.deadline.unwrap_or(usual));
        Self { began, until, extension: options.extension, silence: usual }
    }

    pub(super) fn of_wait(deadline: Option<Duration>, usual: Duration) -> Self {
        let began = Instant::now();
        let until = deadline.and_then(|time| began.checked_add(time));
        Self { began, until, extension: None, silence: usual }
    }

    /// Returns the time that is left.
    pub(super) fn left(&self) -> Option<Duration> {
        self.until.map(|until| until.saturating_duration_since(Instant::now()))
    }

    /// Extends the time, because the task has made progress.
    pub(super) fn extend(&mut self) {
        let Some((Extension { by, cap }, until)) = self.extension.zip(self.until) else { return };
        let later = Instant::now().checked_add(by).map_or(until, |later| later.max(until));
        let most = self.began.checked_add(cap).map_or(later, |most| most.max(until));
        self.until = Some(later.min(most));
    }
}

/// The pause before the server is asked again.
#[derive(Debug)]
pub(super) struct Pace {
    asked_for: Duration,
    failures: u32,
    rng: Rng,
}

impl Pace {
    pub(super) const fn new(seed: u64) -> Self {
        Self { asked_for: USUAL, failures: 0, rng: Rng::new(seed) }
    }

    /// Notes an answer of the server, and the interval that it wants.
    pub(super) fn heard(&mut self, asked_for: Option<Duration>) {
        self.asked_for = asked_for.unwrap_or(USUAL).clamp(QUICKEST, SLOWEST);
        self.failures = 0;
    }

    /// Returns the pause before the next question.
    pub(super) const fn next(&self) -> Duration {
        self.asked_for
    }

    /// Returns the pause after a question without an answer. It has jitter, because many clients may lose one
    /// server at once.
    pub(super) fn after_failure(&mut self, hint: Option<Duration>) -> Duration {
        let wait = TROUBLE.half_jitter(self.failures, &mut self.rng);
        self.failures = self.failures.saturating_add(1);
        wait.max(self.asked_for).max(hint.unwrap_or_default()).min(SLOWEST)
    }
}

/// The pause for a server that names no interval.
const USUAL: Duration = Duration::from_secs(1);
/// The shortest pause, for a server that names zero.
const QUICKEST: Duration = Duration::from_millis(100);
/// The longest pause, so that an absurd interval does not stop the questions for ever.
const SLOWEST: Duration = Duration::from_secs(3600);
/// The extra pause after failures, on top of the time that each question waited for the link.
const TROUBLE: Window = Window { first: Duration::from_secs(1), most: Duration::from_secs(30) };

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_servers_pace_is_kept_within_reason() {
        let mut pace = Pace::new(7);
        let mut next = |asked_for| {
            pace.heard(asked_for);
            pace.next()
        };

        assert_eq!(next(None), Duration::from_secs(1));
        assert_eq!(next(Some(Duration::from_secs(5))), Duration::from_secs(5));
        assert_eq!(next(Some(Duration::from_micros(1))), Duration::from_millis(100));
        assert_eq!(next(Some(Duration::from_secs(1 << 40))), Duration::from_secs(3600));
    }

    #[test]
    fn failures_slow_it_down_and_never_undercut_a_hint_or_the_servers_pace() {
        let mut pace = Pace::new(7);
        pace.heard(Some(Duration::from_millis(300)));

        let waits: Vec<Duration> = (0..9).map(|_| pace.after_failure(None)).collect();

        assert!(waits[0] <= Duration::from_secs(1) && waits[8] >= Duration::from_secs(15));
        assert!(waits.iter().all(|wait| *wait <= Duration::from_secs(30)));
        let hint = Duration::from_secs(120);
        assert_eq!(pace.after_failure(Some(hint)), hint);
        pace.heard(Some(Duration::from_secs(60)));
        assert_eq!(pace.after_failure(None), Duration::from_secs(60));
    }

    #[tokio::test(start_paused = true)]
    async fn a_task_that_moves_gets_more_time_under_its_cap() {
        let second = Duration::from_secs(1);
        let extension = Some(Extension { by: 10 * second, cap: 15 * second });
        let options =
            CallOptions { deadline: Some(5 * second), extension, ..CallOptions::default() };
        let mut time = Time::of_call(&options, second);

        time.extend();
        assert_eq!(time.left(), Some(10 * second));
        tokio::time::advance(8 * second).await;
        time.extend();

        assert_eq!(time.left(), Some(7 * second));
    }
}
