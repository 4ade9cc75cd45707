//! A server that is a program, typed behind `--`: `ridethrough tools -- npx -y some-server`.
//!
//! The program takes the place of the server's name. There it is one word, which begins with a character that
//! cannot be typed on a command line, so every command that takes a server takes a program too.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use ridethrough_bridge::harmless;
use ridethrough_config::address;
use ridethrough_config::hosts::Program;

use crate::misuse::Misuse;
use crate::platform;
use crate::safe;

/// Returns the command line with the program behind `--`, if there is one, in the place of the server.
pub(crate) fn fold(words: impl Iterator<Item = OsString>) -> Result<Vec<OsString>, Misuse> {
    let mut words: Vec<OsString> = words.collect();
    let takes_server = words.get(1).and_then(|it| it.to_str()).is_some_and(takes_server);
    let Some(split) = words.iter().position(|it| it == "--").filter(|_| takes_server) else {
        return Ok(words);
    };
    let program = words.split_off(split).into_iter().skip(1);
    let program: Result<Vec<_>, _> = program.map(OsString::into_string).collect();
    let program = program.map_err(|_| wrong("a word behind `--` is no text"))?;
    let Some(first) = program.first() else { return Err(wrong("there is nothing behind `--`")) };
    if first.starts_with('-') {
        return Err(Misuse {
            hint: "the program stands behind `--` with all its words: `ridethrough tools -- npx -y some-server`"
                .to_owned(),
            ..wrong("what stands behind `--` is a flag, and no program")
        });
    }
    if first.contains("://") {
        return Err(url_behind_dashes(&words[1].to_string_lossy(), first));
    }
    if let ([_], Some((name, _))) = (program.as_slice(), first.split_once(char::is_whitespace))
        && !Path::new(first).is_file()
    {
        return Err(Misuse {
            hint: format!(
                "type its words without quotes around them: `{} -- {name} ...`",
                before_dashes(&words[1].to_string_lossy())
            ),
            ..wrong(
                "what stands behind `--` is one word with spaces in it, and no program has that name",
            )
        });
    }
    if words.iter().skip(2).any(|it| it.to_string_lossy().contains("://")) && is_tool_less(&words) {
        return Err(wrong("there is a URL, and a program behind `--`"));
    }
    if words[1] == "call" && words.iter().skip(2).all(|it| it.to_string_lossy().starts_with('-')) {
        return Err(Misuse {
            hint: "the tool stands before the program: `ridethrough call TOOL key=value -- npx -y some-server`"
                .to_owned(),
            ..wrong("no tool is named")
        });
    }
    let word = serde_json::to_string(&program).unwrap_or_default();
    words.insert(2, format!("{MARK}{word}").into());
    Ok(words)
}

/// Returns the program that such a word stands for.
pub(crate) fn in_word(word: &str) -> Option<Program> {
    let mut words: Vec<String> = serde_json::from_str(word.strip_prefix(MARK)?).ok()?;
    let command = words.remove(0);
    let args = words.into_iter().map(Into::into).collect();
    Some(Program { command, args, env: Vec::new(), cwd: None })
}

/// Whether this command takes a server.
pub(crate) fn takes_server(command: &str) -> bool {
    COMMANDS.contains(&command)
}

/// Returns how to type a program that was typed without `--`. Its words are left out: they may hold secrets.
pub(crate) fn typed_without_dashes(words: &[OsString]) -> Option<String> {
    let command = words.get(1)?.to_str().filter(|it| COMMANDS.contains(it))?;
    let mut typed = words.iter().skip(2).map(|it| it.to_string_lossy());
    let first = typed.find(|it| !it.starts_with('-'))?;
    let (program, rest) = match first.split_once(char::is_whitespace) {
        Some((program, rest)) if !Path::new(&*first).is_file() => (program, Some(rest)),
        _ => (&*first, None),
    };
    let started = started(program)?;
    let apart = if rest.is_some() { ", each of its words by itself" } else { "" };
    let more = if rest.is_some() || typed.next().is_some() { " ..." } else { "" };
    let before = before_dashes(command);
    Some(format!("a program stands behind `--`{apart}: `{before} -- {started}{more}`"))
}

