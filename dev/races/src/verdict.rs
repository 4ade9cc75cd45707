//! The facts of a race, and whether they are what is promised.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use crate::authorization::{Reply, Sent};
use crate::process::{Heard, ProcessNumber};
use crate::server::Seen;

/// A way to race.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Way {
    /// Nobody is killed; a refresh token that is sent twice ends the login.
    Calm,
    /// Processes are killed; a refresh token that is sent twice is forgiven.
    Forgiven,
    /// Processes are killed; a refresh token that is sent twice ends the login.
    Strict,
}

/// The facts of a race.
pub(crate) struct Facts {
    pub(crate) way: Way,
    pub(crate) time: Duration,
    pub(crate) token_life: Duration,
    pub(crate) seen: Seen,
    pub(crate) heard: Heard,
    pub(crate) killed: BTreeMap<ProcessNumber, Duration>,
    /// Requests to the token endpoint after a login had ended, and before the next.
    pub(crate) asked_in_vain: usize,
}

impl Facts {
    /// Returns every promise that was broken, in words.
    pub(crate) fn broken(&self) -> Vec<String> {
        let mut broken = Vec::new();
        let mut expect = |holds: bool, otherwise: String| {
            if !holds {
                broken.push(otherwise);
            }
        };
        let Seen { logins, ended, answered, .. } = self.seen;
        let ends = if self.way == Way::Strict { ended } else { 0 };
        expect(ended == ends, format!("{ended} logins were ended"));
        expect(logins == ends + 1, format!("{logins} logins, {} expected", ends + 1));
        for (first, second) in self.sent_twice_for_nothing() {
            let Sent { token, by, at, .. } = second;
            let before = first.by;
            broken.push(format!("{by:?} sent {token} at {at:?}, which {before:?} had sent"));
        }
        let mut expect = |holds: bool, otherwise: String| {
            if !holds {
                broken.push(otherwise);
            }
        };
        let refused = self.replies(Reply::InvalidGrant);
        expect((refused == 0) == (ends == 0), format!("{refused} refreshes were refused"));
        expect(self.asked_in_vain == 0, format!("{} asked in vain", self.asked_in_vain));
        let failed = &self.heard.failed;
        expect(failed.is_empty(), format!("{} calls failed: {:#?}", failed.len(), first(failed)));
        let refused = self.heard.unauthorized;
        expect(ends > 0 || refused == 0, format!("{refused} calls ended without a login"));
        for (process, told) in &self.heard.told {
            let is_once = told.len() as u64 <= ends;
            expect(is_once, format!("{process:?} told {} times to log in", told.len()));
        }
        let least = self.time.as_secs() / self.token_life.as_secs() / 2;
        let renewed = self.replies(Reply::Granted);
        expect(renewed >= least, format!("only {renewed} refreshes: the race shows nothing"));
        expect(answered > 0, "no call was answered: the race shows nothing".to_owned());
        let is_lossy = self.way == Way::Calm || self.lost_answers() > 0;
        expect(is_lossy, "no answer was lost: the race shows nothing".to_owned());
        broken
    }

    /// Returns how often a refresh token was sent again because its answer was lost.
    fn lost_answers(&self) -> usize {
        self.sent_again().filter(|(first, second)| self.is_lost(first, second)).count()
    }

    fn sent_twice_for_nothing(&self) -> Vec<(&Sent, &Sent)> {
        self.sent_again().filter(|(first, second)| !self.is_lost(first, second)).collect()
    }

    /// Whether one of the two processes was dead when the second use was recorded. A request of a dead
    /// process may be recorded after that of a living one.
    fn is_lost(&self, first: &Sent, second: &Sent) -> bool {
        let was_dead = |sent: &Sent| self.killed.get(&sent.by).is_some_and(|at| *at <= second.at);
        was_dead(first) || was_dead(second)
    }

    /// Returns each use of a refresh token but the first, with the use before it.
    fn sent_again(&self) -> impl Iterator<Item = (&Sent, &Sent)> {
        let mut last: BTreeMap<&str, &Sent> = BTreeMap::new();
        let uses = self.seen.sent.iter();
        uses.filter_map(move |sent| last.insert(&sent.token, sent).map(|before| (before, sent)))
    }

