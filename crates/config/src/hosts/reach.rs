//! How a server of a config file is reached, with its variables filled in.

mod bridged;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use secrecy::{ExposeSecret, SecretString};

use crate::hosts::entry::{Entry, EntryKind, Local, PlacedText, Remote, Transport};
use crate::hosts::line::ProgramLine;
use crate::hosts::variables::{self, Dialect, Unfilled, VariableScope};
use crate::login::{OAuthSettings, TheirArguments};

/// The address or program of a server, and what is sent to it. Values that may be secrets are left out of its
/// `Debug` output.
#[derive(Debug)]
pub enum Reached {
    /// A program on this machine.
    Local(Program),
    /// A server at a URL.
    Remote(RemoteServer),
}

/// A program to start.
#[derive(Debug)]
pub struct Program {
    /// What is started.
    pub command: String,
    /// Its arguments.
    pub args: Vec<SecretString>,
    /// Variables that it gets.
    pub env: Vec<(String, SecretString)>,
    /// The folder that it runs in.
    pub cwd: Option<PathBuf>,
}

/// A server at a URL.
#[derive(Debug, Default)]
pub struct RemoteServer {
    /// The URL; paths and queries too hold keys.
    pub url: SecretString,
    /// The value of `Authorization`: a scheme and its credentials.
    pub authorization: Option<SecretString>,
    /// All headers but `Authorization`.
    pub headers: Vec<(String, SecretString)>,
    /// How to log in to an account at the server.
    pub oauth: Box<OAuthSettings>,
    /// The arguments of `mcp-remote` there, if the entry starts a bridge.
    pub theirs: Option<Box<TheirArguments>>,
}

impl Reached {
    /// Whether both are one server, reached in one way.
    pub fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Local(one), Self::Local(two)) => {
                let is_same = |(one, two): (&SecretString, &SecretString)| {
                    one.expose_secret() == two.expose_secret()
                };
                one.command == two.command
                    && one.cwd == two.cwd
                    && one.args.len() == two.args.len()
                    && one.args.iter().zip(&two.args).all(is_same)
                    && open(&one.env) == open(&two.env)
            }
            (Self::Remote(one), Self::Remote(two)) => {
                let authorization = |it: &RemoteServer| {
                    it.authorization.clone().map(|it| it.expose_secret().to_owned())
                };
                one.url.expose_secret() == two.url.expose_secret()
                    && authorization(one) == authorization(two)
                    && open(&one.headers) == open(&two.headers)
                    && one.oauth == two.oauth
            }
            _ => false,
        }
    }
}

/// Returns names and values as a map, so that their order does not count.
fn open(pairs: &[(String, SecretString)]) -> BTreeMap<&str, &str> {
    pairs.iter().map(|(name, value)| (name.as_str(), value.expose_secret())).collect()
}

/// Why a server cannot be reached from here.
#[derive(Debug, PartialEq, Eq)]
pub struct Unreached(String);

impl Unreached {
    pub(crate) fn because(why: &str) -> Self {
        Self(why.to_owned())
    }
}

impl fmt::Display for Unreached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Fills in the variables of one entry.
pub(crate) fn reach(
    entry: &Entry,
    dialect: Dialect,
    scope: VariableScope<'_>,
) -> Result<Reached, Unreached> {
    let env = entry.env.iter().map(|(name, value)| {
        let value = filled(&format!("env.{name}"), value, dialect, scope)?;
        Ok((name.clone(), value))
    });
    let env = env.collect::<Result<Vec<_>, Unreached>>()?;
    match &entry.kind {
        EntryKind::Unknown(why) => Err(Unreached((*why).to_owned())),
        EntryKind::Remote(remote) => address(remote, dialect, scope).map(Reached::Remote),
        EntryKind::Local(local) => match ProgramLine::read(local) {
            ProgramLine::McpRemote(request) | ProgramLine::Ours(request) => {
                bridged::mcp_remote(local, &request, &env, dialect, scope).map(Reached::Remote)
            }
            ProgramLine::Other(other) => {
                let token = other.token_of(entry);
                bridged::another(local, &other, token, &env, (dialect, scope)).map(Reached::Remote)
            }
            _ => program(local, env, dialect, scope).map(Reached::Local),
        },
    }
}

