//! The server behind a bridge: `mcp-remote`, our own, or another.

use std::fs;

use secrecy::{ExposeSecret, SecretString};

use super::{RemoteServer, Unreached, bearer, filled, unfilled};
use crate::hosts::entry::Local;
use crate::hosts::line::{FlagMeaning, Request};
use crate::hosts::other::Other;
use crate::hosts::their_login;
use crate::hosts::variables::{Dialect, Unfilled, VariableScope};
use crate::login::{FlagSources, LoginFlags, OAuthSettings};

/// Returns the server behind `mcp-remote` or our own bridge.
pub(crate) fn mcp_remote(
    local: &Local,
    request: &Request,
    env: &[(String, SecretString)],
    dialect: Dialect,
    scope: VariableScope<'_>,
) -> Result<RemoteServer, Unreached> {
    // The variables that the host adds win over the environment.
    let environment = |name: &str| {
        let own = env.iter().find(|(own, _)| own == name);
        own.map(|(_, value)| value.expose_secret().to_owned()).or_else(|| (scope.environment)(name))
    };
    let scope = VariableScope { environment: &environment, ..scope };
    // A variable is filled in by the host, or else by the bridge, and in either case from this environment.
    let arg = |at: usize| filled("args", &local.args[at].text, dialect, scope);
    let url = request.url.ok_or_else(|| Unreached("it names no URL".to_owned()))?;
    let mut address = RemoteServer { url: arg(url)?, ..RemoteServer::default() };
    for flag in &request.flags {
        let Some(value) = flag.value else { continue };
        match flag.name {
            "--bearer-env" => {
                let name = arg(value)?.expose_secret().to_owned();
                let token = environment(&name).ok_or(Unfilled::Unset(name));
                let token = token.map_err(|it| unfilled(flag.name, &it))?;
                address.authorization = Some(bearer(&token.into()));
            }
            "--header" => address.add_line(arg(value)?.expose_secret(), scope)?,
            "--profile" => address.oauth.profile = Some(arg(value)?.expose_secret().to_owned()),
            "--header-file" => {
                let lines = header_file(&arg(value)?, scope.may_read)?;
                let lines = lines.expose_secret().lines().map(str::trim);
                for line in lines.filter(|it| !it.is_empty() && !it.starts_with('#')) {
                    address.add_line(line, scope)?;
                }
            }
            _ => {}
        }
    }
    address.theirs = their_login::arguments(local, request).map(Box::new);
    let login = login(request, &arg, scope)?;
    *address.oauth = OAuthSettings { profile: address.oauth.profile.take(), ..login };
    Ok(address)
}

/// Returns what the flags of a bridge say about the login.
fn login(
    request: &Request,
    arg: &impl Fn(usize) -> Result<SecretString, Unreached>,
    scope: VariableScope<'_>,
) -> Result<OAuthSettings, Unreached> {
    let mut words = Vec::new();
    for flag in request.flags.iter().filter(|flag| flag.meaning == FlagMeaning::OAuth) {
        words.push(flag.name.to_owned());
        words.extend(
            flag.value.map(|at| arg(at).map(|it| it.expose_secret().to_owned())).transpose()?,
        );
    }
    if let Some(port) = request.port {
        words.extend(["--callback-port".to_owned(), arg(port)?.expose_secret().to_owned()]);
    }
    let sources = FlagSources { variable: scope.environment, may_read: scope.may_read };
    LoginFlags::read(words).and_then(|flags| flags.settings(sources)).map_err(Unreached)
}

/// Returns the server behind another bridge.
pub(crate) fn another(
    local: &Local,
    other: &Other,
    token: Option<&str>,
    env: &[(String, SecretString)],
    (dialect, scope): (Dialect, VariableScope<'_>),
) -> Result<RemoteServer, Unreached> {
    let filled = |text: &str| filled("args", &text.into(), dialect, scope);
    let url = filled(local.args[other.url].text.expose_secret())?;
    let mut address = RemoteServer { url, ..RemoteServer::default() };
    for header in &other.headers {
        // The bridge itself fills in no variables.
        let line = filled(&Other::header(&local.args, *header))?;
        let (name, value) = line.expose_secret().split_once(':').unwrap_or_default();
        address.add(name.trim(), value.trim().into())?;
    }
    let token = env.iter().find(|(name, _)| Some(name.as_str()) == token);
    address.authorization = token.map(|(_, value)| bearer(value)).or(address.authorization);
    Ok(address)
}

fn header_file(path: &SecretString, may_read: bool) -> Result<SecretString, Unreached> {
    if !may_read {
        return Err(Unreached("its `--header-file` is not read".to_owned()));
    }
    let text = fs::read_to_string(path.expose_secret());
    let text = text.map_err(|error| Unreached(format!("its `--header-file`: {error}")))?;
    Ok(text.into())
}
