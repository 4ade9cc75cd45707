//! Finds the server that is meant by the word that a person typed: a URL, or a name from the config file of
//! an MCP host.

use std::fmt;
use std::path::PathBuf;

use ridethrough::transport::{Endpoint, EndpointError};
use ridethrough::{Client, ClientBuilder};
use ridethrough_config::address::{is_safe_from_listeners, shown, shown_query};
use ridethrough_config::hosts::{Program, Reached, RemoteServer, Servers};
use ridethrough_config::names::{self, Resolved};
use ridethrough_terminal::stray_line::StrayLine;
use secrecy::ExposeSecret;

use crate::ending::next_step::Spoken;
use crate::misuse::Misuse;
use crate::safe;
use crate::server::program;

/// A server that a client can be made for. It prints without the URL's query, where people put keys.
pub(crate) struct Target {
    place: TargetPlace,
    /// The server's name and the file that has it, unless a URL was typed.
    named: Option<(String, PathBuf)>,
    /// The first stray line on stdout, if the server is a program.
    stray_line: StrayLine,
}

enum TargetPlace {
    Program(Program),
    Url { address: RemoteServer, endpoint: Endpoint },
}

/// Finds the server that a word means.
pub(crate) fn resolve(word: &str) -> Result<Target, Misuse> {
    if let Some(program) = program::in_word(word) {
        return Ok(Target::new(TargetPlace::Program(program), None));
    }
    let resolved = names::resolve(word, Servers::here, program::meant)?;
    Target::of(resolved)
}

/// Finds the server behind a bridge: a URL, or a name from a file of the user's own. Hosts start bridges in
/// any folder, so files in the working directory do not count; and a bridge never starts a program.
pub(crate) fn behind_bridge(word: &str) -> Result<Target, Misuse> {
    let resolved = names::resolve(word, Servers::of_user, program::meant)?;
    if let Reached::Local(_) = resolved.reached {
        return Err(Misuse {
            what: format!("`{}` is a program, which a host can start itself", safe::line(word)),
            tried: "its entry was read; nothing was started".to_owned(),
            hint: "a bridge takes a server that has a URL".to_owned(),
        });
    }
    Target::of(resolved)
}

impl Target {
    fn of(resolved: Resolved) -> Result<Self, Misuse> {
        let place = match resolved.reached {
            Reached::Local(program) => TargetPlace::Program(program),
            Reached::Remote(address) => match Endpoint::parse(address.url.expose_secret()) {
                Ok(endpoint) => TargetPlace::Url { address, endpoint },
                // The URL itself may hold a password.
                Err(error) => {
                    let url = address.url.expose_secret();
                    return Err(unfit(url, &error, resolved.named.as_ref()));
                }
            },
        };
        Ok(Self::new(place, resolved.named))
    }

    fn new(place: TargetPlace, named: Option<(String, PathBuf)>) -> Self {
        Self { place, named, stray_line: StrayLine::default() }
    }

    /// Returns a builder for a client of this server, without the headers and the token of its file.
    pub(crate) fn client(&self) -> ClientBuilder {
        match &self.place {
            TargetPlace::Program(program) => spawn(program, self.stray_line.clone()),
            TargetPlace::Url { address, .. } => Client::builder(address.url.expose_secret()),
        }
    }

    /// Returns the address of the server and what its file says to send there; `None` for a program.
    pub(crate) const fn address(&self) -> Option<&RemoteServer> {
        match &self.place {
            TargetPlace::Program(_) => None,
            TargetPlace::Url { address, .. } => Some(address),
        }
    }

    /// Returns what a name means and which file says so. A project's file may name any server and any
    /// program, so a person who types a name is shown which.
    pub(crate) fn origin(&self) -> Option<String> {
        let (name, path) = self.named.as_ref()?;
        Some(format!("`{}` is {self}, from {}", safe::line(name), safe::path(path)))
    }

    /// Returns the server as it can be typed behind a command, without values that may be secrets.
    pub(crate) fn word(&self) -> String {
        match (&self.named, &self.place) {
            (Some((name, _)), _) => safe::line(name),
            (None, TargetPlace::Program(program)) => {
                let args = if program.args.is_empty() { "" } else { " ..." };
                format!("-- {}{args}", safe::line(&program.command))
            }
            (None, TargetPlace::Url { endpoint, .. }) => {
                safe::quoted(&format!("{}{}", shown(endpoint), shown_query(endpoint)))
            }
        }
    }

    /// Returns the server in the words of its user, for hints.
    pub(crate) fn spoken(&self) -> Spoken {
        let url = match &self.place {
            TargetPlace::Program(_) => None,
            TargetPlace::Url { endpoint, .. } => Some(shown(endpoint)),
        };
        let query = match (&self.named, &self.place) {
            (None, TargetPlace::Url { endpoint, .. }) => shown_query(endpoint),
            _ => String::new(),
        };
        Spoken { word: self.word(), url, query, flags: String::new() }
    }

    /// Returns the first stray line on stdout, if the server is a program.
    pub(crate) fn stray_line(&self) -> StrayLine {
        self.stray_line.clone()
    }

