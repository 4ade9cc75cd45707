//! The flags of a login. Where mcp-remote has such a flag, its name is accepted too, so that a line of
//! mcp-remote in a config file can be read by these.

use std::fs;
use std::time::Duration;

use clap::Parser;
use ridethrough_oauth::{ResourceParameter, Secret};
use serde_json::{Map, Value};

use super::{LoginFlow, OAuthSettings};
use crate::ending::next_step;
use crate::options::header;

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
          hide_short_help = true, value_parser = clap::value_parser!(u64).range(1..=86_400))]
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

/// Where the values of flags come from, besides the flags.
#[derive(Clone, Copy)]
pub(crate) struct FlagSources<'a> {
    /// The environment.
    pub(crate) variable: &'a dyn Fn(&str) -> Option<String>,
    /// Whether a file that a flag names may be read.
    pub(crate) may_read: bool,
}

impl OAuthFlags {
    /// Reads the flags among these words, which must all be flags of a login with their values.
    pub(crate) fn read(words: impl IntoIterator<Item = String>) -> Result<Self, String> {
        #[derive(Parser)]
        #[command(no_binary_name = true, disable_help_flag = true)]
        struct Line {
            #[command(flatten)]
            flags: OAuthFlags,
        }
        // The parser's messages repeat values, which may be secrets.
        let read = Line::try_parse_from(words);
        read.map(|line| line.flags).map_err(|_| "a flag of its login cannot be used".to_owned())
    }

    /// Returns the settings of these flags, with variables and files read. Errors never contain a value.
    pub(crate) fn settings(&self, sources: FlagSources<'_>) -> Result<OAuthSettings, String> {
        let mut settings = OAuthSettings {
            flow: self.flow(),
            client_id: self.client_id.clone(),
            client_secret: self.secret(sources)?,
            client_name: self.client_name.clone(),
            client_metadata_url: self.client_metadata_url.clone(),
            scopes: (!self.scopes.is_empty()).then(|| split(&self.scopes)),
            redirect_host: self.callback_host.clone(),
            redirect_port: self.callback_port,
            redirect_path: self.callback_path.clone(),
            resource: self.resource_parameter(),
            trusted_issuer: self.trust_issuer.clone(),
            token_endpoint: self.token_endpoint.clone(),
            assumes_pkce: self.assume_pkce,
            allows_near_hosts: self.allow_near_issuer,
            uses_id_token: self.use_id_token,
            authorize_parameters: self.parameters()?,
            login_within: self.login_timeout.map(Duration::from_secs),
            ..OAuthSettings::default()
        };
        self.take_static(&mut settings, sources)?;
        let has_secret = settings.client_secret.is_some();
        if has_secret && settings.client_id.is_none() {
            return Err("there is a secret of a client without its id".to_owned());
        }
        if settings.flow == Some(LoginFlow::ClientCredentials) && !has_secret {
            return Err("`--client-credentials` needs a client id and its secret".to_owned());
        }
        Ok(settings)
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
        let mut words = Vec::new();
        let port = self.callback_port.map(|it| it.to_string());
        let time = self.login_timeout.map(|it| it.to_string());
        for (name, value) in [
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
        ] {
            words.extend(value.iter().flat_map(|it| [name.to_owned(), next_step::quoted(it)]));
        }
        let scopes = self.scopes.iter().map(|it| ("--scope", it));
        let parameters = self.authorize_parameters.iter().map(|it| ("--authorize-param", it));
        let lists = scopes.chain(parameters);
        words.extend(lists.flat_map(|(name, it)| [name.to_owned(), next_step::quoted(it)]));
        for (name, is_set) in [
            ("--disable-resource-parameter", self.disable_resource_parameter),
            ("--assume-pkce", self.assume_pkce),
            ("--allow-near-issuer", self.allow_near_issuer),
            ("--use-id-token", self.use_id_token),
        ] {
            words.extend(is_set.then(|| name.to_owned()));
        }
        for (name, value) in [
            ("--static-oauth-client-info", &self.static_oauth_client_info),
            ("--static-oauth-client-metadata", &self.static_oauth_client_metadata),
        ] {
            // Only the name of a file is shown; a value that was typed may be a secret.
            let shown = |it: &String| {
                if it.starts_with('@') { next_step::quoted(it) } else { "...".into() }
            };
            words.extend(value.iter().flat_map(|it| [name.to_owned(), shown(it)]));
        }
        words.join(" ")
    }

