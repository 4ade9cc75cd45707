//! A flag that a command does not know is, as a rule, one of a program that was typed without `--`, or an
//! argument of a tool in the words of another program.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, Error, ErrorKind};

use crate::talk::safe;
use crate::{near, program};

/// The error with a tip that fits: how an argument of a tool is typed, and no flag that is like none.
pub(crate) fn explained(mut error: Error, words: &[OsString]) -> Error {
    let is_call = words.get(1).is_some_and(|it| it == "call");
    let flag = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(flag)) if error.kind() == ErrorKind::UnknownArgument => {
            flag.clone()
        }
        _ => return error,
    };
    // Behind `--` stands a program: nothing becomes a value there.
    error.remove(ContextKind::Suggested);
    if let Some(tip) = program::typed_without_dashes(words).or_else(|| ours(&flag)) {
        return with_tip(error, &tip);
    }
    let Some(name) = flag.strip_prefix("--").filter(|it| is_call && !it.is_empty()) else {
        return error;
    };
    let name = name.split('=').next().unwrap_or_default().to_owned();
    let suggested = match error.get(ContextKind::SuggestedArg) {
        Some(ContextValue::String(suggested)) => Some(suggested.trim_start_matches('-').to_owned()),
        _ => None,
    };
    if suggested.is_some_and(|it| near::nearest(&name, [it.as_str()]).is_empty()) {
        error.remove(ContextKind::SuggestedArg);
        // It shows the flag that was suggested.
        error.remove(ContextKind::Usage);
    }
    let tip = format!("an argument of the tool is typed as `{name}={}`", value(&flag, words));
    with_tip(error, &tip)
}

fn with_tip(mut error: Error, tip: &str) -> Error {
    let tip = ContextValue::StyledStrs(vec![safe::line(tip).into()]);
    error.insert(ContextKind::Suggested, tip);
    error
}

/// What a flag is called here that others have.
fn ours(flag: &str) -> Option<String> {
    let ours = match flag {
        "-k" => "--insecure",
        "-H" => "--header 'NAME: VALUE'",
        "-o" => "--json",
        _ => return None,
    };
    Some(format!("`{ours}` does that here"))
}

/// What was typed for it: behind `=`, or as the next word.
fn value(flag: &str, words: &[OsString]) -> String {
    let mut words = words.iter().map(|it| it.to_string_lossy());
    let word = words.find(|it| it.starts_with(flag)).unwrap_or_default().into_owned();
    let value = match word.split_once('=') {
        Some((_, value)) => Some(value.to_owned()),
        None => words.next().filter(|it| !it.starts_with('-')).map(|it| it.into_owned()),
    };
    value.unwrap_or_else(|| "...".to_owned())
}

#[cfg(test)]
mod tests {
    use clap::{Arg, Command};

    use super::*;

    /// The tip of clap was to put it behind `--`, where a program stands.
    #[test]
    fn flags_of_other_programs_are_told_by_what_they_are_called_here() {
        for (line, tip) in [
            ("ridethrough tools http://a/ -k", Some("`--insecure` does that here")),
            ("ridethrough tools http://a/ -H", Some("`--header 'NAME: VALUE'` does that here")),
            ("ridethrough tools http://a/ -x", None),
            ("ridethrough call http://a/ --output=x", Some("is typed as `output=x`")),
        ] {
            let told = told(line);

            assert_eq!(told.contains("tip: "), tip.is_some(), "{told}");
            assert!(tip.is_none_or(|tip| told.contains(tip)), "{told}");
        }
    }

    fn told(line: &str) -> String {
        let words: Vec<OsString> = line.split(' ').map(Into::into).collect();
        let command = |name| Command::new(name).arg(Arg::new("server")).arg(Arg::new("tool"));
        let commands = [command("tools"), command("call")];
        let parsed = Command::new("ridethrough").subcommands(commands).try_get_matches_from(&words);
        explained(parsed.unwrap_err(), &words).render().to_string()
    }
}
