//! The strict rule: when a scenario counts as passed.
//!
//! The suite's own verdict is not enough: it lets two scenarios pass with a client that does nothing.

use serde::Deserialize;

/// The results of one run of a scenario.
#[derive(Debug)]
pub(crate) struct Played {
    /// Whether the suite exited with 0: no failure, no warning, and the client exited with 0 in time.
    pub(crate) is_accepted: bool,
    /// `checks.json`; absent if the suite itself failed.
    pub(crate) checks: Option<String>,
    /// The client's last output.
    pub(crate) last_words: Option<String>,
}

/// The number of checks of a scenario that passed, or why it did not pass.
pub(crate) type Verdict = Result<usize, String>;

/// Judges a run of which at least this many checks must have succeeded.
pub(crate) fn verdict(played: &Played, least: usize) -> Verdict {
    let Some(text) = &played.checks else {
        return Err("the suite wrote no checks".to_owned());
    };
    let checks: Vec<Check> = serde_json::from_str(text)
        .map_err(|error| format!("the checks cannot be read: {error}"))?;
    if let Some(bad) = checks.iter().find(|check| check.status.is_bad()) {
        let (id, why) = (&bad.id, bad.error_message.as_deref().unwrap_or("no reason was given"));
        let status = if bad.status == Status::Warning { "warning" } else { "failure" };
        return Err(format!("{status} of `{id}`: {why}"));
    }
    if !played.is_accepted {
        let said = played.last_words.as_deref().unwrap_or("it said nothing");
        return Err(format!("the client failed or was too slow: {said}"));
    }
    let succeeded = checks.iter().filter(|check| check.status == Status::Success).count();
    if succeeded < least {
        return Err(format!("{succeeded} checks succeeded, and {least} must"));
    }
    Ok(succeeded)
}

/// One check of a scenario, as the suite writes it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Check {
    pub(crate) id: String,
    pub(crate) status: Status,
    error_message: Option<String>,
}

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub(crate) enum Status {
    Failure,
    Info,
    Skipped,
    Success,
    Warning,
}

impl Status {
    const fn is_bad(self) -> bool {
        matches!(self, Self::Failure | Self::Warning)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_scenario_passes_with_enough_successes_and_nothing_bad() {
        let passed = verdict(&played(true, &["SUCCESS", "INFO", "SKIPPED", "SUCCESS"]), 2);

        assert_eq!(passed, Ok(2));
    }

    #[test]
    fn a_warning_fails_whatever_the_suite_says() {
        for (status, words) in [("WARNING", "warning of `b`"), ("FAILURE", "failure of `b`")] {
            for is_accepted in [true, false] {
                let failed = verdict(&played(is_accepted, &["SUCCESS", status]), 1);

                assert!(failed.as_ref().is_err_and(|why| why.starts_with(words)), "{failed:?}");
            }
        }
    }

    #[test]
    fn a_client_that_ends_badly_fails_though_every_check_succeeded() {
        let mut played = played(false, &["SUCCESS"]);
        played.last_words = Some("error: no".to_owned());

        assert!(verdict(&played, 1).is_err_and(|why| why.contains("error: no")));
    }

    #[test]
    fn a_client_that_did_nothing_fails_though_nothing_is_bad() {
        assert!(verdict(&played(true, &[]), 1).is_err());
        assert!(verdict(&played(true, &["SKIPPED", "SKIPPED", "INFO"]), 1).is_err());
    }

    #[test]
    fn one_success_less_than_the_minimum_fails() {
        let eight = ["SUCCESS"; 8];
        let nine = ["SUCCESS"; 9];

        assert!(verdict(&played(true, &eight), 9).is_err());
        assert!(verdict(&played(true, &nine), 9).is_ok());
    }

    #[test]
    fn what_cannot_be_read_is_no_pass() {
        for checks in [None, Some("{}"), Some(r#"[{"id":"a","status":"GREAT"}]"#)] {
            let checks = checks.map(str::to_owned);
            let played = Played { is_accepted: true, checks, last_words: None };

            assert!(verdict(&played, 0).is_err());
        }
    }

    fn played(is_accepted: bool, statuses: &[&str]) -> Played {
        let ids = ["a", "b", "c", "d", "e", "f", "g", "h", "i"];
        let checks = ids.iter().zip(statuses).map(|(id, status)| {
            json!({ "id": id, "name": "n", "status": status, "timestamp": "now", "details": {} })
        });
        let checks = serde_json::Value::Array(checks.collect());
        Played { is_accepted, checks: Some(checks.to_string()), last_words: None }
    }
}
