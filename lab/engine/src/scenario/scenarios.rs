//! The scenarios of the lab, and those that a user adds.

use super::{Scenario, Unreadable};

/// Scenarios in order.
#[derive(Clone, Debug)]
pub struct Scenarios(Vec<Scenario>);

/// A name that no scenario and no group has, or no name at all.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no scenario `{0}`")]
pub struct UnknownScenario(pub String);

impl Scenarios {
    /// Returns the scenarios that come with the lab.
    ///
    /// # Errors
    ///
    /// Fails if a file is not a scenario, which a test of the lab rules out.
    pub fn ours() -> Result<Self, Unreadable> {
        let scenarios: Result<_, _> = FILES.iter().map(|text| Scenario::read(text)).collect();
        Self::new(scenarios?)
    }

    /// Sorts these scenarios by their ids.
    ///
    /// # Errors
    ///
    /// Fails if two have one id.
    pub fn new(mut scenarios: Vec<Scenario>) -> Result<Self, Unreadable> {
        scenarios.sort_by_key(|scenario| place(&scenario.id));
        let twice = scenarios.windows(2).find(|pair| place(&pair[0].id) == place(&pair[1].id));
        match twice {
            Some(pair) => {
                let what = format!("`{}` has the same id", pair[0].title);
                Err(Unreadable::Sense { id: pair[1].id.clone(), what })
            }
            None => Ok(Self(scenarios)),
        }
    }

    /// Returns all scenarios.
    pub fn all(&self) -> &[Scenario] {
        &self.0
    }

    /// Returns the scenario with this id, ignoring case.
    ///
    /// # Errors
    ///
    /// Fails if there is none.
    pub fn find(&self, id: &str) -> Result<&Scenario, UnknownScenario> {
        let found = self.0.iter().find(|scenario| scenario.id.eq_ignore_ascii_case(id));
        found.ok_or_else(|| UnknownScenario(id.to_owned()))
    }

    /// Returns the scenarios that ids and letters of groups name: `A,D4`.
    ///
    /// # Errors
    ///
    /// Fails at the first word that names none, and if there is no word.
    pub fn pick(&self, words: &str) -> Result<Vec<&Scenario>, UnknownScenario> {
        let words: Vec<_> = words.split(',').map(str::trim).filter(|it| !it.is_empty()).collect();
        if words.is_empty() {
            return Err(UnknownScenario(String::new()));
        }
        for word in &words {
            if !self.0.iter().any(|scenario| is_meant(scenario, word)) {
                return Err(UnknownScenario((*word).to_owned()));
            }
        }
        let picked = self.0.iter().filter(|it| words.iter().any(|word| is_meant(it, word)));
        Ok(picked.collect())
    }
}

/// Returns the sort key of an id: `A10` comes after `A9`.
fn place(id: &str) -> (String, u64) {
    let (letter, number) = id.split_at(1);
    (letter.to_owned(), number.parse().unwrap_or(u64::MAX))
}

fn is_meant(scenario: &Scenario, word: &str) -> bool {
    let is_group = word.len() == 1 && scenario.id[..1].eq_ignore_ascii_case(word);
    is_group || scenario.id.eq_ignore_ascii_case(word)
}