fn address(
    remote: &Remote,
    dialect: Dialect,
    scope: VariableScope<'_>,
) -> Result<RemoteServer, Unreached> {
    match remote.transport {
        // The client finds out which of the two the server speaks.
        Transport::Http | Transport::Sse => {}
        Transport::Unknown => return Err(Unreached("its transport is not known".to_owned())),
    }
    let mut address = RemoteServer {
        url: filled("url", &remote.url, dialect, scope)?,
        ..RemoteServer::default()
    };
    for (name, value) in &remote.headers {
        let field = format!("headers.{name}");
        address.add(name, filled(&field, value, dialect, scope)?)?;
    }
    let read = |field: &str, name: &str| {
        let value = (scope.environment)(name).map(SecretString::from);
        value.ok_or_else(|| unfilled(field, &Unfilled::Unset(name.to_owned())))
    };
    for (name, variable) in &remote.env_headers {
        address.add(name, read("env_http_headers", variable)?)?;
    }
    if let Some(variable) = &remote.bearer_env {
        address.authorization = Some(bearer(&read("bearer_token_env_var", variable)?));
    }
    Ok(address)
}

fn program(
    local: &Local,
    env: Vec<(String, SecretString)>,
    dialect: Dialect,
    scope: VariableScope<'_>,
) -> Result<Program, Unreached> {
    let text = |field: &str, text: &SecretString| filled(field, text, dialect, scope);
    let args = local.args.iter().map(|word: &PlacedText| text("args", &word.text));
    let cwd = local.cwd.as_ref().map(|cwd| text("cwd", &cwd.as_str().into())).transpose()?;
    Ok(Program {
        command: text("command", &local.command.text)?.expose_secret().to_owned(),
        args: args.collect::<Result<_, _>>()?,
        env,
        cwd: cwd.map(|cwd| cwd.expose_secret().into()),
    })
}

impl RemoteServer {
    /// Adds a header in the form of the command line: `Name: value`.
    fn add_line(&mut self, line: &str, scope: VariableScope<'_>) -> Result<(), Unreached> {
        let (name, value) =
            line.split_once(':').ok_or_else(|| Unreached("a header has no colon".to_owned()))?;
        let field = format!("--header {}", name.trim());
        let value = filled(&field, &value.trim().into(), Dialect::Shell, scope)?;
        self.add(name.trim(), value)
    }

    fn add(&mut self, name: &str, value: SecretString) -> Result<(), Unreached> {
        if !name.eq_ignore_ascii_case("authorization") {
            self.headers.push((name.to_owned(), value));
            return Ok(());
        }
        self.authorization = Some(value);
        Ok(())
    }
}

/// Returns the value of `Authorization` with a bearer token.
fn bearer(token: &SecretString) -> SecretString {
    format!("Bearer {}", token.expose_secret().trim()).into()
}

fn filled(
    field: &str,
    text: &SecretString,
    dialect: Dialect,
    scope: VariableScope<'_>,
) -> Result<SecretString, Unreached> {
    let expanded = variables::expand(text.expose_secret(), dialect, scope);
    expanded.map(SecretString::from).map_err(|it| unfilled(field, &it))
}

