//! Resolves the word that a person types where a command wants a server: a URL, or a name from a config file
//! of an MCP host, such as `github` or `cursor:github`.
//!
//! A file of a project may name any server, any variable and any program. Until the user has approved it, its
//! names stand for URLs and nothing else. The commands report which file a name came from.

use std::path::PathBuf;

use ridethrough_terminal::misuse::Misuse;
use ridethrough_terminal::{near, safe};

use crate::hosts::{Host, Reached, RemoteServer, Server, Servers};

/// The server that a word means. Values that may be secrets are left out of its `Debug` output.
#[derive(Debug)]
pub struct Resolved {
    /// The server's name and the file that has it, unless the word was a URL.
    pub named: Option<(String, PathBuf)>,
    /// How it is reached.
    pub reached: Reached,
}

/// Finds the server that a word means: a URL, or one of these servers. A word that means no server, or several, is
/// wrong usage; `program` returns how to type a program, if that may have been meant.
pub fn resolve(
    word: &str,
    servers: impl FnOnce() -> Servers,
    program: impl FnOnce() -> Option<String>,
) -> Result<Resolved, Misuse> {
    let local = local_url(word);
    let word = local.as_deref().unwrap_or(word);
    if word.contains("://") {
        let address = RemoteServer { url: word.into(), ..RemoteServer::default() };
        return Ok(Resolved { named: None, reached: Reached::Remote(address) });
    }
    resolve_among(word, &servers(), program)
}

/// Returns the URL of a server on this machine that was typed without its `http://`.
fn local_url(word: &str) -> Option<String> {
    let host = word.split(['/', '?']).next().unwrap_or_default();
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    let is_port = |(_, port): (&str, &str)| port.parse::<u16>().is_ok();
    let has_port = host.rsplit_once(':').is_some_and(is_port);
    let is_local = ["localhost", "127.0.0.1", "[::1]"].contains(&name);
    // `localhost` alone may be the name of a server.
    (is_local && (has_port || word.contains('/'))).then(|| format!("http://{word}"))
}

fn resolve_among(
    word: &str,
    servers: &Servers,
    program: impl FnOnce() -> Option<String>,
) -> Result<Resolved, Misuse> {
    let (host, name) = match word.split_once(':') {
        Some((host, name)) if Host::named(host).is_some() => (Host::named(host), name),
        _ => (None, word),
    };
    let found = servers.named(name, host);
    let Some(first) = found.first() else { return Err(unknown(name, servers, program())) };
    let reached = first.reach().map_err(|why| Misuse {
        what: format!("the server `{}` cannot be reached by its name: {why}", safe::line(name)),
        tried: format!("its entry in {} was read", safe::path(&first.path())),
        hint: if first.is_answered_for() {
            "set what is missing, or type the URL of the server".to_owned()
        } else {
            let file = safe::quoted(&safe::path(&first.path()));
            format!(
                "`ridethrough trust {file}` shows what the file says before it approves anything"
            )
        },
    })?;
    let is_same = |it: &Server<'_>| it.reach().is_ok_and(|it| it.is_same(&reached));
    if !found.iter().all(is_same) {
        return Err(ambiguous(name, &found));
    }
    Ok(Resolved { named: Some((name.to_owned(), first.path())), reached })
}

fn ambiguous(name: &str, found: &[Server<'_>]) -> Misuse {
    let name = safe::line(name);
    let choice =
        |it: &Server<'_>| format!("`{}:{name}` in {}", it.host().word(), safe::path(&it.path()));
    Misuse {
        what: format!("there are several servers `{name}`, and they are not the same"),
        tried: "the config files of this project and of the user were read".to_owned(),
        hint: format!("say which: {}", found.iter().map(choice).collect::<Vec<_>>().join(", ")),
    }
}

fn unknown(name: &str, servers: &Servers, program: Option<String>) -> Misuse {
    let files = servers.files().map(|(path, why)| {
        let path = safe::path(path);
        why.map_or(path.clone(), |why| format!("{path} ({})", safe::line(&why)))
    });
    let files: Vec<_> = files.collect();
    let names: Vec<_> =
        servers.names().into_iter().map(|it| format!("`{}`", safe::line(it))).collect();
    Misuse {
        what: format!("{} is no URL, and no server of that name is known", shown(name)),
        tried: match files.as_slice() {
            [] => "no config file of an MCP host was found".to_owned(),
            files => format!("the names in {} were compared", files.join(", ")),
        },
        hint: match names.as_slice() {
            _ if is_url_like(name) => "write the whole URL, with `https://` before it".to_owned(),
            [] => {
                program.unwrap_or_else(|| "type a URL such as https://example.com/mcp".to_owned())
            }
            names => {
                let meant = near::question(name, servers.names()).map(|it| safe::line(&it));
                let meant = meant.or(program.map(|it| format!("{it};"))).map(|it| format!("{it} "));
                format!("{}these are known: {}", meant.unwrap_or_default(), names.join(", "))
            }
        },
    }
}

/// Returns the word, unless it looks like a URL without its beginning: that may hold a password.
fn shown(name: &str) -> String {
    if is_url_like(name) { "what was typed".to_owned() } else { format!("`{}`", safe::line(name)) }
}

fn is_url_like(name: &str) -> bool {
    name.contains(['/', '@', '?'])
}

#[cfg(test)]
mod tests;
