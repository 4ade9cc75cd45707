//! Compares what was seen of a case with the rules.

use serde_json::{Value, json};

use crate::case::{Body, Carrier, Case};
use crate::rules::{self, Loss};
use crate::server::{Server, Speaks};
use crate::tally::{Fault, Tally};

/// The observations of one case.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) runs: u32,
    /// How the odd call ended; `None` if it did not.
    pub(crate) ended: Option<Ended>,
    /// How later calls ended, one after another.
    pub(crate) later: Vec<Result<(), String>>,
    /// Whether the call was sent once more before it ran.
    is_spent: bool,
    refused_probes: u32,
    probes_before_second_run: u32,
    refused_discoveries: Vec<(u16, Option<i64>)>,
}

/// How a call ended, as its caller sees it.
#[derive(Debug)]
pub(crate) enum Ended {
    /// The call ended without an answer.
    Call {
        may_have_run: bool,
        told: String,
    },
    /// The call ended with an error object of the server.
    Error(Value),
    Result(Value),
}

impl Seen {
    pub(crate) fn new(
        server: &Server,
        ended: Option<Ended>,
        later: Vec<Result<(), String>>,
    ) -> Self {
        Self {
            runs: server.runs(crate::server::ODD),
            ended,
            later,
            is_spent: server.is_odd_elsewhere(),
            refused_probes: server.refused_probes(),
            probes_before_second_run: server.probes_before_second_run(),
            refused_discoveries: server.refused_discoveries().to_vec(),
        }
    }

    fn is_recovered(&self) -> bool {
        self.later.last().is_some_and(Result::is_ok)
    }

    fn told(&self) -> String {
        match &self.ended {
            None => "no end".to_owned(),
            Some(Ended::Call { told, .. }) => told.replace('\n', " "),
            Some(Ended::Error(error)) => format!("the server's error {error}"),
            Some(Ended::Result(result)) => format!("the result {result}"),
        }
    }
}

/// Judges a case whose server lives on: nothing runs twice, no run is denied, an answer that names our id is
/// delivered, words are kept, and the next call succeeds.
pub(crate) fn living(tally: &mut Tally, speaks: Speaks, case: &Case, seen: &Seen) {
    let is_lie = count(tally, speaks, case, seen);
    if seen.runs > rules::most_runs(speaks, case) {
        tally.fault(Fault::RanTwice, format!("{case}: {} runs", seen.runs));
    }
    recovered(tally, case, seen);
    delivered(tally, case, seen);
    denied(tally, case, seen, is_lie);
    words(tally, case, seen);
}

/// Judges a case whose session is gone: there is one more run at most, only after another request was refused
/// likewise. A loss in known words is recovered from.
pub(crate) fn lost(tally: &mut Tally, speaks: Speaks, case: &Case, seen: &Seen) {
    let is_lie = count(tally, speaks, case, seen);
    let loss = rules::loss(speaks, case);
    let most = rules::most_runs(speaks, case) + u32::from(loss != Loss::None);
    if seen.runs > most {
        tally.fault(Fault::RanTwice, format!("{case}: {} runs", seen.runs));
    }
    if seen.runs > 1 && !is_lie && seen.probes_before_second_run == 0 {
        tally.fault(Fault::RanTwice, format!("{case}: again, and nothing was asked before"));
    }
    let was_refused = loss != Loss::None && seen.refused_probes > 0;
    denied(tally, case, seen, is_lie || was_refused);
    match loss {
        Loss::None => words(tally, case, seen),
        Loss::Open => {}
        Loss::Suspicious => {
            // A call is sent once more, and not a second time.
            if !is_normal(seen) && !seen.is_spent {
                tally.fault(Fault::NotRecovered, format!("{case}: {}", seen.told()));
            }
            recovered(tally, case, seen);
        }
    }
}

/// Judges a case whose server has left its era: there is one more run at most, only if the refusal means that
/// nothing ran, or if the question for the era is refused likewise.
pub(crate) fn changed(tally: &mut Tally, speaks: Speaks, case: &Case, seen: &Seen) {
    let is_lie = count(tally, speaks, case, seen);
    let is_error = case.body.is_nameless_error() || case.body.is_our_error();
    let code = is_error.then(|| case.words.code());
    let is_refused_alike = seen.refused_discoveries.contains(&(case.status.code, code));
    let may_repeat = is_lie || is_refused_alike || rules::refuses_the_era(case);
    let most = rules::most_runs(speaks, case) + u32::from(may_repeat);
    if seen.runs > most {
        tally.fault(Fault::RanTwice, format!("{case}: {} runs", seen.runs));
    }
    recovered(tally, case, seen);
    denied(tally, case, seen, may_repeat);
    if !may_repeat && seen.runs == 1 {
        delivered(tally, case, seen);
        // The words of a redirect give way to those of the server that it led to.
        if !rules::redirects(case) {
            words(tally, case, seen);
        }
    }
}

