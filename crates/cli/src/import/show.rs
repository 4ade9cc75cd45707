//! The plan and its outcome, for people and for programs.
//!
//! Names come from files of unknown origin: they reach a terminal as text only, without control characters.

use std::io::{self, Write};
use std::path::PathBuf;

use ridethrough_config::hosts::{Broken, ConfigPlace, ConfigScope, Entry, Unread};
use ridethrough_config::replacing::{EntryVerdict, LoginAfter, header_names, shown_url};
use serde_json::{Value, json};

use crate::out::{Colour, painted};
use crate::safe;

/// The outcome for one file.
pub(super) struct Report<'a> {
    pub(super) place: &'a ConfigPlace,
    pub(super) servers: Result<Vec<(&'a Entry, &'a EntryVerdict)>, &'a Unread>,
    /// The backup, or why nothing was written.
    pub(super) written: Option<&'a Result<PathBuf, String>>,
}

impl Report<'_> {
    /// Whether the file was read, and written if it was to be.
    pub(super) fn is_whole(&self) -> bool {
        self.servers.is_ok() && !matches!(self.written, Some(Err(_)))
    }
}

/// Returns the whole report in lines.
pub(super) fn in_words(
    reports: &[Report<'_>],
    is_colourful: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    for Report { place, servers, written } in reports {
        let heading = format!("{}  {}", place.host, safe::path(&place.path));
        writeln!(out, "{}", painted(&heading, Colour::Bold, is_colourful))?;
        let wrong = |text: &str| painted(&safe::line(text), Colour::Red, is_colourful);
        match servers {
            Err(why) => writeln!(out, "  {}", wrong(&why.to_string()))?,
            Ok(servers) if servers.is_empty() => writeln!(out, "  no servers in it")?,
            Ok(servers) => servers
                .iter()
                .try_for_each(|(entry, verdict)| line(place, entry, verdict, is_colourful, out))?,
        }
        match written {
            None => {}
            Some(Ok(backup)) => writeln!(out, "  written; as it was: {}", safe::path(backup))?,
            Some(Err(why)) => writeln!(out, "  {}", wrong(&format!("not written: {why}")))?,
        }
        writeln!(out)?;
    }
    Ok(())
}

fn line(
    place: &ConfigPlace,
    entry: &Entry,
    verdict: &EntryVerdict,
    is_colourful: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    let (word, colour) = match verdict {
        EntryVerdict::Already => ("already", Colour::Green),
        EntryVerdict::ByHand(_) | EntryVerdict::Could => ("could", Colour::Yellow),
        EntryVerdict::Left(_) => ("left", Colour::Faint),
        EntryVerdict::Replace(_) => ("replace", Colour::Green),
    };
    let name = match &entry.project {
        Some(project) => format!("{} (in {})", safe::line(&entry.name), safe::line(project)),
        None => safe::line(&entry.name),
    };
    let word = painted(&format!("{word:<8}"), colour, is_colourful);
    writeln!(out, "  {word} {name}: {}", safe::line(&story(place, entry, verdict)))
}

/// Returns one server as a line for people, without colours.
pub(super) fn in_a_line(place: &ConfigPlace, entry: &Entry, verdict: &EntryVerdict) -> String {
    let mut out = Vec::new();
    line(place, entry, verdict, false, &mut out).expect("a vector takes everything");
    String::from_utf8_lossy(&out).into_owned()
}

/// Returns the plan or the outcome for a server in one sentence.
fn story(place: &ConfigPlace, entry: &Entry, verdict: &EntryVerdict) -> String {
    let url = shown_url(entry).unwrap_or_default();
    let headers = match header_names(entry).as_slice() {
        [] => String::new(),
        names => format!(", with {}", names.join(", ")),
    };
    match verdict {
        EntryVerdict::Already if url.is_empty() => "it is the gateway".to_owned(),
        EntryVerdict::Already => format!("it goes through ridethrough to {url}{headers}"),
        EntryVerdict::ByHand(why) => {
            format!("{url}{headers}: could go through `ridethrough bridge`, written by hand: {why}")
        }
        EntryVerdict::Could => {
            let offer = offer(place, entry).join(" ");
            format!("{url}{headers}: could go through `ridethrough bridge`: `{offer}`")
        }
        EntryVerdict::Left(why) if url.is_empty() => why.clone(),
        EntryVerdict::Left(why) => format!("{url}: {why}"),
        EntryVerdict::Replace(replacement) => {
            let dropped = match replacement.dropped.as_slice() {
                [] => String::new(),
                flags => format!("; needs no {}", flags.join(", ")),
            };
            let login = match replacement.login {
                LoginAfter::Needed => format!("; then log in: `{}`", log_in(place, entry)),
                LoginAfter::NotNeeded => String::new(),
                LoginAfter::TakenOver => "; the login of mcp-remote is used".to_owned(),
            };
            format!("{} by `ridethrough bridge {url}`{headers}{dropped}{login}", replacement.name)
        }
    }
}

/// Returns the command that logs in to this server.
pub(super) fn log_in(place: &ConfigPlace, entry: &Entry) -> String {
    match place.scope {
        // Names of such a file are known to `import` only.
        ConfigScope::Named => "ridethrough login URL".to_owned(),
        _ => format!("ridethrough login {}", quoted(&safe::line(&entry.name))),
    }
}

/// Returns the command that would put our bridge in, as words for a shell.
fn offer(place: &ConfigPlace, entry: &Entry) -> Vec<String> {
    let words = ["ridethrough", "import", "--write", "--urls", "--only"].map(str::to_owned);
    let file =
        (place.scope == ConfigScope::Named).then(|| place.path.to_string_lossy().into_owned());
    // Another host, which was not looked at, may have a server of that name.
    let name = match file {
        Some(_) => entry.name.clone(),
        None => format!("{}:{}", place.host.word(), entry.name),
    };
    let more = [name].into_iter().chain(file).map(|word| quoted(&word));
    words.into_iter().chain(more).collect()
}

/// Returns a word quoted for a shell.
fn quoted(word: &str) -> String {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "-_./:@".contains(it);
    if !word.is_empty() && word.chars().all(is_plain) && !word.starts_with('-') {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// Returns the whole report as one object.
pub(super) fn in_json(reports: &[Report<'_>]) -> Value {
    let files = reports.iter().map(|Report { place, servers, written }| {
        let mut file = json!({ "path": place.path.to_string_lossy(), "host": place.host.word() });
        match servers {
            Ok(servers) => {
                let servers = servers.iter().map(|(entry, verdict)| server(place, entry, verdict));
                file["servers"] = servers.collect();
            }
            Err(Unread::Broken(Broken { line, column, what })) => {
                file["broken"] = json!({ "line": line, "column": column, "what": what });
            }
            Err(Unread::Lost(error)) => file["broken"] = json!({ "what": error.to_string() }),
        }
        match written {
            None => {}
            Some(Ok(backup)) => file["backup"] = backup.to_string_lossy().into(),
            Some(Err(why)) => file["unwritten"] = why.as_str().into(),
        }
        file
    });
    json!({ "files": files.collect::<Vec<_>>() })
}

fn server(place: &ConfigPlace, entry: &Entry, verdict: &EntryVerdict) -> Value {
    let word = match verdict {
        EntryVerdict::Already => "already",
        EntryVerdict::ByHand(_) | EntryVerdict::Could => "could",
        EntryVerdict::Left(_) => "left",
        EntryVerdict::Replace(_) => "replace",
    };
    let mut server = json!({ "name": entry.name, "verdict": word });
    if let Some(project) = &entry.project {
        server["project"] = project.as_str().into();
    }
    if let Some(url) = shown_url(entry) {
        server["url"] = url.into();
        server["headers"] = header_names(entry).into();
    }
    match verdict {
        EntryVerdict::ByHand(why) | EntryVerdict::Left(why) => server["why"] = why.as_str().into(),
        EntryVerdict::Could => server["command"] = offer(place, entry).join(" ").into(),
        EntryVerdict::Replace(replacement) => {
            server["dropped"] = json!(replacement.dropped);
            match replacement.login {
                LoginAfter::Needed => server["login"] = log_in(place, entry).into(),
                LoginAfter::NotNeeded => {}
                LoginAfter::TakenOver => server["isLoginTakenOver"] = true.into(),
            }
        }
        EntryVerdict::Already => {}
    }
    server
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_name_steers_the_terminal() {
        assert_eq!(safe::line("a\x1b[31mb\r\u{202e}ü"), "a\\u{1b}[31mb\\u{d}\\u{202e}ü");
    }
}
