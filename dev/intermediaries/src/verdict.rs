//! What was seen of one call, and which promise it breaks.

use std::time::Duration;

use serde_json::{Value, json};

use crate::case::{Case, Ended, Tool};

/// A call that was made.
#[derive(Clone, Debug)]
pub(crate) struct Played {
    /// The label of the proxy.
    pub(crate) setup: String,
    pub(crate) case: Case,
    /// How often the client sent it, by the relay before the proxy.
    pub(crate) sends: u32,
    /// How often it arrived at the backend.
    pub(crate) received: u32,
    /// How often it ran, by the backend.
    pub(crate) runs: u32,
    pub(crate) ended: Ended,
    /// Whether a second request was answered, if a read was not.
    pub(crate) second_answered: Option<bool>,
    pub(crate) took: Duration,
}

/// What became of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Read {
    Answered,
    /// No second request is answered either.
    Hopeless,
    /// A second request is answered.
    Lost,
}

impl Played {
    /// Returns the names of the promises that were broken.
    pub(crate) fn broken(&self) -> Vec<&'static str> {
        let broken = [
            (self.ran_twice(), "ran twice"),
            (self.is_denied(), "denied"),
            (self.ended == Ended::Hung, "hung"),
            (self.is_mixed_up(), "another answer"),
            (matches!(self.ended, Ended::NotMade(_)), "not made"),
        ];
        broken.into_iter().filter(|(is_broken, _)| *is_broken).map(|(_, name)| name).collect()
    }

    /// Whether the client had it run more than once: more often than the proxy repeated it by itself.
    pub(crate) fn ran_twice(&self) -> bool {
        self.is_repeated_write() && self.runs > 1 + self.repeats_of_proxy()
    }

    /// Whether both the client and the proxy repeated a write, and it ran more than once. The proxy repeats
    /// what ran, and shows the client only how that repeat was refused.
    pub(crate) fn ran_twice_after_proxy(&self) -> bool {
        self.is_repeated_write() && !self.ran_twice()
    }

    fn is_repeated_write(&self) -> bool {
        self.case.tool == Tool::Pay && self.runs > 1 && self.sends > 1
    }

    /// Whether the proxy repeated it by itself.
    pub(crate) const fn was_repeated_by_proxy(&self) -> bool {
        self.repeats_of_proxy() > 0
    }

    const fn repeats_of_proxy(&self) -> u32 {
        self.received.saturating_sub(self.sends)
    }

    /// Whether the client said that it did not run, and it did.
    pub(crate) const fn is_denied(&self) -> bool {
        matches!(self.ended, Ended::Refused(_)) && self.runs > 0
    }

    fn is_mixed_up(&self) -> bool {
        matches!(&self.ended, Ended::Answered(text) if !text.contains(&self.case.key))
    }

    /// Returns what became of it, if it is a read.
    pub(crate) const fn read(&self) -> Option<Read> {
        match (self.case.tool, &self.ended, self.second_answered) {
            (Tool::Pay, ..) | (_, Ended::NotMade(_), _) => None,
            (_, Ended::Answered(_), _) => Some(Read::Answered),
            (_, _, Some(true)) => Some(Read::Lost),
            _ => Some(Read::Hopeless),
        }
    }

    pub(crate) fn json(&self) -> Value {
        let (ended, said) = self.ended.told();
        json!({
            "proxy": self.setup,
            "way": self.case.way.name(),
            "tool": self.case.tool.name(),
            "era": self.case.era.to_string(),
            "caller": self.case.caller.to_string(),
            "sends": self.sends,
            "received": self.received,
            "runs": self.runs,
            "ended": ended,
            "said": said.chars().take(600).collect::<String>(),
            "secondAnswered": self.second_answered,
            "tookMs": self.took.as_millis(),
            "broken": self.broken(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::{Caller, Era};
    use crate::way::Way;

    fn played(tool: Tool, sends: u32, runs: u32, ended: Ended) -> Played {
        let received = runs.max(sends);
        let key = "k1.".to_owned();
        let case =
            Case { key, way: Way::HalfBody, tool, era: Era::Sessions, caller: Caller::Library };
        let took = Duration::ZERO;
        Played {
            setup: String::new(),
            case,
            sends,
            received,
            runs,
            ended,
            second_answered: None,
            took,
        }
    }

    #[test]
    fn a_repeat_of_the_proxy_is_not_ours() {
        let by_proxy = played(Tool::Pay, 1, 3, Ended::Doubt(String::new()));
        let by_us = played(Tool::Pay, 2, 2, Ended::Answered("paid k1.".to_owned()));
        let of_a_read = played(Tool::Look, 2, 2, Ended::Answered("looked at k1.".to_owned()));

        assert!(by_proxy.was_repeated_by_proxy() && by_proxy.broken().is_empty());
        assert!(!by_us.was_repeated_by_proxy());
        assert_eq!(by_us.broken(), ["ran twice"]);
        assert!(of_a_read.broken().is_empty());
    }

    #[test]
    fn a_repeat_that_a_proxy_provoked_is_named_and_one_beyond_it_is_ours() {
        let mut call = played(Tool::Pay, 2, 2, Ended::Answered("paid k1.".to_owned()));

        // It ran, the proxy's repeat was refused, and ours ran.
        call.received = 3;
        assert!(call.ran_twice_after_proxy() && call.broken().is_empty());
        call.runs = 3;
        assert!(!call.ran_twice_after_proxy() && call.ran_twice());
    }

    #[test]
    fn only_a_call_that_ran_can_be_denied() {
        let denied = played(Tool::Pay, 1, 1, Ended::Refused(String::new()));
        let refused = played(Tool::Pay, 1, 0, Ended::Refused(String::new()));

        assert_eq!(denied.broken(), ["denied"]);
        assert!(refused.broken().is_empty());
    }

    #[test]
    fn an_answer_to_another_call_is_no_answer() {
        let mixed_up = played(Tool::Look, 1, 1, Ended::Answered("looked at k2.".to_owned()));

        assert_eq!(mixed_up.broken(), ["another answer"]);
    }

    #[test]
    fn a_read_is_lost_only_where_a_second_request_is_answered() {
        let mut read = played(Tool::Look, 1, 1, Ended::Doubt(String::new()));

        read.second_answered = Some(false);
        assert_eq!(read.read(), Some(Read::Hopeless));
        read.second_answered = Some(true);
        assert_eq!(read.read(), Some(Read::Lost));
    }
}
