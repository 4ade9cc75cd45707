//! The plan and its outcome, for people and for programs.
//!
//! Names come from files of unknown origin: they reach a terminal as text only, without control characters.

use std::io::{self, Write};
use std::path::PathBuf;

use ridethrough_config::hosts::{Broken, ConfigPlace, ConfigScope, Entry, File, Unread};
use ridethrough_config::replacing::{EntryVerdict, LoginAfter, header_names, shown_url};
use serde_json::{Value, json};

use crate::out::{Colour, painted};
use crate::safe;

/// What becomes of a server, as people and programs are told it.
pub(super) trait Verdict {
    /// Returns it in a word, and the colour of that.
    fn word(&self) -> (&'static str, Colour);

    /// Returns it in a sentence.
    fn story(&self, place: &ConfigPlace, entry: &Entry) -> String;

    /// Adds to a server in JSON what else programs are told.
    fn complete(&self, place: &ConfigPlace, entry: &Entry, server: &mut Value);
}

/// The outcome for one file.
pub(super) struct Report<'a, V> {
    pub(super) place: &'a ConfigPlace,
    pub(super) servers: Result<Vec<(&'a Entry, &'a V)>, &'a Unread>,
    /// The backup, or why nothing was written.
    pub(super) written: Option<&'a Result<PathBuf, String>>,
}

impl<'a, V: Verdict> Report<'a, V> {
    pub(super) fn of(
        file: &'a File,
        verdicts: &'a [V],
        written: Option<&'a Result<PathBuf, String>>,
    ) -> Self {
        let servers = Ok(file.entries.iter().zip(verdicts).collect());
        Self { place: &file.place, servers, written }
    }

    pub(super) const fn unread((place, why): &'a (ConfigPlace, Unread)) -> Self {
        Self { place, servers: Err(why), written: None }
    }

    /// Whether the file was read, and written if it was to be.
    pub(super) fn is_whole(&self) -> bool {
        self.servers.is_ok() && !matches!(self.written, Some(Err(_)))
    }