    /// Returns what a person waits for while no answer comes, in a word.
    pub(crate) const fn awaited(&self) -> &'static str {
        match &self.place {
            TargetPlace::Program(_) => "the program, which may still be starting",
            TargetPlace::Url { .. } => "the server",
        }
    }

    /// Returns notes for a person before anything is sent.
    pub(crate) fn notes(&self) -> Vec<String> {
        let from = self.origin();
        let is_open = self.is_open().then(|| {
            format!("warning: {self} is not encrypted: others can read and change what is sent")
        });
        from.into_iter().chain(is_open).collect()
    }

    /// Whether the way to the server can be read by others.
    fn is_open(&self) -> bool {
        match &self.place {
            TargetPlace::Program(_) => false,
            TargetPlace::Url { endpoint, .. } => !is_safe_from_listeners(endpoint),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            TargetPlace::Program(program) => {
                write!(f, "the program `{}`", safe::line(&program.command))
            }
            TargetPlace::Url { endpoint, .. } => f.write_str(&shown(endpoint)),
        }
    }
}

/// Begins a client of a program.
pub(crate) fn spawn(program: &Program, stray_line: StrayLine) -> ClientBuilder {
    let mut command = ridethrough::Command::new(&program.command)
        .args(program.args.iter().map(ExposeSecret::expose_secret))
        .on_stray_line(move |line| stray_line.hear(line));
    for (name, value) in &program.env {
        command = command.env(name, value.expose_secret());
    }
    if let Some(folder) = &program.cwd {
        command = command.current_dir(folder);
    }
    ClientBuilder::spawn(command)
}

fn unfit(url: &str, error: &EndpointError, named: Option<&(String, PathBuf)>) -> Misuse {
    let (why, hint) = match error {
        EndpointError::UserInfo => (
            "it has a name or a password before the `@`".to_owned(),
            "leave them out: `--bearer-env VAR` sends the token that a variable holds, `--header 'NAME: ${VAR}'` an \
             API key",
        ),
        _ if has_wrong_port(url) => {
            ("its port is no number from 1 to 65535".to_owned(), "correct the port")
        }
        error => (format!("it {error}"), "give a URL such as `https://example.com/mcp`"),
    };
    Misuse {
        what: format!("the server's address cannot be used: {why}"),
        tried: match named {
            Some((_, path)) => format!("its entry in {} was read", safe::path(path)),
            None => "it was read as a URL; nothing was sent".to_owned(),
        },
        hint: hint.to_owned(),
    }
}

/// Whether the text in the place of a port is not a port. The text before it need not be a host.
fn has_wrong_port(url: &str) -> bool {
    let authority = url.split_once("://").map(|(_, rest)| rest);
    let authority = authority.and_then(|it| it.split(['/', '?', '#']).next()).unwrap_or_default();
    let port = authority.rsplit_once(':').map(|(_, port)| port);
    let port = port.filter(|it| !it.is_empty() && it.bytes().all(|it| it.is_ascii_digit()));
    port.is_some_and(|it| !it.parse::<u16>().is_ok_and(|port| port > 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_url_is_refused_without_being_repeated() {
        let refused = |word| resolve(word).map(|_| ()).unwrap_err().to_string();

        assert!(refused("http://me:s3cret@example.com/").contains("has a name or a password"));
        assert!(refused("http://a:70010/mcp").contains("its port is no number from 1 to 65535"));
        assert!(!refused("http://me:s3cret@example.com/").contains("s3cret"));
        assert!(!refused("me:s3cret@example.com/mcp").contains("s3cret"));
        assert!(!refused("example.com/mcp?key=s3cret").contains("s3cret"));
    }

    #[test]
    fn a_target_prints_without_its_query() {
        let target = resolve("https://example.com/mcp?key=s3cret").unwrap();

        assert_eq!(target.to_string(), "https://example.com/mcp");
    }

    #[test]
    fn a_program_can_be_typed_as_it_is_told() {
        let typed = |words: &[&str]| {
            let word = format!("\0{}", serde_json::to_string(words).unwrap());
            resolve(&word).unwrap().word()
        };

        assert_eq!(typed(&["nosuch"]), "-- nosuch");
        assert_eq!(typed(&["npx", "-y", "s3cret"]), "-- npx ...");
        assert_eq!(
            resolve("https://a.example/mcp?set=issues&v=1&key=s3cret").unwrap().word(),
            "'https://a.example/mcp?set=issues&v=1&key=...'"
        );
        assert_eq!(resolve("https://a/?s3cret").unwrap().word(), "'https://a/?...'");
    }

    #[test]
    fn a_key_in_the_path_is_not_shown() {
        let target = resolve("https://example.com/v1/0123456789abcdef0123/mcp?a=b").unwrap();

        assert_eq!(target.to_string(), "https://example.com/v1/.../mcp");
    }

    #[test]
    fn only_a_way_that_others_can_listen_on_is_warned_of() {
        for (url, is_warned) in [
            ("https://example.com/mcp", false),
            ("http://localhost:8080/mcp", false),
            ("http://127.0.0.2/mcp", false),
            ("http://[::1]:8080/mcp", false),
            ("http://[::ffff:127.0.0.1]/mcp", false),
            ("http://app.localhost:3000/mcp", false),
            ("http://example.com/mcp", true),
            ("http://localhost.example.com/mcp", true),
            ("http://10.0.0.1/mcp", true),
            ("http://127.0.0.1.example.com/mcp", true),
        ] {
            assert_eq!(resolve(url).unwrap().notes().len(), usize::from(is_warned), "{url}");
        }
    }
}
