//! Reads a script, whole and before anything is sent: a run that ends in the middle because of a misspelt
//! word would look like the client's fault.

use std::path::Path;

use ridethrough_lab::adapter::Step;
use serde_json::Value;

use ridethrough_terminal::misuse::Misuse;

/// Reads the steps in a file.
pub(crate) fn read(path: &Path) -> Result<Vec<Step>, Misuse> {
    let shown = path.display();
    let text = std::fs::read_to_string(path).map_err(|error| Misuse {
        what: format!("the script `{shown}` cannot be read: {error}"),
        tried: "the file was opened; nothing was sent".to_owned(),
        hint: "name a file that holds a JSON list of steps".to_owned(),
    })?;
    parse(&text).map_err(|fault| Misuse {
        what: format!("the script `{shown}` cannot be played: {fault}"),
        tried: format!("{} bytes were read; nothing was sent", text.len()),
        hint: "`ridethrough-lab drive --help` shows the steps".to_owned(),
    })
}

fn parse(text: &str) -> Result<Vec<Step>, String> {
    let script: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let Value::Array(steps) = script else {
        return Err("it is JSON of another kind, must be a list".to_owned());
    };
    let read = |(place, step)| step_of(step).map_err(|fault| format!("step {place}: {fault}"));
    steps.into_iter().enumerate().map(read).collect()
}

fn step_of(step: Value) -> Result<Step, String> {
    // serde's message about a value of another form quotes the value, and this one may be a secret.
    let bearer = &step["bearer"];
    if !bearer.is_string() && !bearer.is_null() {
        return Err("`bearer` must be a string".to_owned());
    }
    let step: Step = serde_json::from_value(step).map_err(|error| error.to_string())?;
    step.nonsense().map_or(Ok(step), Err)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_played_is_refused_by_the_place_of_its_step_and_its_reason() {
        for (script, fault) in [
            (r#"{"op":"close"}"#, "it is JSON of another kind, must be a list"),
            (r#"[{"op":"close"},{"op":"dance"}]"#, "step 1: unknown variant `dance`"),
            (r#"[{"op":"call"}]"#, "step 0: missing field `tool`"),
            (r#"[7]"#, "step 0: "),
            (r#"[{"op":"sleep","s":-1}]"#, "step 0: `s` is -1, must be 0 to 86400 seconds"),
            (
                r#"[{"op":"request","method":"ping","timeout_s":1e300}]"#,
                "must be 0 to 86400 seconds",
            ),
            (
                r#"[{"op":"call","tool":"a","cancel_after_s":-0.1}]"#,
                "`cancel_after_s` is -0.1, must be 0",
            ),
            (
                r#"[{"op":"call","tool":"a","concurrency":0}]"#,
                "`concurrency` is 0, must be 1 to 10000",
            ),
            ("[", "EOF while parsing"),
        ] {
            let refused = parse(script).unwrap_err();

            assert!(refused.contains(fault), "{script}: {refused}");
        }
    }

    #[test]
    fn a_bearer_of_another_form_is_not_quoted() {
        let refused = parse(r#"[{"op":"initialize","bearer":4711}]"#).unwrap_err();

        assert_eq!(refused, "step 0: `bearer` must be a string");
    }

    #[test]
    fn a_script_without_steps_is_a_script() {
        assert_eq!(parse("[]").unwrap(), []);
    }
}