    const fn flow(&self) -> Option<LoginFlow> {
        match (self.client_credentials, self.device_code) {
            (true, _) => Some(LoginFlow::ClientCredentials),
            (false, true) => Some(LoginFlow::Device),
            (false, false) => None,
        }
    }

    fn secret(&self, sources: FlagSources<'_>) -> Result<Option<Secret>, String> {
        let Some(name) = &self.client_secret_env else { return Ok(None) };
        // The person may have given the secret itself, so it is not repeated.
        let value = (sources.variable)(name).filter(|it| !it.trim().is_empty());
        let value = value.ok_or("the variable that `--client-secret-env` names is not set")?;
        Ok(Some(Secret::new(value.trim())))
    }

    fn resource_parameter(&self) -> Option<ResourceParameter> {
        match self.resource.as_deref() {
            // As in mcp-remote, an empty value means none.
            Some("") => Some(ResourceParameter::NotSent),
            Some(resource) => Some(ResourceParameter::Given(resource.to_owned())),
            None => self.disable_resource_parameter.then_some(ResourceParameter::NotSent),
        }
    }

    fn parameters(&self) -> Result<Vec<(String, String)>, String> {
        let pair = |text: &String| {
            let (name, value) = text.split_once('=').filter(|(name, _)| !name.is_empty())?;
            Some((name.to_owned(), value.to_owned()))
        };
        let pairs: Option<Vec<_>> = self.authorize_parameters.iter().map(pair).collect();
        let pairs = pairs.ok_or("`--authorize-param` must be `NAME=VALUE`")?;
        match pairs.iter().find(|(name, _)| RESERVED.contains(&name.as_str())) {
            Some((name, _)) => Err(format!("`--authorize-param {name}=...` is ours to set")),
            None => Ok(pairs),
        }
    }

    /// Takes settings from mcp-remote's JSON flags where other flags set nothing.
    fn take_static(
        &self,
        settings: &mut OAuthSettings,
        sources: FlagSources<'_>,
    ) -> Result<(), String> {
        let text = |object: &Map<String, Value>, key: &str| {
            object.get(key).and_then(Value::as_str).map(str::to_owned)
        };
        if let Some(word) = &self.static_oauth_client_info {
            let client = object("--static-oauth-client-info", word, sources)?;
            // The client was registered with the redirect of mcp-remote.
            settings.redirect_host.get_or_insert_with(|| "localhost".to_owned());
            settings.redirect_path.get_or_insert_with(|| "/oauth/callback".to_owned());
            if settings.client_id.is_none() {
                settings.client_id = text(&client, "client_id");
                settings.client_secret = text(&client, "client_secret").map(Secret::new);
            }
        }
        if let Some(word) = &self.static_oauth_client_metadata {
            let metadata = object("--static-oauth-client-metadata", word, sources)?;
            let name = settings.client_name.take();
            settings.client_name = name.or_else(|| text(&metadata, "client_name"));
            let scopes = settings.scopes.take();
            settings.scopes = scopes.or_else(|| text(&metadata, "scope").map(|it| split(&[it])));
        }
        Ok(())
    }
}

/// Returns the scopes; one word may hold several.
fn split(words: &[String]) -> Vec<String> {
    words
        .iter()
        .flat_map(|it| it.split([' ', ',']))
        .filter(|it| !it.is_empty())
        .map(str::to_owned)
        .collect()
}

