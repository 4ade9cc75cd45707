//! The flags of a login on a command line. What they mean, `ridethrough-config` knows: lines in the files of hosts
//! have them, too.

use ridethrough_config::login::{FlagSources, LOGIN_SECONDS, LoginFlags, OAuthSettings};

use crate::safe;

/// The flags of a login. Client information may hold a secret, so there is no `Debug`.
#[derive(clap::Args, Clone, Default)]
pub(crate) struct OAuthFlags {
    /// The client that you registered at the authorization server, by its id
    #[arg(long, value_name = "ID", help_heading = HEADING)]
    client_id: Option<String>,
    /// The variable that holds the secret of this client
    #[arg(long, value_name = "VAR", help_heading = HEADING)]
    client_secret_env: Option<String>,
    /// Ask for this scope instead of those that the server names; may be given several times
    #[arg(long = "scope", value_name = "SCOPE", help_heading = HEADING)]
    scopes: Vec<String>,
    /// The name that people read when they consent [default: ridethrough]
    #[arg(long, value_name = "NAME", help_heading = HEADING, hide_short_help = true)]
    client_name: Option<String>,
    /// Where the client's metadata is published: its id at servers that read such documents
    #[arg(long, value_name = "URL", help_heading = HEADING, hide_short_help = true)]
    client_metadata_url: Option<String>,
    /// The port for the browser to come back to [default: any that is free]
    #[arg(long, value_name = "PORT", help_heading = HEADING, hide_short_help = true)]
    callback_port: Option<u16>,
    /// The host for the browser to come back to: `127.0.0.1` or `localhost` [default: 127.0.0.1]
    #[arg(long, alias = "host", value_name = "HOST", help_heading = HEADING, hide_short_help = true)]
    callback_host: Option<String>,
    /// The path for the browser to come back to [default: /callback]
    #[arg(long, value_name = "PATH", help_heading = HEADING, hide_short_help = true)]
    callback_path: Option<String>,
    /// Send this as `resource` instead of what the server's metadata says
    #[arg(long, value_name = "URI", help_heading = HEADING, hide_short_help = true,
          conflicts_with = "disable_resource_parameter")]
    resource: Option<String>,
    /// Send no `resource` parameter: some servers refuse it (Entra ID)
    #[arg(long, help_heading = HEADING, hide_short_help = true)]
    disable_resource_parameter: bool,
    /// Accept this issuer although the server names another one
    #[arg(long, value_name = "ISSUER", help_heading = HEADING, hide_short_help = true)]
    trust_issuer: Option<String>,
    /// Send codes and secrets to this token endpoint, for which you vouch, instead of the one that the issuer names
    #[arg(long, value_name = "URL", help_heading = HEADING, hide_short_help = true)]
    token_endpoint: Option<String>,
    /// Take it that the authorization server knows PKCE although its metadata does not say so
    #[arg(long, help_heading = HEADING, hide_short_help = true)]
    assume_pkce: bool,
    /// Allow an authorization server that is closer to this machine than the server, in a private network
    /// for example
    #[arg(long, help_heading = HEADING, hide_short_help = true)]
    allow_near_issuer: bool,
    /// Send the identity token instead of the access token (Cognito)
    #[arg(long, help_heading = HEADING, hide_short_help = true)]
    use_id_token: bool,
    /// A parameter for the authorization URL, such as `audience=https://api.example`; may be given several
    /// times
    #[arg(long = "authorize-param", value_name = "NAME=VALUE", help_heading = HEADING, hide_short_help = true)]
    authorize_parameters: Vec<String>,
    /// How long to wait for the person [default: 300]
    #[arg(long, alias = "auth-timeout", value_name = "SECONDS", help_heading = HEADING,
          hide_short_help = true, value_parser = clap::value_parser!(u64).range(LOGIN_SECONDS))]
    login_timeout: Option<u64>,
    /// mcp-remote's way to name a client and its secret: JSON, or a file behind `@`
    #[arg(long, value_name = "JSON", hide = true)]
    static_oauth_client_info: Option<String>,
    /// mcp-remote's way to name scopes and the client's name: JSON, or a file behind `@`
    #[arg(long, value_name = "JSON", hide = true)]
    static_oauth_client_metadata: Option<String>,
    /// Get tokens for the client itself, by its secret, without a login
    #[arg(long, hide = true)]
    client_credentials: bool,
    /// mcp-remote's name for `--device`
    #[arg(long, hide = true)]
    device_code: bool,
}

