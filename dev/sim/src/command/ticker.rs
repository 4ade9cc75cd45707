//! Shows the progress of a long run: a bar on a terminal, a line twice a minute in a log.

use std::io::{self, IsTerminal, Write};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Shows progress, after the first two seconds.
pub(super) struct Ticker {
    is_terminal: bool,
    began: Instant,
    told: Mutex<Option<Instant>>,
}

impl Ticker {
    pub(super) fn start() -> Self {
        let is_terminal = io::stderr().is_terminal();
        Self { is_terminal, began: Instant::now(), told: Mutex::new(None) }
    }

    /// Shows that `done` of `of` are done; `what` describes them.
    pub(super) fn tell(&self, done: u64, of: u64, what: impl FnOnce() -> String) {
        self.say(|| progress(done, of, self.began.elapsed(), &what()));
    }

    /// Shows the progress of work without a known end.
    pub(super) fn say(&self, what: impl FnOnce() -> String) {
        let (elapsed, pause) = if self.is_terminal {
            (Duration::from_secs(2), Duration::from_secs(1))
        } else {
            (Duration::from_secs(30), Duration::from_secs(30))
        };
        if self.began.elapsed() < elapsed {
            return;
        }
        let Ok(mut told) = self.told.lock() else { return };
        if told.is_some_and(|told| told.elapsed() < pause) {
            return;
        }
        *told = Some(Instant::now());
        if self.is_terminal {
            eprint!("\r{}\x1b[K", what())
        } else {
            eprintln!("{}", what())
        }
        let _ = io::stderr().flush();
    }

    /// Clears the line for what is printed next, and returns how long the run took.
    pub(super) fn end(self) -> f64 {
        if self.is_terminal && self.told.into_inner().is_ok_and(|told| told.is_some()) {
            eprintln!();
        }
        self.began.elapsed().as_secs_f64()
    }
}

fn progress(done: u64, of: u64, elapsed: Duration, what: &str) -> String {
    let share =
        |whole: u64| (u128::from(whole) * u128::from(done) / u128::from(of.max(1))) as usize;
    let full = share(WIDTH).min(WIDTH as usize);
    let bar = "#".repeat(full) + &"-".repeat(WIDTH as usize - full);
    let left = elapsed.as_secs() * of.saturating_sub(done) / done.max(1);
    let left = match done {
        0 => String::new(),
        _ if left < 120 => format!(", {left} s left"),
        _ => format!(", {} min left", left / 60),
    };
    format!("[{bar}] {:>3} %  {what}{left}", share(100))
}

const WIDTH: u64 = 30;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_grows_and_says_how_long_it_will_take() {
        let at = |done| progress(done, 200, Duration::from_secs(50), "worlds");

        assert_eq!(at(0), "[------------------------------]   0 %  worlds");
        assert_eq!(at(50), "[#######-----------------------]  25 %  worlds, 2 min left");
        assert_eq!(at(100), "[###############---------------]  50 %  worlds, 50 s left");
        assert_eq!(at(200), "[##############################] 100 %  worlds, 0 s left");
    }

    #[test]
    fn a_run_that_became_longer_than_it_was_meant_to_be_has_a_full_bar() {
        assert!(
            progress(3, 2, Duration::ZERO, "worlds").starts_with(&format!("[{}]", "#".repeat(30)))
        );
    }
}