fn unfilled(field: &str, unfilled: &Unfilled) -> Unreached {
    Unreached(format!("its `{field}` needs {unfilled}"))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::document::ConfigDocument;
    use crate::hosts::entry::entries;

    fn reached(server: &str, dialect: Dialect) -> Result<Reached, Unreached> {
        let text = format!(r#"{{"mcpServers":{{"it":{server}}}}}"#);
        let document = ConfigDocument::read(Path::new("a.json"), text.into()).ok().unwrap();
        let environment = |name: &str| (name == "TOKEN").then(|| "t0k".to_owned());
        let scope = VariableScope {
            environment: &environment,
            home: None,
            workspace: None,
            may_read: false,
        };
        reach(&entries(&document)[0], dialect, scope)
    }

    fn remote(server: &str, dialect: Dialect) -> RemoteServer {
        match reached(server, dialect) {
            Ok(Reached::Remote(address)) => address,
            other => panic!("{other:?}"),
        }
    }

    fn plain(secret: &SecretString) -> &str {
        secret.expose_secret()
    }

    #[test]
    fn a_remote_entry_gives_its_url_headers_and_token() {
        let server = r#"{"url":"https://a.example/${TOKEN}",
            "headers":{"Authorization":"Bearer ${TOKEN}","X-Team":"blue"}}"#;

        let address = remote(server, Dialect::Shell);

        assert_eq!(plain(&address.url), "https://a.example/t0k");
        assert_eq!(plain(address.authorization.as_ref().unwrap()), "Bearer t0k");
        assert_eq!((&*address.headers[0].0, plain(&address.headers[0].1)), ("X-Team", "blue"));
        assert_eq!(address.headers.len(), 1);
        assert!(!format!("{address:?}").contains("t0k"));
    }

    #[test]
    fn mcp_remote_is_seen_through_with_the_environment_that_its_host_gives_it() {
        let server = r#"{"command":"npx","args":["mcp-remote","https://a.example/mcp","--header",
            "Authorization:${AUTH}","--header","X-Id: ${TOKEN}"],"env":{"AUTH":"Bearer own"}}"#;

        for dialect in [Dialect::None, Dialect::Shell] {
            let address = remote(server, dialect);

            assert_eq!(plain(address.authorization.as_ref().unwrap()), "Bearer own");
            assert_eq!(plain(&address.headers[0].1), "t0k");
        }
    }

    #[test]
    fn a_variable_that_is_not_set_names_its_field() {
        let server = r#"{"url":"https://a.example","headers":{"X-Key":"${NOWHERE}"}}"#;

        let error = reached(server, Dialect::Shell).unwrap_err();

        let words = "its `headers.X-Key` needs the variable `NOWHERE`, which is not set";
        assert_eq!(error.to_string(), words);
    }

    #[test]
    fn the_login_of_a_bridge_is_read_from_its_flags() {
        let server = r#"{"command":"npx","args":["mcp-remote","https://a.example/mcp","9696",
            "--static-oauth-client-info","{\"client_id\":\"a\",\"client_secret\":\"${TOKEN}\"}",
            "--authorize-param","audience=b"]}"#;
        let ours = r#"{"command":"ridethrough","args":["bridge","https://a.example/mcp","--profile",
            "work","--scope","read"]}"#;

        let (theirs, ours) = (remote(server, Dialect::None), remote(ours, Dialect::None));

        assert_eq!(theirs.oauth.client_id.as_deref(), Some("a"));
        assert_eq!(theirs.oauth.client_secret.as_ref().unwrap().expose(), "t0k");
        assert_eq!(theirs.oauth.redirect_port, Some(9696));
        // A client that was registered for mcp-remote is known with this redirect only.
        assert_eq!(theirs.oauth.redirect().path, "/oauth/callback");
        assert_eq!(theirs.oauth.redirect().host, "localhost");
        assert_eq!(ours.oauth.profile.as_deref(), Some("work"));
        assert_eq!(ours.oauth.scopes, Some(vec!["read".to_owned()]));
        assert_eq!(ours.oauth.redirect().path, "/callback");
    }

    #[test]
    fn codex_names_variables_and_they_are_read() {
        let server = r#"{"url":"https://a.example","bearer_token_env_var":"TOKEN",
            "env_http_headers":{"X-Key":"TOKEN"}}"#;

        let address = remote(server, Dialect::None);

        assert_eq!(plain(address.authorization.as_ref().unwrap()), "Bearer t0k");
        assert_eq!(plain(&address.headers[0].1), "t0k");
    }

    #[test]
    fn a_local_server_is_a_program_with_its_variables_filled_in() {
        let server = r#"{"command":"serve","args":["${TOKEN}"],"env":{"A":"${TOKEN}"},"cwd":"/w"}"#;

        let Ok(Reached::Local(program)) = reached(server, Dialect::Shell) else { panic!() };

        assert_eq!((&*program.command, plain(&program.args[0])), ("serve", "t0k"));
        assert_eq!((plain(&program.env[0].1), program.cwd), ("t0k", Some("/w".into())));
    }

    #[test]
    fn any_scheme_of_authorization_is_passed_on() {
        let basic = r#"{"url":"https://a.example","headers":{"authorization":"Basic ${TOKEN}"}}"#;

        let Ok(Reached::Remote(address)) = reached(basic, Dialect::Shell) else { panic!() };

        assert_eq!(plain(address.authorization.as_ref().unwrap()), "Basic t0k");
    }

    #[test]
    fn a_server_of_the_older_transport_is_reached_like_any_other() {
        let old = r#"{"url":"https://a.example","type":"sse"}"#;

        let Ok(Reached::Remote(address)) = reached(old, Dialect::Shell) else { panic!() };

        assert_eq!(plain(&address.url), "https://a.example");
    }
}