/// Returns how to type the program that this command line may mean.
pub(crate) fn meant() -> Option<String> {
    typed_without_dashes(&env::args_os().collect::<Vec<_>>())
}

/// Adds to the misuse how to type a program, if the word that means no server is the path of a program or a
/// whole command line.
pub(crate) fn advised(misuse: Misuse, word: &str) -> Misuse {
    let is_program = is_path(word.as_ref()) || word.contains(char::is_whitespace);
    let is_program = is_program || script(word).is_some();
    match meant().filter(|_| is_program) {
        Some(hint) => Misuse { hint, ..misuse },
        None => misuse,
    }
}

/// Returns how to start the program that this word names; `None` if it names none.
fn started(word: &str) -> Option<String> {
    if word.contains("://") {
        return None;
    }
    if let Some(interpreter) = script(word) {
        return Some(format!("{interpreter} {}", safe::quoted(word)));
    }
    // Only a path begins like this, whether the file exists or not.
    let is_path = ["./", "../", "/", "~/"].iter().any(|it| word.starts_with(it));
    let is_there = places(OsStr::new(word)).iter().any(|place| place.is_file());
    (is_path || is_there).then(|| safe::quoted(word))
}

/// Returns the interpreter of this file, if it is a script that cannot be started by itself.
fn script(word: &str) -> Option<&'static str> {
    let path = Path::new(word);
    let interpreter = match path.extension()?.to_str()? {
        "py" => "python3",
        "cjs" | "js" | "mjs" => "node",
        _ => return None,
    };
    let is_startable = is_path(word.as_ref()) && platform::is_executable(path);
    (path.is_file() && !is_startable).then_some(interpreter)
}

/// Returns the words before `--` in an example of this command.
fn before_dashes(command: &str) -> String {
    let words = match command {
        "call" => " TOOL key=value",
        "prompt" => " NAME key=value",
        "read" => " URI",
        _ => "",
    };
    format!("ridethrough {command}{words}")
}

fn url_behind_dashes(command: &str, url: &str) -> Misuse {
    // A URL that cannot be used may hold a password.
    let url = address::typed(url).unwrap_or_else(|| "URL".to_owned());
    let line = before_dashes(command);
    let line = line.replacen(command, &format!("{command} {url}"), 1);
    Misuse {
        hint: format!("a URL stands without `--`: `{line}`"),
        ..wrong("what stands behind `--` is a URL, and no program")
    }
}

/// Looks for the program, as the system would. Returns its name as people may see it: arguments hold secrets,
/// and folders are private.
pub(crate) fn find(command: &[OsString]) -> Result<String, Misuse> {
    let program = command.first().map(OsString::as_os_str).unwrap_or_default();
    let name = Path::new(program).file_name().unwrap_or(program).to_string_lossy();
    let name = harmless(&name);
    if places(program).iter().any(|it| it.is_file() && platform::is_executable(it)) {
        return Ok(name);
    }
    Err(Misuse {
        what: format!("there is no program `{name}` to be started"),
        tried: if is_path(program) {
            "it was looked for where its path says".to_owned()
        } else {
            "it was looked for in the folders of PATH".to_owned()
        },
        hint: "write the command after `--`, as in `ridethrough expose -- npx -y some-server`"
            .to_owned(),
    })
}

/// Returns where the system looks for a program.
fn places(program: &OsStr) -> Vec<PathBuf> {
    if program.is_empty() {
        return Vec::new();
    }
    if is_path(program) {
        return vec![program.into()];
    }
    let folders = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&folders).map(|folder| folder.join(program)).collect()
}

/// Whether the program is looked for at this path, and not in the folders of `PATH`.
fn is_path(program: &OsStr) -> bool {
    program.as_encoded_bytes().contains(&b'/')
}

/// Whether the first word behind the command is a URL: the name of a tool begins otherwise.
fn is_tool_less(words: &[OsString]) -> bool {
    let first = words.iter().skip(2).find(|it| !it.to_string_lossy().starts_with('-'));
    first.is_some_and(|it| it.to_string_lossy().starts_with("http"))
}

