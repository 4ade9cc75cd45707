//! Compares a record with what was promised. Pure: equal records get equal verdicts.

use std::time::Duration;

use ridethrough::error::Kind;

use super::record::{Failed, Record};

/// The verdict on an act.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ActVerdict {
    /// The outcome, with its measurements.
    pub(super) outcome: String,
    /// The claims that did not hold; empty, if the promise held.
    pub(super) broken: Vec<String>,
}

impl ActVerdict {
    pub(super) fn is_held(&self) -> bool {
        self.broken.is_empty()
    }

    /// Returns the verdict on an act that did not end by itself.
    pub(super) fn endless(limit: Duration) -> Self {
        let outcome = format!("no end within {}", seconds(limit));
        Self { broken: vec![format!("the act had {outcome}")], outcome }
    }
}

/// Checks one record, claim by claim.
pub(super) struct Judge<'a> {
    record: &'a Record,
    broken: Vec<String>,
}

impl<'a> Judge<'a> {
    pub(super) const fn of(record: &'a Record) -> Self {
        Self { record, broken: Vec::new() }
    }

    /// Checks a claim; `otherwise` says what is true if it does not hold.
    pub(super) fn claim(&mut self, holds: bool, otherwise: impl Into<String>) {
        if !holds {
            self.broken.push(otherwise.into());
        }
    }

    /// Claims that the call has its own answer, and ran once.
    pub(super) fn answered(&mut self, name: &str) {
        match self.record.end_of(name).map(|end| &end.result) {
            Some(Ok(text)) => self.claim(text == name, format!("`{name}` was answered `{text}`")),
            Some(Err(failed)) => {
                let first = failed.report.lines().next().unwrap_or_default();
                self.claim(false, format!("`{name}` was not answered: {first}"));
            }
            None => self.claim(false, format!("`{name}` never ended")),
        }
        self.ran_once(name);
    }

    /// Claims that the call ended with an error of this kind that says that it may have run, and that it ran
    /// once.
    pub(super) fn in_doubt(&mut self, name: &str, kind: Kind) {
        match self.record.end_of(name).map(|end| &end.result) {
            Some(Ok(_)) => self.claim(false, format!("`{name}` was answered, by whom?")),
            Some(Err(failed)) => self.says_so(name, failed, kind),
            None => self.claim(false, format!("`{name}` never ended")),
        }
        self.ran_once(name);
    }

    fn says_so(&mut self, name: &str, failed: &Failed, kind: Kind) {
        let is_kind = failed.kind == Some(kind);
        self.claim(is_kind, format!("`{name}` ended as {:?}, not {kind:?}", failed.kind));
        self.claim(failed.may_have_run, format!("`{name}` does not say that it may have run"));
    }

    fn ran_once(&mut self, name: &str) {
        let runs = self.record.runs_of(name);
        self.claim(runs == 1, format!("`{name}` ran {runs} times"));
    }

    pub(super) fn within(&mut self, name: &str, limit: Duration) {
        let took = self.record.end_of(name).map_or(Duration::MAX, |end| end.took);
        self.claim(took <= limit, format!("`{name}` took longer than {}", seconds(limit)));
    }

    /// Claims the number of handshakes: each is expensive for a server in trouble.
    pub(super) fn handshakes(&mut self, wanted: usize) {
        let handshakes = self.record.handshakes;
        self.claim(handshakes == wanted, format!("{handshakes} handshakes instead of {wanted}"));
    }

    pub(super) fn verdict(self, outcome: String) -> ActVerdict {
        ActVerdict { outcome, broken: self.broken }
    }
}

/// Returns a time for people.
pub(super) fn seconds(time: Duration) -> String {
    match time.as_secs_f64() {
        whole if time.subsec_nanos() == 0 => format!("{whole} s"),
        least if least < 0.01 => format!("{:.1} ms", least * 1e3),
        short if short < 1.0 => format!("{} ms", time.as_millis()),
        long => format!("{long:.1} s"),
    }
}

/// Returns a count with its noun.
pub(super) fn number(count: usize, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        _ => format!("{count} {what}s"),
    }
}

pub(super) fn how_often(times: u64) -> String {
    match times {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        _ => format!("{times} times"),
    }
}

/// Returns how a call ended, for people.
pub(super) fn how_ended(record: &Record, name: &str) -> String {
    let Some(end) = record.end_of(name) else { return "without end".to_owned() };
    let took = seconds(end.took);
    match &end.result {
        Ok(_) => format!("answered after {took}"),
        Err(failed) if failed.may_have_run => {
            format!("ended after {took} with an error that says it may have run")
        }
        Err(_) => format!("ended after {took} with an error"),
    }
}