/// Returns a JSON object, from the word itself or from the file that it names.
fn object(flag: &str, word: &str, sources: FlagSources<'_>) -> Result<Map<String, Value>, String> {
    let text = match word.strip_prefix('@') {
        None => word.to_owned(),
        Some(_) if !sources.may_read => return Err(format!("the file of `{flag}` is not read")),
        Some(path) => fs::read_to_string(path)
            .map_err(|error| format!("the file of `{flag}` cannot be read: {error}"))?,
    };
    let text =
        header::expand(&text, sources.variable).map_err(|fault| format!("`{flag}`: {fault}"))?;
    let read = serde_json::from_str(&text);
    read.map_err(|_| format!("`{flag}` must be a JSON object, or a file with one behind `@`"))
}

/// The heading of these flags in the help.
const HEADING: &str = "Login";
/// Parameters that a login sets itself.
const RESERVED: [&str; 8] = [
    "client_id",
    "code_challenge",
    "code_challenge_method",
    "dpop_jkt",
    "redirect_uri",
    "response_type",
    "scope",
    "state",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_mcp_remote_is_read_by_its_own_names() {
        let line = "--host localhost --callback-path /oauth/callback --resource urn:a --authorize-param audience=b \
                    --auth-timeout 60 --use-id-token --client-metadata-url https://c.example/c.json";

        let settings = read(line).unwrap();

        assert_eq!(settings.redirect().host, "localhost");
        assert_eq!(settings.redirect().path, "/oauth/callback");
        assert_eq!(settings.resource, Some(ResourceParameter::Given("urn:a".into())));
        assert_eq!(settings.authorize_parameters, [("audience".to_owned(), "b".to_owned())]);
        assert_eq!(settings.login_within, Some(Duration::from_secs(60)));
        assert!(settings.uses_id_token);
        assert_eq!(settings.client_metadata_url.as_deref(), Some("https://c.example/c.json"));
        assert_eq!(read("--resource=").unwrap().resource, Some(ResourceParameter::NotSent));
    }

    #[test]
    fn a_static_client_of_mcp_remote_brings_its_secret_and_variables_in_it_are_read() {
        let words = [
            "--static-oauth-client-info",
            r#"{"client_id":"a","client_secret":"${KEY}"}"#,
            "--static-oauth-client-metadata",
            r#"{"scope":"x y","client_name":"mine"}"#,
            "--client-credentials",
        ];
        let flags = OAuthFlags::read(words.map(str::to_owned)).unwrap();

        let settings = flags.settings(sources()).unwrap();

        assert_eq!(settings.client_id.as_deref(), Some("a"));
        assert_eq!(settings.client_secret, Some(Secret::new("s3cret")));
        assert_eq!(settings.scopes, Some(vec!["x".into(), "y".into()]));
        assert_eq!(settings.client_name.as_deref(), Some("mine"));
        assert_eq!(settings.flow, Some(LoginFlow::ClientCredentials));
    }

    #[test]
    fn what_cannot_be_used_is_told_without_its_value() {
        for line in [
            "--client-secret-env s3cret --client-id a",
            "--client-secret-env KEY",
            "--authorize-param s3cret",
            "--authorize-param state=s3cret",
            "--static-oauth-client-info s3cret",
            "--static-oauth-client-info @s3cret",
            "--client-credentials",
            "--callback-port s3cret",
            "--s3cret",
        ] {
            let refused = read(line).unwrap_err();

            assert!(!refused.contains("s3cret"), "{line}: {refused}");
        }
    }

    #[test]
    fn typed_flags_can_be_typed_again() {
        let line = "--client-id a --callback-port 9 --scope read --assume-pkce";
        let flags = OAuthFlags::read(line.split(' ').map(str::to_owned)).unwrap();

        assert_eq!(flags.typed(), line);
    }

    fn read(line: &str) -> Result<OAuthSettings, String> {
        OAuthFlags::read(line.split_whitespace().map(str::to_owned))?.settings(sources())
    }

    fn sources() -> FlagSources<'static> {
        FlagSources {
            variable: &|name| (name == "KEY").then(|| "s3cret".to_owned()),
            may_read: false,
        }
    }
}