/// The files, which a test compares with the folder.
const FILES: &[&str] = &[
    include_str!("../../scenarios/a01-resume-accepted-and-dropped.toml"),
    include_str!("../../scenarios/a02-cut-after-an-event-id.toml"),
    include_str!("../../scenarios/a03-clean-end-after-an-event-id.toml"),
    include_str!("../../scenarios/a04-cut-without-an-event-id.toml"),
    include_str!("../../scenarios/a05-polling-at-the-pace-of-retry.toml"),
    include_str!("../../scenarios/a06-cuts-with-progress.toml"),
    include_str!("../../scenarios/a07-replayed-notifications.toml"),
    include_str!("../../scenarios/a08-resume-refused.toml"),
    include_str!("../../scenarios/a09-reset-within-an-event.toml"),
    include_str!("../../scenarios/a10-the-last-id-counts.toml"),
    include_str!("../../scenarios/b01-429-with-retry-after.toml"),
    include_str!("../../scenarios/b02-503-with-retry-after.toml"),
    include_str!("../../scenarios/b03-bare-503.toml"),
    include_str!("../../scenarios/b04-502-after-the-tool-ran.toml"),
    include_str!("../../scenarios/b05-504-with-a-page.toml"),
    include_str!("../../scenarios/b06-500-with-an-answer.toml"),
    include_str!("../../scenarios/b07-503-on-a-list.toml"),
    include_str!("../../scenarios/b08-503-on-the-resume.toml"),
    include_str!("../../scenarios/b09-429-on-initialize.toml"),
    include_str!("../../scenarios/b10-absurd-retry-after.toml"),
    include_str!("../../scenarios/b11-429-for-ten-callers.toml"),
    include_str!("../../scenarios/b12-502-for-eight-seconds.toml"),
    include_str!("../../scenarios/b13-503-for-eight-seconds.toml"),
    include_str!("../../scenarios/b14-504-for-eight-seconds.toml"),
    include_str!("../../scenarios/b15-520-for-eight-seconds.toml"),
    include_str!("../../scenarios/b16-529-for-eight-seconds.toml"),
    include_str!("../../scenarios/b17-429-for-two-hundred-callers.toml"),
    include_str!("../../scenarios/b18-a-hint-of-an-hour-and-a-healthy-server.toml"),
    include_str!("../../scenarios/b19-500-once-to-a-read.toml"),
    include_str!("../../scenarios/b20-500-for-ever-to-a-read.toml"),
    include_str!("../../scenarios/b21-502-and-calls-that-run-only-once.toml"),
    include_str!("../../scenarios/c01-ten-calls-on-streams.toml"),
    include_str!("../../scenarios/c02-stream-stays-open-after-the-answer.toml"),
    include_str!("../../scenarios/c03-idle-connection-closed.toml"),
    include_str!("../../scenarios/c04-408-on-the-idle-connection.toml"),
    include_str!("../../scenarios/c05-reset-after-the-answer.toml"),
    include_str!("../../scenarios/c06-ten-calls-in-json.toml"),
    include_str!("../../scenarios/c07-more-after-the-answer.toml"),
    include_str!("../../scenarios/c08-reused-connection-dies-under-a-call.toml"),
    include_str!("../../scenarios/c09-closed-after-each-answer-without-a-word.toml"),
    include_str!("../../scenarios/d01-404-in-plain-text.toml"),
    include_str!("../../scenarios/d02-404-for-a-request-that-is-no-call.toml"),
    include_str!("../../scenarios/d03-400-no-valid-session-id.toml"),
    include_str!("../../scenarios/d04-400-with-an-id-of-its-own.toml"),
    include_str!("../../scenarios/d05-200-with-a-session-error.toml"),
    include_str!("../../scenarios/d06-401-session-not-found.toml"),
    include_str!("../../scenarios/d07-ten-callers-lose-the-session.toml"),
    include_str!("../../scenarios/d08-every-session-is-refused.toml"),
    include_str!("../../scenarios/d09-a-tool-says-session-expired.toml"),
    include_str!("../../scenarios/d10-404-on-the-standing-stream-only.toml"),
    include_str!("../../scenarios/d11-410-and-a-handshake-that-fails-once.toml"),
    include_str!("../../scenarios/d12-400-send-initialize-first.toml"),
    include_str!("../../scenarios/e01-lines-end-in-cr.toml"),
    include_str!("../../scenarios/e02-crlf-comes-in-two-pieces.toml"),
    include_str!("../../scenarios/e03-byte-order-mark.toml"),
    include_str!("../../scenarios/e04-characters-in-pieces.toml"),
    include_str!("../../scenarios/e05-bytes-that-are-no-text.toml"),
    include_str!("../../scenarios/e06-events-that-are-no-messages.toml"),
    include_str!("../../scenarios/e07-a-line-without-end.toml"),
    include_str!("../../scenarios/e08-absurd-retry.toml"),
    include_str!("../../scenarios/e09-an-answer-to-somebody-else.toml"),
    include_str!("../../scenarios/e10-a-web-page-for-an-answer.toml"),
    include_str!("../../scenarios/e11-accepted-and-never-answered.toml"),
    include_str!("../../scenarios/e12-half-a-json-body.toml"),
    include_str!("../../scenarios/e13-a-chunk-of-no-size.toml"),
    include_str!("../../scenarios/e14-redirects.toml"),
    include_str!("../../scenarios/e15-heartbeats-and-many-lines.toml"),
    include_str!("../../scenarios/e16-an-answer-in-gzip.toml"),
    include_str!("../../scenarios/e17-a-hundred-answers-of-a-mebibyte.toml"),
    include_str!("../../scenarios/e18-garbage-in-place-of-a-head.toml"),
    include_str!("../../scenarios/e19-an-answer-with-two-lengths.toml"),
    include_str!("../../scenarios/e20-a-head-that-is-too-large.toml"),
    include_str!("../../scenarios/e21-a-web-page-each-time.toml"),
    include_str!("../../scenarios/f01-cancelled-on-a-silent-server.toml"),
    include_str!("../../scenarios/f02-a-cancelled-call-is-let-go.toml"),
    include_str!("../../scenarios/f03-the-time-of-a-call-is-up.toml"),
    include_str!("../../scenarios/f04-heartbeats-do-not-stop-the-clock.toml"),
    include_str!("../../scenarios/f05-cancelled-while-it-waits.toml"),
    include_str!("../../scenarios/f06-an-answer-after-the-cancel.toml"),
    include_str!("../../scenarios/f07-one-slow-call-of-ten.toml"),
    include_str!("../../scenarios/f08-a-caller-who-waits-longer.toml"),
    include_str!("../../scenarios/g01-the-token-is-always-shown.toml"),
    include_str!("../../scenarios/g02-a-token-that-expired.toml"),
    include_str!("../../scenarios/g03-the-token-is-never-printed.toml"),
    include_str!("../../scenarios/g04-a-scope-is-missing.toml"),
    include_str!("../../scenarios/g05-redirected-to-another-origin.toml"),
    include_str!("../../scenarios/g06-a-wrong-token-at-the-door.toml"),
    include_str!("../../scenarios/g07-no-token-is-good-enough-to-listen.toml"),
    include_str!("../../scenarios/h01-no-standing-stream-here.toml"),
    include_str!("../../scenarios/h02-the-standing-stream-is-cut-each-time.toml"),
    include_str!("../../scenarios/h03-news-on-the-standing-stream.toml"),
    include_str!("../../scenarios/h04-the-standing-stream-is-refused-for-a-while.toml"),
    include_str!("../../scenarios/h05-one-standing-stream-at-a-time.toml"),
    include_str!("../../scenarios/h06-garbage-on-the-standing-stream.toml"),
    include_str!("../../scenarios/h07-the-tools-change.toml"),
    include_str!("../../scenarios/h08-news-while-the-stream-was-away.toml"),
    include_str!("../../scenarios/i01-down-at-the-start.toml"),
    include_str!("../../scenarios/i02-restart-between-calls.toml"),
    include_str!("../../scenarios/i03-black-hole.toml"),
    include_str!("../../scenarios/i04-dies-in-a-call.toml"),
    include_str!("../../scenarios/i05-ten-calls-reset.toml"),
    include_str!("../../scenarios/i06-accepts-and-closes.toml"),
    include_str!("../../scenarios/i07-down-for-good.toml"),
    include_str!("../../scenarios/j01-a-server-without-sessions.toml"),
    include_str!("../../scenarios/j02-503-on-discover.toml"),
    include_str!("../../scenarios/j03-429-on-discover.toml"),
    include_str!("../../scenarios/j04-401-on-discover.toml"),
    include_str!("../../scenarios/j05-a-legacy-server-wants-a-session.toml"),
    include_str!("../../scenarios/j06-a-legacy-server-answers-200.toml"),
    include_str!("../../scenarios/j07-upgraded-between-two-calls.toml"),
    include_str!("../../scenarios/j08-rolled-back-between-two-calls.toml"),
    include_str!("../../scenarios/j09-cut-before-the-head.toml"),
    include_str!("../../scenarios/j10-a-lost-read-is-asked-anew.toml"),
    include_str!("../../scenarios/j11-cut-in-the-middle-of-a-stream.toml"),
    include_str!("../../scenarios/j12-a-cancel-closes-the-stream.toml"),
    include_str!("../../scenarios/j13-503-with-retry-after.toml"),
    include_str!("../../scenarios/j14-the-revision-is-refused-once.toml"),
    include_str!("../../scenarios/j15-the-state-of-a-round-comes-back.toml"),
    include_str!("../../scenarios/j16-a-round-is-lost.toml"),
    include_str!("../../scenarios/j17-a-tool-with-a-bad-header.toml"),
    include_str!("../../scenarios/j18-a-header-is-missing.toml"),
    include_str!("../../scenarios/j19-a-subscription-is-cut.toml"),
    include_str!("../../scenarios/j20-no-news-here.toml"),
    include_str!("../../scenarios/j21-500-with-method-not-found.toml"),
    include_str!("../../scenarios/j22-501-to-the-question-for-the-era.toml"),
    include_str!("../../scenarios/j23-403-to-the-question-for-the-era.toml"),
    include_str!("../../scenarios/j24-an-empty-stream-for-the-era.toml"),
    include_str!("../../scenarios/j25-a-close-for-the-era.toml"),
    include_str!("../../scenarios/j26-silence-for-the-era.toml"),
    include_str!("../../scenarios/j27-408-to-the-question-for-the-era.toml"),
    include_str!("../../scenarios/j28-input-that-nobody-asks-for.toml"),
    include_str!("../../scenarios/k01-404-with-the-calls-own-error.toml"),
    include_str!("../../scenarios/k02-503-with-the-calls-own-error.toml"),
    include_str!("../../scenarios/k03-400-with-the-calls-own-error.toml"),
    include_str!("../../scenarios/k04-500-with-the-result.toml"),
    include_str!("../../scenarios/k05-404-with-the-result.toml"),
    include_str!("../../scenarios/k06-404-after-the-tool-ran.toml"),
    include_str!("../../scenarios/k07-410-after-the-tool-ran.toml"),
    include_str!("../../scenarios/k08-400-session-not-found-while-it-lives.toml"),
    include_str!("../../scenarios/k09-500-and-the-session-is-gone.toml"),
    include_str!("../../scenarios/k10-a-session-is-deleted-in-mid-call.toml"),
    include_str!("../../scenarios/k11-session-not-found-is-the-answer.toml"),
    include_str!("../../scenarios/k12-404-session-not-found-with-the-calls-id.toml"),
    include_str!("../../scenarios/k13-a-ping-is-answered-in-any-session.toml"),
    include_str!("../../scenarios/k14-two-replicas-one-call-after-the-other.toml"),
    include_str!("../../scenarios/k15-two-replicas-and-ten-calls-at-once.toml"),
    include_str!("../../scenarios/k16-4xx-after-the-tool-ran.toml"),
    include_str!("../../scenarios/k17-5xx-after-the-tool-ran.toml"),
    include_str!("../../scenarios/k18-stateless-400-after-the-tool-ran.toml"),
    include_str!("../../scenarios/k19-stateless-404-after-the-tool-ran.toml"),
    include_str!("../../scenarios/k20-rolled-back-in-the-middle-of-a-call.toml"),
    include_str!("../../scenarios/k21-the-words-of-a-refusal.toml"),
    include_str!("../../scenarios/k22-a-refusal-that-echoes-the-token.toml"),
    include_str!("../../scenarios/k23-hints-of-tools-after-a-renewed-session.toml"),
    include_str!("../../scenarios/k24-a-session-that-was-made-on-a-guess.toml"),
    include_str!("../../scenarios/k25-a-guess-is-forgotten-after-a-minute.toml"),
    include_str!("../../scenarios/k26-http-sse-could-not-find-session-after-the-tool-ran.toml"),
    include_str!("../../scenarios/k27-http-sse-500-after-the-tool-ran.toml"),
    include_str!("../../scenarios/k28-pages-of-4xx-after-the-tool-ran.toml"),
    include_str!("../../scenarios/k29-pages-of-4xx-without-sessions-after-the-tool-ran.toml"),
    include_str!("../../scenarios/k30-redirected-to-a-page-after-the-tool-ran.toml"),
    include_str!("../../scenarios/k31-401-without-a-challenge-after-the-tool-ran.toml"),
    include_str!("../../scenarios/k32-503-with-retry-after-after-the-tool-ran.toml"),
    include_str!("../../scenarios/k33-503-that-says-that-nothing-ran.toml"),
    include_str!("../../scenarios/k34-a-caller-repeats-what-is-in-doubt.toml"),
    include_str!("../../scenarios/k35-a-caller-has-looked-and-repeats.toml"),
    include_str!("../../scenarios/l01-a-login-and-nothing-goes-wrong.toml"),
    include_str!("../../scenarios/l02-a-second-client-finds-the-login.toml"),
    include_str!("../../scenarios/l03-the-token-ends-between-two-calls.toml"),
    include_str!("../../scenarios/l04-the-token-ends-and-ten-calls-begin.toml"),
    include_str!("../../scenarios/l05-the-token-ends-while-a-call-runs.toml"),
    include_str!("../../scenarios/l06-the-token-ends-in-the-middle-of-a-stream.toml"),
    include_str!("../../scenarios/l07-a-refresh-is-answered-200-with-an-error.toml"),
    include_str!("../../scenarios/l08-a-refresh-is-answered-in-a-form.toml"),
    include_str!("../../scenarios/l09-a-refresh-is-answered-by-a-web-page.toml"),
    include_str!("../../scenarios/l10-a-refresh-is-answered-503.toml"),
    include_str!("../../scenarios/l11-a-refresh-is-answered-by-silence.toml"),
    include_str!(
        "../../scenarios/l12-the-answer-to-a-refresh-is-lost-and-the-server-forgives.toml"
    ),
    include_str!(
        "../../scenarios/l13-the-answer-to-a-refresh-is-lost-and-the-server-does-not-forgive.toml"
    ),
    include_str!("../../scenarios/l14-the-answer-to-a-refresh-has-no-refresh-token.toml"),
    include_str!("../../scenarios/l15-the-login-is-over-and-ten-calls-begin.toml"),
    include_str!("../../scenarios/l16-the-server-has-forgotten-the-client.toml"),
    include_str!("../../scenarios/l17-the-server-names-another-issuer.toml"),
    include_str!("../../scenarios/l18-the-token-endpoint-moves-to-another-origin.toml"),
    include_str!("../../scenarios/l19-a-refresh-is-redirected-to-another-origin.toml"),
    include_str!("../../scenarios/l20-a-call-is-redirected-to-another-origin.toml"),
    include_str!("../../scenarios/l21-the-callback-names-another-issuer.toml"),
    include_str!("../../scenarios/l22-the-callback-names-no-issuer.toml"),
    include_str!("../../scenarios/l23-the-callback-has-another-state.toml"),
    include_str!("../../scenarios/l24-the-person-declines.toml"),
    include_str!("../../scenarios/l25-the-person-never-finishes.toml"),
    include_str!("../../scenarios/l26-ten-calls-ask-for-the-first-login.toml"),
    include_str!("../../scenarios/l27-the-metadata-is-on-another-origin.toml"),
    include_str!("../../scenarios/l28-the-metadata-speaks-of-another-server.toml"),
    include_str!("../../scenarios/l29-the-metadata-is-of-another-issuer.toml"),
    include_str!("../../scenarios/l30-the-metadata-does-not-speak-of-pkce.toml"),
    include_str!("../../scenarios/l31-every-token-is-refused.toml"),
    include_str!("../../scenarios/l32-the-clock-of-the-issuer-is-a-day-late.toml"),
    include_str!("../../scenarios/l33-a-call-needs-more-scope.toml"),
    include_str!("../../scenarios/l34-no-scope-is-enough.toml"),
    include_str!("../../scenarios/l35-a-token-is-refused-before-its-time.toml"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_folder_is_on_the_shelf_under_its_name() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios");
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let files = files.filter(|path| path.extension().is_some_and(|it| it == "toml"));
        let mut texts: Vec<_> = files.map(|path| std::fs::read_to_string(path).unwrap()).collect();
        let mut ours: Vec<_> = FILES.iter().map(|text| (*text).to_owned()).collect();
        texts.sort();
        ours.sort();

        assert!(
            texts == ours,
            "the folder has {} files, the scenarios {}",
            texts.len(),
            ours.len()
        );
        assert_eq!(Scenarios::ours().unwrap().all().len(), texts.len());
    }

    #[test]
    fn every_scenario_says_why_in_a_paragraph_that_names_a_report() {
        for scenario in Scenarios::ours().unwrap().all() {
            let Scenario { id, why, .. } = scenario;
            assert!(why.trim().len() > 100 && !why.trim().contains("\n\n"), "{id}: {why}");
            let sources = ["#", "specification", "SEP-", "CVE-", "source"];
            let names_report = sources.iter().any(|source| why.contains(source));
            assert!(names_report, "{id}: {why}");
        }
    }

    #[test]
    fn two_scenarios_with_one_id_are_refused() {
        let scenario = Scenarios::ours().unwrap().find("A1").unwrap().clone();
        let other = Scenario { id: "A01".to_owned(), ..scenario.clone() };

        let error = Scenarios::new(vec![scenario, other]).unwrap_err().to_string();

        assert!(error.contains("has the same id"), "{error}");
    }

    #[test]
    fn ids_and_groups_pick_scenarios_in_order_and_unknown_words_are_named() {
        let scenarios = Scenarios::ours().unwrap();

        let picked: Vec<_> =
            scenarios.pick("c, A2,a10").unwrap().iter().map(|it| &*it.id).collect();

        assert_eq!(picked[..3], ["A2", "A10", "C1"]);
        assert_eq!(scenarios.pick("A1,Q7").unwrap_err(), UnknownScenario("Q7".to_owned()));
        assert!(scenarios.pick(" , ").is_err(), "an empty choice is none");
        assert!(scenarios.find("d4").is_ok() && scenarios.find("D").is_err());
    }
}
