//! Settings from the environment: `RIDETHROUGH_TIMEOUT` and its like.

use std::ffi::OsString;

use ridethrough_terminal::misuse::Misuse;

use crate::settings::{KEYS, Layer};

/// Reads our environment variables. An unknown one is reported and otherwise ignored: it may be for another
/// version.
pub fn read(variables: impl Iterator<Item = (OsString, OsString)>) -> Result<Layer, Misuse> {
    let mut layer = Layer::default();
    for (name, value) in variables {
        let Some(name) = name.to_str() else { continue };
        let Some(rest) = name.strip_prefix("RIDETHROUGH_") else { continue };
        let key = KEYS.into_iter().find(|it| variable(it) == name);
        // The lab marks the processes of a run, and `--bearer-env` or a header may name a secret.
        let is_other = rest.starts_with("LAB_")
            || rest == FOLDER
            || SECRETS.iter().any(|end| rest.ends_with(end));
        if is_other || (key.is_some() && value.is_empty()) {
            continue;
        }
        let Some(key) = key else {
            let known = KEYS.map(variable).join(", ");
            eprintln!("warning: the variable `{name}` is not known here; known are {known}");
            continue;
        };
        let value = value.to_str().ok_or_else(|| wrong(name, "must be text in UTF-8"))?;
        layer.take(key, words(key, value)).map_err(|fault| wrong(name, &fault))?;
    }
    Ok(layer)
}

/// Returns the variable of a setting.
fn variable(key: &str) -> String {
    format!("RIDETHROUGH_{}", key.to_ascii_uppercase().replace('-', "_"))
}

fn words(key: &str, value: &str) -> Vec<String> {
    match key {
        "header" => {
            value.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned).collect()
        }
        "hint" | "repeatable" => value.split_whitespace().map(str::to_owned).collect(),
        _ => vec![value.to_owned()],
    }
}

fn wrong(name: &str, fault: &str) -> Misuse {
    Misuse {
        what: format!("the variable `{name}` cannot be used: it {fault}"),
        tried: "the settings were read; nothing was sent".to_owned(),
        hint: format!("change `{name}`, or unset it"),
    }
}

/// The endings of variables that hold secrets; none of our settings ends so.
const SECRETS: [&str; 3] = ["KEY", "SECRET", "TOKEN"];
/// The variable for the folder of logins, which the store of logins reads.
const FOLDER: &str = "AUTH_DIR";

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::settings::{EraChoice, Policy};

    #[test]
    fn every_flag_has_a_variable_of_its_name() {
        let layer = read_from(&[
            ("RIDETHROUGH_BEARER_ENV", "TOKEN"),
            ("RIDETHROUGH_CACERT", "roots.pem"),
            ("RIDETHROUGH_ERA", "legacy"),
            ("RIDETHROUGH_HEADER", "X-A: 1\n\nX-B: 2"),
            ("RIDETHROUGH_HINT", "get_*=read  put=write"),
            ("RIDETHROUGH_MAX_MESSAGE", "64MiB"),
            ("RIDETHROUGH_POLICY", "never"),
            ("RIDETHROUGH_PROFILE", "work"),
            ("RIDETHROUGH_REPEATABLE", "read  list"),
            ("RIDETHROUGH_TIMEOUT", "2.5"),
            ("RIDETHROUGH_VERBOSE", "2"),
            ("RIDETHROUGH_LAB_RUN", "x"),
            ("PATH", "/bin"),
        ])
        .unwrap();

        assert_eq!(layer.bearer_env.as_deref(), Some("TOKEN"));
        assert_eq!(layer.cacert.as_deref(), Some("roots.pem".as_ref()));
        assert_eq!(layer.headers, ["X-A: 1", "X-B: 2"]);
        assert_eq!((layer.policy, layer.verbose), (Some(Policy::Never), Some(2)));
        assert_eq!((layer.era, layer.max_message), (Some(EraChoice::Legacy), Some(64 << 20)));
        assert_eq!(layer.profile.as_deref(), Some("work"));
        assert_eq!(layer.repeatable, ["read", "list"]);
        assert_eq!(layer.hints.len(), 2);
        assert_eq!(layer.timeout, Some(Duration::from_millis(2500)));
    }

    #[test]
    fn a_value_that_cannot_be_used_is_refused_by_the_name_of_its_variable() {
        for name in ["ERA", "HINT", "MAX_MESSAGE", "POLICY", "TIMEOUT", "VERBOSE"] {
            let name = &*format!("RIDETHROUGH_{name}");
            let refused = read_from(&[(name, "s3cret")]).map(|_| ()).unwrap_err().to_string();

            assert!(refused.contains(name) && !refused.contains("s3cret"), "{refused}");
        }
    }

    fn read_from(variables: &[(&str, &str)]) -> Result<Layer, Misuse> {
        read(variables.iter().map(|(name, value)| (name.into(), value.into())))
    }
}