impl OAuthFlags {
    /// Returns the settings of these flags, with variables and files read. Errors never contain a value.
    pub(crate) fn settings(&self) -> Result<OAuthSettings, String> {
        let words = self.words().into_iter().map(|(name, value)| match value {
            // Joined, so that no value can pass for a flag.
            Some(value) => format!("{name}={value}"),
            None => name.to_owned(),
        });
        let variable = |name: &str| std::env::var(name).ok();
        LoginFlags::read(words)?.settings(FlagSources { variable: &variable, may_read: true })
    }

    /// Returns a warning for a person who typed a secret.
    pub(crate) fn warning(&self) -> Option<String> {
        let word = self.static_oauth_client_info.as_deref()?;
        let is_open =
            !word.starts_with('@') && word.contains("client_secret") && !word.contains("${");
        is_open.then(|| {
            "warning: others can read the secret in `--static-oauth-client-info` in the process list; put it into a \
             file (`@FILE`) or a variable (`${NAME}`)"
                .to_owned()
        })
    }

    /// Returns the flags as they can be typed again, without values that may be secrets.
    pub(crate) fn typed(&self) -> String {
        let words = self.words().into_iter().filter(|(name, _)| !UNTYPED.contains(name));
        let words = words.map(|(name, value)| match value {
            // Only the name of a file is shown; a value that was typed may be a secret.
            Some(value) if name.starts_with("--static-") && !value.starts_with('@') => {
                format!("{name} ...")
            }
            Some(value) => format!("{name} {}", safe::quoted(&value)),
            None => name.to_owned(),
        });
        words.collect::<Vec<_>>().join(" ")
    }

    /// Returns the flags that are there, each with its value.
    fn words(&self) -> Vec<(&'static str, Option<String>)> {
        let port = self.callback_port.map(|it| it.to_string());
        let time = self.login_timeout.map(|it| it.to_string());
        let values = [
            ("--client-id", &self.client_id),
            ("--client-secret-env", &self.client_secret_env),
            ("--client-name", &self.client_name),
            ("--client-metadata-url", &self.client_metadata_url),
            ("--callback-port", &port),
            ("--callback-host", &self.callback_host),
            ("--callback-path", &self.callback_path),
            ("--resource", &self.resource),
            ("--trust-issuer", &self.trust_issuer),
            ("--token-endpoint", &self.token_endpoint),
            ("--login-timeout", &time),
        ];
        let values = values.into_iter().map(|(name, value)| (name, value.clone()));
        let scopes = self.scopes.iter().map(|it| ("--scope", Some(it.clone())));
        let parameters = self.authorize_parameters.iter();
        let parameters = parameters.map(|it| ("--authorize-param", Some(it.clone())));
        let switches = [
            ("--disable-resource-parameter", self.disable_resource_parameter),
            ("--assume-pkce", self.assume_pkce),
            ("--allow-near-issuer", self.allow_near_issuer),
            ("--use-id-token", self.use_id_token),
            ("--client-credentials", self.client_credentials),
            ("--device-code", self.device_code),
        ];
        let switches = switches.into_iter().filter(|(_, is_set)| *is_set);
        let statics = [
            ("--static-oauth-client-info", self.static_oauth_client_info.clone()),
            ("--static-oauth-client-metadata", self.static_oauth_client_metadata.clone()),
        ];
        let all = values.filter(|(_, it)| it.is_some()).chain(scopes).chain(parameters);
        let all = all.chain(switches.map(|(name, _)| (name, None)));
        all.chain(statics.into_iter().filter(|(_, it)| it.is_some())).collect()
    }
}

/// The heading of these flags in the help.
const HEADING: &str = "Login";
/// Flags of mcp-remote that a hint leaves out.
const UNTYPED: [&str; 2] = ["--client-credentials", "--device-code"];

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[test]
    fn typed_flags_can_be_typed_again() {
        #[derive(Parser)]
        #[command(no_binary_name = true)]
        struct Line {
            #[command(flatten)]
            flags: OAuthFlags,
        }
        let line = "--client-id a --callback-port 9 --scope read --assume-pkce";

        let flags = Line::try_parse_from(line.split(' ')).unwrap().flags;

        assert_eq!(flags.typed(), line);
        assert_eq!(flags.settings().unwrap().redirect_port, Some(9));
    }
}
