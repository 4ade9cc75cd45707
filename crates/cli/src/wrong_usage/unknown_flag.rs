//! Explains command lines that cannot be read. A flag that a command does not know is, as a rule, one of a
//! program that was typed without `--`, or an argument of a tool in the words of another program. A server in
//! the place of a command, or without what is asked of it, is an unfinished line.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, Error, ErrorKind};

use crate::near;
use crate::safe;
use crate::server::program;

/// Returns the error with a fitting tip: how an argument of a tool is typed, and no flag that is not similar.
pub(crate) fn explained(mut error: Error, words: &[OsString]) -> Error {
    let is_call = words.get(1).is_some_and(|it| it == "call");
    let flag = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(flag)) if error.kind() == ErrorKind::UnknownArgument => {
            flag.clone()
        }
        _ => {
            leave_out_query(&mut error);
            return match half(&error, words) {
                Some(tip) => with_tip(error, &tip),
                None => error,
            };
        }
    };
    // A program comes behind `--`, so a flag does not become a value there.
    error.remove(ContextKind::Suggested);
    let command = words.get(1).map(|it| it.to_string_lossy()).unwrap_or_default();
    let value = value(&flag, words);
    let tip = program::typed_without_dashes(words)
        .or_else(|| ours(&command, &flag, &value))
        .or_else(|| unflagged(&flag, &value).filter(|_| is_call));
    if let Some(tip) = tip {
        // The usage shows the flag that was suggested.
        error.remove(ContextKind::SuggestedArg);
        error.remove(ContextKind::Usage);
        return with_tip(error, &tip);
    }
    // A negative number.
    if is_call && flag.starts_with('-') && flag[1..].starts_with(|it: char| it.is_ascii_digit()) {
        return with_tip(error, &format!("an argument of the tool is typed as `name={flag}`"));
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
        // The usage shows the flag that was suggested.
        error.remove(ContextKind::Usage);
    }
    let value = if value == "..." { value } else { safe::quoted(&value) };
    let tip = format!("an argument of the tool is typed as `{name}={value}`");
    with_tip(error, &tip)
}

fn with_tip(mut error: Error, tip: &str) -> Error {
    let tip = ContextValue::StyledStrs(vec![safe::our_line(tip).into()]);
    error.insert(ContextKind::Suggested, tip);
    error
}

/// Removes the query from a URL in the place of a command: it may hold a key.
fn leave_out_query(error: &mut Error) {
    let word = match error.get(ContextKind::InvalidSubcommand) {
        Some(ContextValue::String(word)) if word.contains("://") => word.clone(),
        _ => return,
    };
    let word = word.split('?').next().unwrap_or_default().to_owned();
    error.insert(ContextKind::InvalidSubcommand, ContextValue::String(word));
}

/// Returns how an unfinished command line goes on.
fn half(error: &Error, words: &[OsString]) -> Option<String> {
    let words: Vec<_> = words.iter().map(|it| it.to_string_lossy()).collect();
    // The query of a URL may hold a key.
    let typed = |word: &str| word.split('?').next().unwrap_or_default().to_owned();
    let first = words.get(1)?;
    let server = || words.iter().skip(2).find(|it| !it.starts_with('-')).map(|it| typed(it));
    match (error.kind(), &**first) {
        (ErrorKind::InvalidSubcommand, word) if is_like_server(word) => {
            let server = typed(word);
            Some(format!(
                "a command stands before the server: `ridethrough tools {server}` lists its tools, \
                 `ridethrough check {server}` looks what is wrong with it"
            ))
        }
        (ErrorKind::MissingRequiredArgument, command)
            if program::takes_server(command) && words.len() == 2 =>
        {
            Some(
                "a server is a URL, a name that `ridethrough servers` lists, or a program behind `--`"
                    .to_owned(),
            )
        }
        (ErrorKind::MissingRequiredArgument, "call") => {
            Some(format!("`ridethrough tools {}` lists what can be called", server()?))
        }
        (ErrorKind::MissingRequiredArgument, "read") => {
            Some(format!("`ridethrough resources {}` lists what can be read", server()?))
        }
        (ErrorKind::MissingRequiredArgument, "prompt") => {
            Some(format!("`ridethrough prompts {}` lists them", server()?))
        }
        (ErrorKind::MissingRequiredArgument, "task") => {
            let server = words.iter().skip(3).find(|it| !it.starts_with('-'))?;
            Some(format!("`ridethrough task list {}` lists them", typed(server)))
        }
        _ => None,
    }
}

/// Whether a person would type this word for a server, and not for a command.
fn is_like_server(word: &str) -> bool {
    word.contains("://")
        || word.starts_with("localhost")
        || word.contains('/')
        || word.contains(':')
}