    /// Returns the verdicts of a file that was read, and written if it was to be.
    pub(super) fn verdicts(&self) -> impl Iterator<Item = &'a V> {
        let servers = self.servers.iter().flatten().filter(|_| self.is_whole());
        servers.map(|(_, verdict)| *verdict)
    }

    /// Writes the report in lines.
    pub(super) fn write(&self, is_colourful: bool, out: &mut dyn Write) -> io::Result<()> {
        let Self { place, servers, written } = self;
        let heading = format!("{}  {}", place.host, safe::path(&place.path));
        writeln!(out, "{}", painted(&heading, Colour::Bold, is_colourful))?;
        let wrong = |text: &str| painted(&safe::line(text), Colour::Red, is_colourful);
        match servers {
            Err(why) => writeln!(out, "  {}", wrong(&why.to_string()))?,
            Ok(servers) if servers.is_empty() => writeln!(out, "  no servers in it")?,
            Ok(servers) => servers.iter().try_for_each(|(entry, verdict)| {
                writeln!(out, "{}", line(place, entry, *verdict, is_colourful))
            })?,
        }
        match written {
            None => {}
            Some(Ok(backup)) => writeln!(out, "  written; as it was: {}", safe::path(backup))?,
            Some(Err(why)) => writeln!(out, "  {}", wrong(&format!("not written: {why}")))?,
        }
        writeln!(out)
    }

    /// Returns the report as an object.
    pub(super) fn json(&self) -> Value {
        let Self { place, servers, written } = self;
        let mut file = json!({ "path": place.path.to_string_lossy(), "host": place.host.word() });
        match servers {
            Ok(servers) => {
                let servers = servers.iter().map(|(entry, verdict)| {
                    let mut server = json!({ "name": entry.name, "verdict": verdict.word().0 });
                    if let Some(project) = &entry.project {
                        server["project"] = project.as_str().into();
                    }
                    verdict.complete(place, entry, &mut server);
                    server
                });
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
    }
}

/// Returns one server as a line for people.
pub(super) fn line(
    place: &ConfigPlace,
    entry: &Entry,
    verdict: &impl Verdict,
    is_colourful: bool,
) -> String {
    let (word, colour) = verdict.word();
    let name = match &entry.project {
        Some(project) => format!("{} (in {})", safe::line(&entry.name), safe::line(project)),
        None => safe::line(&entry.name),
    };
    let word = painted(&format!("{word:<8}"), colour, is_colourful);
    format!("  {word} {name}: {}", safe::line(&verdict.story(place, entry)))
}

impl Verdict for EntryVerdict {
    fn word(&self) -> (&'static str, Colour) {
        match self {
            Self::Already => ("already", Colour::Green),
            Self::ByHand(_) | Self::Could => ("could", Colour::Yellow),
            Self::Left(_) => ("left", Colour::Faint),
            Self::Replace(_) => ("replace", Colour::Green),
        }
    }

    fn story(&self, place: &ConfigPlace, entry: &Entry) -> String {
        let url = shown_url(entry).unwrap_or_default();
        let headers = match header_names(entry).as_slice() {
            [] => String::new(),
            names => format!(", with {}", names.join(", ")),
        };
        match self {
            Self::Already if url.is_empty() => "it is the gateway".to_owned(),
            Self::Already => format!("it goes through ridethrough to {url}{headers}"),
            Self::ByHand(why) => {
                format!(
                    "{url}{headers}: could go through `ridethrough bridge`, written by hand: {why}"
                )
            }
            Self::Could => {
                let offer = offer(place, entry).join(" ");
                format!("{url}{headers}: could go through `ridethrough bridge`: `{offer}`")
            }
            Self::Left(why) if url.is_empty() => why.clone(),
            Self::Left(why) => format!("{url}: {why}"),
            Self::Replace(replacement) => {
                let dropped = match replacement.dropped.as_slice() {
                    [] => String::new(),
                    flags => format!("; needs no {}", flags.join(", ")),
                };
                let login = match replacement.login {
                    LoginAfter::Needed => format!("; then log in: `{}`", log_in(place, entry)),
                    LoginAfter::NotNeeded => String::new(),
                    LoginAfter::TakenOver => "; the login of mcp-remote is used".to_owned(),
                };
                format!(
                    "{} by `ridethrough bridge {url}`{headers}{dropped}{login}",
                    replacement.name
                )
            }
        }
    }

    fn complete(&self, place: &ConfigPlace, entry: &Entry, server: &mut Value) {
        if let Some(url) = shown_url(entry) {
            server["url"] = url.into();
            server["headers"] = header_names(entry).into();
        }
        match self {
            Self::ByHand(why) | Self::Left(why) => server["why"] = why.as_str().into(),
            Self::Could => server["command"] = offer(place, entry).join(" ").into(),
            Self::Replace(replacement) => {
                server["dropped"] = json!(replacement.dropped);
                match replacement.login {
                    LoginAfter::Needed => server["login"] = log_in(place, entry).into(),
                    LoginAfter::NotNeeded => {}
                    LoginAfter::TakenOver => server["isLoginTakenOver"] = true.into(),
                }
            }
            Self::Already => {}
        }
    }
}

/// Returns the command that logs in to this server.
pub(super) fn log_in(place: &ConfigPlace, entry: &Entry) -> String {
    match place.scope {
        // Names of such a file are known to `import` only.
        ConfigScope::Named => "ridethrough login URL".to_owned(),
        _ => format!("ridethrough login {}", safe::quoted(&safe::line(&entry.name))),
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
    let more = [name].into_iter().chain(file).map(|word| safe::quoted(&word));
    words.into_iter().chain(more).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_name_steers_the_terminal() {
        assert_eq!(safe::line("a\x1b[31mb\r\u{202e}ü"), "a\\u{1b}[31mb\\u{d}\\u{202e}ü");
    }
}