    fn replies(&self, reply: Reply) -> u64 {
        self.seen.sent.iter().filter(|sent| sent.reply == reply).count() as u64
    }
}

fn first(failed: &[String]) -> &[String] {
    &failed[..failed.len().min(5)]
}

/// Prints the figures, in one line.
impl fmt::Display for Facts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Seen { answered, refused, logins, ended, .. } = &self.seen;
        let told: usize = self.heard.told.values().map(Vec::len).sum();
        write!(
            f,
            "{:?}: {} s, {answered} calls answered, {} failed, {} without a login; {} refreshes, {} sent \
             again after a lost answer, {} for nothing; {} processes killed; {logins} logins, {ended} \
             ended, told {told} times; {refused} requests with a token that had ended",
            self.way,
            self.time.as_secs(),
            self.heard.failed.len(),
            self.heard.unauthorized,
            self.seen.sent.len(),
            self.lost_answers(),
            self.sent_twice_for_nothing().len(),
            self.killed.len(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: ProcessNumber = ProcessNumber::new(1);
    const TWO: ProcessNumber = ProcessNumber::new(2);

    #[test]
    fn a_race_without_kills_must_send_each_token_once() {
        assert!(facts(Way::Calm, &[("a", ONE, 1), ("b", TWO, 3)]).broken().is_empty());
        assert_eq!(facts(Way::Calm, &[("a", ONE, 1), ("a", TWO, 3)]).broken().len(), 1);
    }

    #[test]
    fn a_token_may_be_sent_again_by_another_once_its_sender_is_dead() {
        let mut facts = facts(Way::Forgiven, &[("a", ONE, 1), ("a", TWO, 3)]);
        facts.killed.insert(ONE, Duration::from_secs(2));
        assert!(facts.broken().is_empty());

        facts.killed.insert(ONE, Duration::from_secs(4));
        assert!(!facts.broken().is_empty(), "it was alive");
    }

    #[test]
    fn a_third_process_must_not_send_what_a_living_one_has_sent() {
        let three = ProcessNumber::new(3);
        let mut facts = facts(Way::Forgiven, &[("a", ONE, 1), ("a", TWO, 3), ("a", three, 4)]);
        facts.killed.insert(ONE, Duration::from_secs(2));

        assert_eq!(facts.broken().len(), 1);
    }

    #[test]
    fn each_process_tells_once_for_each_login_that_ended() {
        let mut facts = facts(Way::Strict, &[("a", ONE, 1), ("a", TWO, 3)]);
        facts.killed.insert(ONE, Duration::from_secs(2));
        facts.seen.sent[1].reply = Reply::InvalidGrant;
        (facts.seen.ended, facts.seen.logins) = (1, 2);
        facts.heard.told.insert(TWO, vec![Duration::from_secs(3)]);
        assert!(facts.broken().is_empty());

        facts.heard.told.insert(TWO, vec![Duration::from_secs(3); 2]);
        assert_eq!(facts.broken().len(), 1);
    }

    #[test]
    fn a_race_in_which_nothing_happens_shows_nothing() {
        assert!(!facts(Way::Calm, &[]).broken().is_empty());
        assert!(!facts(Way::Forgiven, &[("a", ONE, 1), ("b", TWO, 3)]).broken().is_empty());
    }

    fn facts(way: Way, sent: &[(&str, ProcessNumber, u64)]) -> Facts {
        let sent = sent.iter().map(|(token, by, at)| Sent {
            token: (*token).to_owned(),
            by: *by,
            at: Duration::from_secs(*at),
            reply: Reply::Granted,
        });
        let sent = sent.collect();
        Facts {
            way,
            time: Duration::from_secs(4),
            token_life: Duration::from_secs(2),
            seen: Seen { answered: 1, refused: 0, logins: 1, ended: 0, sent },
            heard: Heard::default(),
            killed: BTreeMap::new(),
            asked_in_vain: 0,
        }
    }
}