fn wrong(what: &str) -> Misuse {
    Misuse {
        what: what.to_owned(),
        tried: "the command line was read; nothing was started".to_owned(),
        hint: "write `ridethrough tools -- npx -y some-server`, or `ridethrough tools URL`"
            .to_owned(),
    }
}

const COMMANDS: [&str; 9] =
    ["call", "check", "ping", "prompt", "prompts", "read", "resources", "tools", "watch"];
/// The first character of such a word: no word of a command line can hold it.
const MARK: char = '\0';

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret;

    use super::*;

    #[test]
    fn a_program_stands_in_the_place_of_the_server() {
        let folded = folded("ridethrough call --json echo msg=hi -- npx -y some-server --flag");

        assert_eq!(folded[..2], ["ridethrough", "call"]);
        assert_eq!(folded[3..], ["--json", "echo", "msg=hi"]);
        let program = in_word(&folded[2]).unwrap();
        let args: Vec<_> = program.args.iter().map(ExposeSecret::expose_secret).collect();
        assert_eq!((program.command.as_str(), args), ("npx", vec!["-y", "some-server", "--flag"]));
    }

    #[test]
    fn a_call_names_its_tool_before_the_program() {
        let words = "ridethrough call --json -- npx some-server echo".split(' ');

        let refused = fold(words.map(OsString::from)).unwrap_err().to_string();

        assert!(refused.contains("no tool is named") && refused.contains("call TOOL"), "{refused}");
    }

    #[test]
    fn a_program_that_is_typed_without_dashes_is_told_where_it_stands() {
        let told = |line: &str| {
            let words: Vec<OsString> = line.split(' ').map(Into::into).collect();
            typed_without_dashes(&words)
        };

        assert_eq!(
            told("ridethrough tools sh --key=s3cret").unwrap(),
            "a program stands behind `--`: `ridethrough tools -- sh ...`"
        );
        assert!(told("ridethrough call sh -y x").unwrap().contains("call TOOL key=value -- sh"));
        let quoted: Vec<OsString> =
            ["ridethrough", "tools", "sh -c s3cret"].map(Into::into).to_vec();
        assert_eq!(
            typed_without_dashes(&quoted).unwrap(),
            "a program stands behind `--`, each of its words by itself: `ridethrough tools -- sh ...`"
        );
        assert!(told("ridethrough check ./server").unwrap().contains("check -- ./server`"));
        for other in
            ["ridethrough tools http://a/", "ridethrough lab sh", "ridethrough tools no-such"]
        {
            assert_eq!(told(other), None, "{other}");
        }
    }

    #[test]
    fn other_commands_keep_their_words() {
        for line in ["ridethrough expose -- npx x", "ridethrough tools URL", "ridethrough"] {
            assert_eq!(folded(line).join(" "), line);
        }
    }

    #[test]
    fn two_servers_are_one_too_many_and_none_is_too_few() {
        let lines = [
            "ridethrough tools http://a.example/ -- npx x",
            "ridethrough tools --",
            "ridethrough tools npx -- -y x",
        ];
        for line in lines {
            assert!(fold(line.split(' ').map(OsString::from)).is_err(), "{line}");
        }
    }

    fn folded(line: &str) -> Vec<String> {
        let folded = fold(line.split(' ').map(OsString::from)).unwrap();
        folded.into_iter().map(|it| it.into_string().unwrap()).collect()
    }

    #[test]
    fn programs_are_found_where_the_system_finds_them() {
        assert_eq!(find(&["sh".into(), "-c".into()]).unwrap(), "sh");
        assert_eq!(find(&["/bin/sh".into()]).unwrap(), "sh");
        for missing in ["", "no-such-program-anywhere", "/bin/no-such-program", "/etc/passwd", "/"]
        {
            let error = find(&[missing.into(), "--key=s3cret".into()]).unwrap_err().to_string();
            assert!(error.contains("there is no program") && !error.contains("s3cret"), "{error}");
        }
    }
}