/// Judges an odd answer to a resume, after the stream of the call was cut: no such answer lessens the doubt.
pub(crate) fn resumed(tally: &mut Tally, case: &Case, seen: &Seen) {
    tally.cases += 1;
    hung(tally, case, seen);
    if seen.runs != 1 {
        tally.fault(Fault::RanTwice, format!("{case}: {} runs", seen.runs));
    }
    recovered(tally, case, seen);
    denied(tally, case, seen, false);
    let is_answer = case.status.code == 200
        && case.names_our_id()
        && case.body != Body::ErrorOursAsText
        && case.carrier == Carrier::Body;
    match &seen.ended {
        Some(Ended::Call { .. }) if is_answer => {
            tally.fault(Fault::NotDelivered, format!("{case}: {}", seen.told()));
        }
        Some(Ended::Error(error)) if *error != case.error() => {
            tally.fault(Fault::AnotherAnswer, format!("{case}: {}", seen.told()));
        }
        Some(Ended::Result(result)) if *result != case.result() => {
            tally.fault(Fault::AnotherAnswer, format!("{case}: {}", seen.told()));
        }
        _ => {}
    }
}

/// Counts the case. Returns whether the server lied by a status, or by refusing the form.
fn count(tally: &mut Tally, speaks: Speaks, case: &Case, seen: &Seen) -> bool {
    let is_lie = rules::is_lie(case) || rules::refuses_the_form(speaks, case);
    assert!(seen.runs > 0, "{case}: the tool never ran");
    tally.cases += 1;
    tally.lies += usize::from(is_lie);
    tally.lies_believed += usize::from(is_lie && seen.runs > 1);
    hung(tally, case, seen);
    is_lie
}

fn hung(tally: &mut Tally, case: &Case, seen: &Seen) {
    if seen.ended.is_none() {
        tally.fault(Fault::Hung, case.to_string());
    }
}

fn recovered(tally: &mut Tally, case: &Case, seen: &Seen) {
    if !seen.is_recovered() {
        let last = seen.later.last().and_then(|later| later.as_ref().err());
        let last = last.map_or_else(|| "no later call".to_owned(), |it| it.replace('\n', " "));
        tally.fault(Fault::NotRecovered, format!("{case}: {last}"));
    }
}

/// Checks that an answer that names our id is delivered, and no other.
fn delivered(tally: &mut Tally, case: &Case, seen: &Seen) {
    let is_right = match &seen.ended {
        None => return,
        Some(Ended::Call { .. }) => {
            if rules::must_be_delivered(case) {
                tally.fault(Fault::NotDelivered, format!("{case}: {}", seen.told()));
            }
            return;
        }
        // An error without an id, in answer to our request, may count as its answer.
        Some(Ended::Error(error)) => {
            (case.body.is_nameless_error() || case.body.is_our_error()) && *error == case.error()
        }
        Some(Ended::Result(result)) => {
            let is_meant = case.body.is_our_result() || case.body == Body::ResultNoId;
            is_meant && *result == case.result()
        }
    };
    if !is_right {
        tally.fault(Fault::AnotherAnswer, format!("{case}: {}", seen.told()));
    }
}

fn denied(tally: &mut Tally, case: &Case, seen: &Seen, may_be_denied: bool) {
    if let Some(Ended::Call { may_have_run: false, .. }) = &seen.ended
        && !may_be_denied
    {
        tally.fault(Fault::Denied, format!("{case}: {}", seen.told()));
    }
}

fn words(tally: &mut Tally, case: &Case, seen: &Seen) {
    let Some(Ended::Call { told, .. }) = &seen.ended else { return };
    // Answers that must be delivered are counted by `delivered`.
    if rules::must_be_delivered(case) {
        return;
    }
    // The words of a redirect give way to those of the refusal where it led: the replica without the session.
    let is_overruled = rules::redirects(case) && seen.is_spent;
    if !is_overruled && rules::must_keep_words(case) && !told.contains(&case.marker()) {
        tally.fault(Fault::WordsLost, format!("{case}: {}", seen.told()));
    }
    if rules::must_keep_challenge(case) && !told.contains(&case.challenge_marker()) {
        tally.fault(Fault::ChallengeLost, format!("{case}: {}", seen.told()));
    }
}

/// Whether the call ended as if nothing had happened.
fn is_normal(seen: &Seen) -> bool {
    let text = format!("ran {}", crate::server::ODD);
    let content = json!([{"type": "text", "text": text}]);
    matches!(&seen.ended, Some(Ended::Result(result)) if result["content"] == content)
}
