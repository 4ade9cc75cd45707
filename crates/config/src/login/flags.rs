//! The flags of a login, as words of a command line or of a line in the file of a host. Where mcp-remote has such a
//! flag, its name is accepted too, so that a line of mcp-remote can be read.

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use ridethrough_oauth::{ResourceParameter, Secret};
use serde_json::{Map, Value};

use crate::login::{LoginFlow, OAuthSettings};
use crate::values;

/// The flags of a login. Client information may hold a secret, so there is no `Debug`.
#[derive(Clone, Default)]
pub struct LoginFlags {
    /// What flags say without further reading.
    plain: OAuthSettings,
    client_secret_env: Option<String>,
    scopes: Vec<String>,
    resource: Option<String>,
    authorize_parameters: Vec<String>,
    static_client: Option<String>,
    static_metadata: Option<String>,
}

/// Where the values of flags come from, besides the flags.
#[derive(Clone, Copy)]
pub struct FlagSources<'a> {
    /// The environment.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// Whether a file that a flag names may be read.
    pub may_read: bool,
}

impl LoginFlags {
    /// Reads words that must all be flags of a login, with their values. The fault repeats no word: it may be a
    /// secret.
    pub fn read(words: impl IntoIterator<Item = String>) -> Result<Self, String> {
        let mut flags = Self::default();
        let mut words = words.into_iter();
        let mut seen = BTreeSet::new();
        while let Some(word) = words.next() {
            let (name, behind) = match word.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (word.as_str(), None),
            };
            let known =
                FLAGS.iter().find(|(ours, theirs, _)| *ours == name || *theirs == Some(name));
            let &(name, _, takes) = known.ok_or(UNUSABLE)?;
            let is_fit = |it: &String| *it == "-" || !it.starts_with('-');
            let value = match (takes, behind) {
                (FlagTakes::Nothing, None) => String::new(),
                (FlagTakes::Nothing, Some(_)) => return Err(UNUSABLE.to_owned()),
                (_, Some(value)) => value,
                (_, None) => words.next().filter(is_fit).ok_or(UNUSABLE)?,
            };
            let is_new = seen.insert(name) || takes == FlagTakes::Several;
            flags.take(name, value).filter(|()| is_new).ok_or(UNUSABLE)?;
        }
        let is_torn = ["--resource", "--disable-resource-parameter"];
        if is_torn.iter().all(|it| seen.contains(it)) {
            return Err(UNUSABLE.to_owned());
        }
        Ok(flags)
    }

    /// Returns a flag of a login by its name in a line of mcp-remote, or of our bridge, and whether a value follows it.
    pub(crate) fn find(name: &str, is_ours: bool) -> Option<(&'static str, bool)> {
        FLAGS.iter().find_map(|(ours, theirs, takes)| {
            let names = theirs.iter().chain(Some(ours).filter(|_| is_ours));
            let known = names.copied().find(|it| *it == name)?;
            Some((known, *takes != FlagTakes::Nothing))
        })
    }

    fn take(&mut self, name: &str, value: String) -> Option<()> {
        let plain = &mut self.plain;
        match name {
            "--allow-near-issuer" => plain.allows_near_hosts = true,
            "--assume-pkce" => plain.assumes_pkce = true,
            "--authorize-param" => self.authorize_parameters.push(value),
            "--callback-host" => plain.redirect_host = Some(value),
            "--callback-path" => plain.redirect_path = Some(value),
            "--callback-port" => plain.redirect_port = Some(value.parse().ok()?),
            // Without a person, whatever else is said.
            "--client-credentials" => plain.flow = Some(LoginFlow::ClientCredentials),
            "--client-id" => plain.client_id = Some(value),
            "--client-metadata-url" => plain.client_metadata_url = Some(value),
            "--client-name" => plain.client_name = Some(value),
            "--client-secret-env" => self.client_secret_env = Some(value),
            "--device-code" => plain.flow = plain.flow.or(Some(LoginFlow::Device)),
            "--disable-resource-parameter" => plain.resource = Some(ResourceParameter::NotSent),
            "--login-timeout" => {
                let seconds = value.parse().ok().filter(|it| LOGIN_SECONDS.contains(it))?;
                plain.login_within = Some(Duration::from_secs(seconds));
            }
            "--resource" => self.resource = Some(value),
            "--scope" => self.scopes.push(value),
            "--static-oauth-client-info" => self.static_client = Some(value),
            "--static-oauth-client-metadata" => self.static_metadata = Some(value),
            "--token-endpoint" => plain.token_endpoint = Some(value),
            "--trust-issuer" => plain.trusted_issuer = Some(value),
            _ => plain.uses_id_token = true,
        }
        Some(())
    }

    /// Returns the settings of these flags, with variables and files read. Errors never contain a value.
    pub fn settings(&self, sources: FlagSources<'_>) -> Result<OAuthSettings, String> {
        let mut settings = OAuthSettings {
            client_secret: self.secret(sources)?,
            scopes: (!self.scopes.is_empty()).then(|| split(&self.scopes)),
            authorize_parameters: self.parameters()?,
            ..self.plain.clone()
        };
        settings.resource = match self.resource.as_deref() {
            // As in mcp-remote, an empty value means none.
            Some("") => Some(ResourceParameter::NotSent),
            Some(resource) => Some(ResourceParameter::Given(resource.to_owned())),
            None => settings.resource,
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

    fn secret(&self, sources: FlagSources<'_>) -> Result<Option<Secret>, String> {
        let Some(name) = &self.client_secret_env else { return Ok(None) };
        // The person may have given the secret itself, so it is not repeated.
        let value = (sources.variable)(name).filter(|it| !it.trim().is_empty());
        let value = value.ok_or("the variable that `--client-secret-env` names is not set")?;
        Ok(Some(Secret::new(value.trim())))
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
        if let Some(word) = &self.static_client {
            let client = object("--static-oauth-client-info", word, sources)?;
            // The client was registered with the redirect of mcp-remote.
            settings.redirect_host.get_or_insert_with(|| "localhost".to_owned());
            settings.redirect_path.get_or_insert_with(|| "/oauth/callback".to_owned());
            if settings.client_id.is_none() {
                settings.client_id = text(&client, "client_id");
                settings.client_secret = text(&client, "client_secret").map(Secret::new);
            }
        }
        if let Some(word) = &self.static_metadata {
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
        values::expanded(&text, sources.variable).map_err(|fault| format!("`{flag}`: {fault}"))?;
    let read = serde_json::from_str(&text);
    read.map_err(|_| format!("`{flag}` must be a JSON object, or a file with one behind `@`"))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum FlagTakes {
    Nothing,
    One,
    /// One each time that it is given.
    Several,
}

/// The flags, each with the name that mcp-remote has for it, if it has any.
const FLAGS: [(&str, Option<&str>, FlagTakes); 21] = [
    ("--allow-near-issuer", None, FlagTakes::Nothing),
    ("--assume-pkce", None, FlagTakes::Nothing),
    ("--authorize-param", Some("--authorize-param"), FlagTakes::Several),
    ("--callback-host", Some("--host"), FlagTakes::One),
    ("--callback-path", Some("--callback-path"), FlagTakes::One),
    ("--callback-port", None, FlagTakes::One),
    ("--client-credentials", Some("--client-credentials"), FlagTakes::Nothing),
    ("--client-id", None, FlagTakes::One),
    ("--client-metadata-url", Some("--client-metadata-url"), FlagTakes::One),
    ("--client-name", None, FlagTakes::One),
    ("--client-secret-env", None, FlagTakes::One),
    ("--device-code", Some("--device-code"), FlagTakes::Nothing),
    ("--disable-resource-parameter", Some("--disable-resource-parameter"), FlagTakes::Nothing),
    ("--login-timeout", Some("--auth-timeout"), FlagTakes::One),
    ("--resource", Some("--resource"), FlagTakes::One),
    ("--scope", None, FlagTakes::Several),
    ("--static-oauth-client-info", Some("--static-oauth-client-info"), FlagTakes::One),
    ("--static-oauth-client-metadata", Some("--static-oauth-client-metadata"), FlagTakes::One),
    ("--token-endpoint", Some("--token-endpoint"), FlagTakes::One),
    ("--trust-issuer", None, FlagTakes::One),
    ("--use-id-token", Some("--use-id-token"), FlagTakes::Nothing),
];
const UNUSABLE: &str = "a flag of its login cannot be used";
/// How long a person may be waited for.
pub const LOGIN_SECONDS: std::ops::RangeInclusive<u64> = 1..=86_400;
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
        let flags = LoginFlags::read(words.map(str::to_owned)).unwrap();

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

    fn read(line: &str) -> Result<OAuthSettings, String> {
        LoginFlags::read(line.split_whitespace().map(str::to_owned))?.settings(sources())
    }

    fn sources() -> FlagSources<'static> {
        FlagSources {
            variable: &|name| (name == "KEY").then(|| "s3cret".to_owned()),
            may_read: false,
        }
    }
}
