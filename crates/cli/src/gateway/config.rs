//! What a config file means for the gateway: the servers, with the way to each.

use std::path::{Path, PathBuf};

use ridethrough_config::folders::users_file;
use ridethrough_config::gateway::{self, GatewayFile, GatewayServer, LoginOf};
use ridethrough_config::hosts::Reached;
use ridethrough_gateway::ServerSettings;

use super::connect::ServerWay;
use super::pins;
use super::principals::{self, PrincipalTokens};
use crate::misuse::Misuse;
use crate::platform;
use crate::safe;

/// A config file that was read.
pub(super) struct GatewayConfig {
    /// What the file says, but for its servers.
    pub(super) file: GatewayFile,
    pub(super) servers: Vec<ServerSettings>,
    pub(super) tokens: PrincipalTokens,
    /// The servers at which each principal has a login of its own.
    pub(super) with_logins: Vec<String>,
}

/// Returns the file to read: the one that was named, or the user's own. What lies in the working directory is
/// never read unasked.
pub(super) fn path(named: Option<&Path>) -> Result<PathBuf, Misuse> {
    let own = users_file();
    match named.map(Path::to_owned).or(own) {
        Some(path) if path.is_file() => Ok(path),
        Some(path) => Err(Misuse {
            what: format!("there is no file `{}`", safe::path(&path)),
            tried: "nothing was started".to_owned(),
            hint: "name the config file of an MCP host: `ridethrough gateway --config mcp.json`; \
                   `ridethrough gateway init` makes one from those on this machine"
                .to_owned(),
        }),
        None => Err(Misuse {
            what: "this user has no folder for settings".to_owned(),
            tried: "nothing was started".to_owned(),
            hint: "name a file with `--config FILE`".to_owned(),
        }),
    }
}

/// Reads a config file. Nothing is started and nothing is sent.
pub(super) fn read(path: &Path) -> Result<GatewayConfig, Misuse> {
    let mut file = gateway::read(path).map_err(|faults| wrong(path, &faults))?;
    check_programs(path, &file)?;
    let tokens = match &file.access.tokens {
        Some(path) => PrincipalTokens::read(path)?,
        None => principals::default_path()
            .map_or_else(|_| Ok(PrincipalTokens::default()), |path| PrincipalTokens::read(&path))?,
    };
    let with_logins = file.servers.iter().filter(|it| it.login == LoginOf::Principal);
    let with_logins = with_logins.map(|it| it.name.clone()).collect();
    let servers: Vec<_> = file.servers.drain(..).map(settings).collect();
    if servers.is_empty() {
        let fault = "it names no server that is switched on".to_owned();
        return Err(wrong(path, &[fault]));
    }
    Ok(GatewayConfig { file, servers, tokens, with_logins })
}

/// A command is started, and a right is given, only if no one else can have written it.
fn check_programs(path: &Path, file: &GatewayFile) -> Result<(), Misuse> {
    let is_program = |it: &GatewayServer| matches!(it.reached, Reached::Local(_));
    let is_trusted = file.servers.iter().any(is_program) || file.access.is_given;
    if !is_trusted || platform::is_ours_alone(path) {
        return Ok(());
    }
    Err(Misuse {
        what: format!(
            "`{}` names programs to start, or who may come in, and others can write it",
            safe::path(path)
        ),
        tried: "it was read; nothing was started".to_owned(),
        hint: "make it yours alone: `chmod go-w FILE`, and `chown` if it is another's".to_owned(),
    })
}

fn settings(server: GatewayServer) -> ServerSettings {
    let GatewayServer { name, reached, rules, share, login, hints, .. } = server;
    let GatewayServer { places, queue, links, idle, timeout, .. } = server;
    let mut settings = ServerSettings::new(&name, ServerWay::new(reached, login));
    settings.approved = rules.is_pinned.then(|| pins::read(&name)).flatten();
    settings.rules = rules;
    settings.share = share.unwrap_or_default();
    settings.places = places.unwrap_or(settings.places);
    settings.queue = queue.unwrap_or(settings.queue);
    settings.links = links.unwrap_or(settings.links);
    settings.idle = idle.unwrap_or(settings.idle);
    settings.timeout = timeout;
    settings.hints = hints;
    settings
}

fn wrong(path: &Path, faults: &[String]) -> Misuse {
    let path = safe::path(path);
    let faults: Vec<_> = faults.iter().map(|it| safe::line(it)).collect();
    Misuse {
        what: format!("`{path}` cannot be used: {}", faults.join("; ")),
        tried: "it was read; nothing was started".to_owned(),
        hint: "mend the file; `ridethrough gateway schema` says what may be in it".to_owned(),
    }
}

/// As many processes as a machine takes that people work on.
pub(super) const MOST_CHILDREN: usize = 64;
