//! Reports how a run goes: a line for each scenario, and on a terminal a line that counts.

use std::io::{self, IsTerminal, Write};

use ridethrough_lab::scenario::Level;
use ridethrough_lab::score::{Finding, Score, Scorecard, Verdict};

use ridethrough_terminal::out::{Colour, is_colourful, painted};

/// The progress of a run.
pub(super) struct Progress {
    total: usize,
    done: usize,
    is_colourful: bool,
    /// Whether there is a terminal for the line that counts.
    is_watched: bool,
}

impl Progress {
    pub(super) fn new(total: usize) -> Self {
        let is_watched = io::stderr().is_terminal();
        Self { total, done: 0, is_colourful: is_colourful(&io::stdout()), is_watched }
    }

    pub(super) fn begin(&self, client: &str) {
        eprintln!("{client}: {} scenarios", self.total);
        self.count();
    }

    /// Reports a scenario that is over.
    pub(super) fn tell(&mut self, score: &Score) {
        self.done += 1;
        self.clear();
        self.say(&line(score, self.is_colourful));
        self.count();
    }

    /// Reports a scenario that was late and was played again.
    pub(super) fn tell_again(&self, score: &Score) {
        self.clear();
        self.say(&format!("again, alone: {}", line(score, self.is_colourful)));
        self.count();
    }

    /// Reports that all scenarios are over.
    pub(super) fn end(&self, card: &Scorecard) {
        self.clear();
        let seconds = card.elapsed_ms / 1e3;
        self.say(&format!("\n{}: {} in {seconds:.1} s\n", card.client, card.counts()));
    }

    fn say(&self, text: &str) {
        let mut out = io::stdout().lock();
        // A reader that closed stdout early is no failure; the exit code still says how the run ended.
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }

    fn count(&self) {
        if self.is_watched {
            eprint!("{} of {} done", self.done, self.total);
        }
    }

    fn clear(&self) {
        if self.is_watched {
            eprint!("\r\x1b[K");
        }
    }
}

/// Returns the outcome of one scenario: one line, and below it what did not hold.
fn line(score: &Score, is_colourful: bool) -> String {
    let colour = match score.verdict {
        Verdict::Fail => Colour::Red,
        Verdict::Soft => Colour::Yellow,
        Verdict::Pass => Colour::Green,
    };
    let verdict = painted(score.verdict.word(), colour, is_colourful);
    let seconds = score.figures.elapsed_ms / 1e3;
    let mut text = format!("{verdict}  {:<4} {} ({seconds:.1} s)\n", score.id, score.title);
    for fault in score.faults() {
        text += &told(fault);
    }
    text
}

fn told(fault: &Finding) -> String {
    let word = match fault.level {
        Level::Ideal => "ideal",
        Level::Must => "must",
    };
    let evidence = harmless(&fault.evidence).replace('\n', "\n           ");
    format!("      {word}: {}\n      seen: {evidence}\n", fault.that)
}

/// Returns a client's text without control codes that deceive a reader of the terminal.
fn harmless(text: &str) -> String {
    text.chars().map(|it| if it.is_control() && it != '\n' { '\u{fffd}' } else { it }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_client_said_cannot_write_over_a_verdict() {
        let evidence = "the error `\x1b[2K\rpass  C6 forged\x07`\n  more".to_owned();
        let that = "it ends".to_owned();
        let fault = Finding { level: Level::Must, that, held: false, is_late: false, evidence };

        let told = told(&fault);

        assert!(told.chars().all(|it| it == '\n' || !it.is_control()), "{told:?}");
        assert!(told.contains("forged"), "{told:?}");
    }
}