/// Returns our name for a flag of other programs.
fn ours(command: &str, flag: &str, value: &str) -> Option<String> {
    let ours = match (command, flag) {
        ("expose", "--port" | "-p") => return Some(listen("127.0.0.1", value)),
        ("expose", "--host") => return Some(listen(value, "PORT")),
        ("expose", program) if !program.starts_with('-') => {
            return Some(format!(
                "a program stands behind `--`: `ridethrough expose -- {program} ...`"
            ));
        }
        (_, "--transport") => {
            return Some("leave it out: what a server speaks is found out by itself".to_owned());
        }
        _ => flag,
    };
    let ours = match ours {
        "-k" => "--insecure",
        "-H" => "--header 'NAME: VALUE'",
        "-o" => "--json",
        _ => return None,
    };
    Some(format!("`{ours}` does that here"))
}

/// Returns the flag for the address on which `expose` listens.
fn listen(host: &str, port: &str) -> String {
    format!("`--listen {host}:{port}` does that here")
}

/// Returns how to type an argument that other programs take behind a flag and that has no flag here.
fn unflagged(flag: &str, value: &str) -> Option<String> {
    if !ARGUMENTS.contains(&flag.split('=').next().unwrap_or_default()) {
        return None;
    }
    if value.trim_start().starts_with('{') {
        let object = safe::quoted(value);
        return Some(format!("the arguments stand behind the tool without a flag: `{object}`"));
    }
    let (key, text) = value.split_once('=').filter(|(key, _)| !key.is_empty())?;
    let typed = format!("{key}={}", safe::quoted(text));
    Some(format!("an argument stands behind the tool without a flag: `{typed}`"))
}

/// Names of other programs for the arguments of a tool.
const ARGUMENTS: [&str; 14] = [
    "--arg",
    "--args",
    "--argument",
    "--arguments",
    "--data",
    "--input",
    "--param",
    "--params",
    "--tool-arg",
    "--tool-args",
    "--tool-params",
    "-a",
    "-d",
    "-p",
];

/// Returns the value that was typed for a flag: behind `=`, or as the next word.
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

    /// Before this was fixed, clap's tip was to put the flag behind `--`, where a program comes.
    #[test]
    fn flags_of_other_programs_are_told_by_what_they_are_called_here() {
        for (line, tip) in [
            ("ridethrough tools http://a/ -k", Some("`--insecure` does that here")),
            ("ridethrough tools http://a/ -H", Some("`--header 'NAME: VALUE'` does that here")),
            ("ridethrough tools http://a/ -x", None),
            ("ridethrough call http://a/ --output=x", Some("is typed as `output=x`")),
            (
                "ridethrough call http://a/ --params {\"a\":1}",
                Some("without a flag: `'{\"a\":1}'`"),
            ),
            ("ridethrough call http://a/ --args={\"a\":1}", Some("without a flag: `'{\"a\":1}'`")),
            ("ridethrough call http://a/ t --tool-arg k=v", Some("without a flag: `k=v`")),
            ("ridethrough call http://a/ t -p k=v", Some("without a flag: `k=v`")),
            ("ridethrough call http://a/ --params x", Some("is typed as `params=x`")),
            ("ridethrough tools http://a/ --transport sse", Some("leave it out: what a server")),
            ("ridethrough expose --port 4000", Some("`--listen 127.0.0.1:4000` does that here")),
            ("ridethrough expose npx -y foo", Some("`ridethrough expose -- npx ...`")),
        ] {
            let told = told(line);

            assert_eq!(told.contains("tip: "), tip.is_some(), "{told}");
            assert!(tip.is_none_or(|tip| told.contains(tip)), "{told}");
        }
    }

    #[test]
    fn a_line_that_stops_half_way_is_told_how_it_goes_on() {
        for (line, tip) in [
            ("ridethrough http://a/mcp?key=s3cret", "`ridethrough tools http://a/mcp` lists"),
            ("ridethrough tools", "a server is a URL, a name that `ridethrough servers` lists"),
            ("ridethrough call http://a/ add -1", "is typed as `name=-1`"),
            ("ridethrough localhost:80/mcp", "`ridethrough check localhost:80/mcp` looks"),
            ("ridethrough call http://a/?key=s3cret", "`ridethrough tools http://a/` lists what"),
        ] {
            let told = told(line);

            assert!(told.contains(tip), "{told}");
            assert!(!told.contains("s3cret"), "{told}");
        }
    }

    fn told(line: &str) -> String {
        let words: Vec<OsString> = line.split(' ').map(Into::into).collect();
        let tool = Arg::new("tool").required(true);
        let command = |name| Command::new(name).arg(Arg::new("server").required(true));
        let commands = [command("tools"), command("call").arg(tool), Command::new("expose")];
        let parsed = Command::new("ridethrough").subcommands(commands).try_get_matches_from(&words);
        explained(parsed.unwrap_err(), &words).render().to_string()
    }
}
