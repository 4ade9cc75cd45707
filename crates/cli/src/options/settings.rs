//! The checked settings of a command, and the client made of them.

use std::sync::Mutex;
use std::time::Duration;

use ridethrough::credentials::{EnvironmentToken, StaticToken, Token};
use ridethrough::machine::hints::OperatorHints;
use ridethrough::policy::PolicyBuilder;
use ridethrough::probe::Probe;
use ridethrough::transport::Endpoint;
use ridethrough::{Client, ClientBuilder};
use ridethrough_bridge::EraMemory;
use ridethrough_config::address;
use ridethrough_config::folders;
use ridethrough_config::hosts::RemoteServer;
use ridethrough_config::login::OAuthSettings;
use ridethrough_config::settings::{ERAS, EraChoice, Layer, Origin, POLICIES, Policy};
use ridethrough_config::values;
use ridethrough_oauth::Account;
use secrecy::{ExposeSecret, SecretString};

use super::certificates::Certificates;
use crate::misuse::Misuse;
use crate::safe;
use crate::secrets;
use crate::server::target::Target;

/// How to talk to a server. It has no `Debug`, because it holds header values and tokens.
pub(crate) struct Settings {
    headers: Vec<(String, String)>,
    /// The headers as they were typed, with their variables.
    pub(super) typed_headers: Vec<String>,
    credentials: Option<Bearer>,
    /// How hard to try.
    pub(crate) policy: Policy,
    /// The era to speak; by default the one that fits the server.
    era: Option<EraChoice>,
    /// The time for a whole command, or for one call of a bridge.
    pub(crate) timeout: Option<Duration>,
    /// Tools that were said to do no harm if they run twice.
    repeatable: Vec<String>,
    /// What is said of tools, those among them.
    pub(crate) hints: OperatorHints,
    /// The largest message that is read, in bytes; by default the client's own limit.
    max_message: Option<usize>,
    /// How many `-v` were given.
    pub(crate) verbose: u8,
    /// Which settings came from which source.
    pub(crate) sources: Vec<Origin>,
    /// A file that was not read, and why.
    pub(super) unread: Option<String>,
    /// Whether tokens and headers may go over plain http to another machine.
    pub(super) allows_http: bool,
    certificates: Certificates,
    /// How to log in to the account at the server; the server's entry completes it.
    pub(crate) oauth: OAuthSettings,
    /// The accounts that clients were made with.
    pub(super) accounts: Mutex<Vec<Account>>,
}

/// A token, and where it comes from.
struct Bearer {
    token: SecretString,
    source: SettingSource,
}

enum SettingSource {
    Environment(EnvironmentToken),
    Header(StaticToken),
}

impl Settings {
    pub(super) fn check(
        said: Layer,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, Misuse> {
        let mut headers = Vec::new();
        let mut credentials = None;
        for text in &said.headers {
            let (name, value) = values::header(text, &variable)
                .map_err(|it| Misuse { hint: HEADER.to_owned(), ..wrong(&it) })?;
            if name.eq_ignore_ascii_case("authorization") {
                credentials = Some(given(&value).map_err(|it| wrong(&it))?);
            } else {
                headers.push((name, value));
            }
        }
        if let Some(name) = said.bearer_env {
            if credentials.is_some() {
                return Err(wrong("a token is given twice: by `bearer-env` and by a header"));
            }
            let held = held(&name, &variable);
            credentials =
                Some(held.map_err(|it| Misuse { hint: VARIABLE.to_owned(), ..wrong(&it) })?);
        }
        Ok(Self {
            headers,
            typed_headers: said.headers,
            credentials,
            policy: said.policy.unwrap_or(Policy::Interactive),
            era: said.era,
            timeout: said.timeout,
            hints: values::together(said.hints, &said.repeatable),
            repeatable: said.repeatable,
            max_message: said.max_message,
            verbose: said.verbose.unwrap_or_default(),
            sources: Vec::new(),
            unread: None,
            allows_http: false,
            certificates: Certificates::read(said.cacert)?,
            oauth: OAuthSettings { profile: said.profile, ..OAuthSettings::default() },
            accounts: Mutex::default(),
        })
    }

    /// Leaves the certificate of a server unchecked, as `--insecure` or `--insecure=HOST` says.
    pub(super) fn leave_unchecked(&mut self, host: Option<&str>) {
        self.certificates = std::mem::take(&mut self.certificates).unchecked(host);
    }

    /// Returns a warning before anything is sent to this server.
    pub(crate) fn warning(&self, target: &Target) -> Option<String> {
        self.certificates.warning(target)
    }

    /// Returns a line for each source of settings, if `-v` asks for them.
    pub(crate) fn told_sources(&self) -> Vec<String> {
        let lines = self.sources.iter().map(ToString::to_string).chain(self.unread.clone());
        let lines = lines.map(|line| format!("settings: {}", safe::our_line(&line)));
        lines.filter(|_| self.verbose > 0).collect()
    }

    /// Makes a client of this server, to which the command adds settings of its own. Must be called in a
    /// runtime.
    pub(crate) fn client(
        &self,
        target: &Target,
        add: impl FnOnce(ClientBuilder) -> ClientBuilder,
    ) -> Result<Client, Misuse> {
        let mut policy = self.policy.recovery().builder();
        if let Some(timeout) = self.timeout {
            policy = policy.deadline(timeout).tool_deadline(timeout);
        }
        if target.address().is_none() && self.policy == Policy::Interactive {
            policy = policy.patience(RESTARTS).first_patience(RESTARTS);
        }
        finish(add(self.remembering(self.begin(target, policy)?, target)))
    }

    /// Returns a builder for a client of this server, with a policy of the command's own.
    pub(crate) fn begin(
        &self,
        target: &Target,
        policy: PolicyBuilder,
    ) -> Result<ClientBuilder, Misuse> {
        let policy = policy.build().map_err(|error| wrong(&error.to_string()))?;
        let mut builder = target.client().retry_policy(policy);
        if let Some(era) = self.era {
            builder = builder.eras(era.eras());
        }
        if let Some(bytes) = self.max_message {
            builder = builder.message_limit(bytes);
        }
        // A program gets no headers and tokens.
        if let Some(address) = target.address() {
            builder = self.introduced(builder, address)?;
        }
        Ok(builder)
    }

    /// Tells a client which era the server had earlier, and keeps what the client finds.
    pub(crate) fn remembering(&self, builder: ClientBuilder, target: &Target) -> ClientBuilder {
        // With a fixed era the client does not ask the server for it.
        let is_asked = self.era.is_none_or(|era| era == EraChoice::Auto);
        let place = target.address().zip(folders::catalogues()).filter(|_| is_asked);
        let Some((address, folder)) = place else { return builder };
        let url = address.url.expose_secret();
        let memory = EraMemory::open(&folder, url, &self.shown_to(target));
        let builder = match memory.recall() {
            Some((era, age)) => builder.known_era(era, age),
            None => builder,
        };
        // An era that cannot be kept is asked for again.
        builder.on_era(move |era| drop(memory.keep(era)))
    }

    /// Makes a probe of this server: it connects as a client would, and is none.
    pub(crate) fn probe(&self, target: &Target) -> Result<Probe, Misuse> {
        let Some(address) = target.address() else {
            return Err(Misuse {
                what: format!("{target} cannot be checked: it is spoken to without a connection"),
                tried: "its entry was read; it was not started".to_owned(),
                hint: "check a server that has a URL; `ridethrough ping` asks a program whether it answers"
                    .to_owned(),
            });
        };
        let builder = self.introduced(target.client(), address)?;
        builder.probe().map_err(|error| wrong(&error.to_string()))
    }

    /// Adds headers and token: those of the settings, completed by the server's file.
    fn introduced(
        &self,
        mut builder: ClientBuilder,
        address: &RemoteServer,
    ) -> Result<ClientBuilder, Misuse> {
        let shown = self.shown_at(address);
        self.check_way(address, !shown.is_empty())?;
        builder = self.certificates.apply(builder, address)?;
        secrets::keep(address.url.expose_secret(), &shown);
        for (name, value) in &self.headers {
            builder = builder.header(name, value);
        }
        let is_nearer =
            |name: &str| self.headers.iter().any(|(own, _)| own.eq_ignore_ascii_case(name));
        for (name, value) in address.headers.iter().filter(|(name, _)| !is_nearer(name)) {
            builder = builder.header(name, value.expose_secret());
        }
        let source = self.credentials.as_ref().map(|bearer| &bearer.source);
        Ok(match (source, &address.authorization) {
            (Some(SettingSource::Environment(bearer)), _) => builder.credentials(bearer.clone()),
            (Some(SettingSource::Header(bearer)), _) => builder.credentials(bearer.clone()),
            (None, Some(token)) => {
                let token = Token::authorization(token.expose_secret());
                let token = token.map_err(|error| wrong(&error.to_string()))?;
                builder.credentials(StaticToken::from(token))
            }
            (None, None) => self.logged_in(builder, address)?,
        })
    }

    /// Refuses to send a token or a header over plain `http` to another machine, where others can listen.
    fn check_way(&self, address: &RemoteServer, has_secrets: bool) -> Result<(), Misuse> {
        // A text that is not a URL is refused by the client's builder, with a better message.
        let Ok(endpoint) = Endpoint::parse(address.url.expose_secret()) else { return Ok(()) };
        if self.allows_http || !has_secrets || address::is_safe_from_listeners(&endpoint) {
            return Ok(());
        }
        Err(Misuse {
            what: format!("a token or a header would go to `{}` in the clear", endpoint.origin()),
            tried: "the settings were checked; nothing was sent".to_owned(),
            hint: "write `https://`, or add `--allow-http` if nobody can listen in between"
                .to_owned(),
        })
    }

    /// Returns everything that is sent to the server at a URL, to tell one set of credentials from another.
    pub(crate) fn shown_to_server(&self) -> Vec<(&str, &str)> {
        let token = self.credentials.iter().map(|it| ("authorization", it.token.expose_secret()));
        let headers = self.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        headers.chain(token).collect()
    }

    /// Returns everything that is sent to this server, with what its file adds to the settings.
    pub(crate) fn shown_to<'a>(&'a self, target: &'a Target) -> Vec<(&'a str, &'a str)> {
        let Some(address) = target.address() else { return self.shown_to_server() };
        let profile = self.oauth.profile.as_deref().or(address.oauth.profile.as_deref());
        // A server may differ for two accounts.
        self.shown_at(address).into_iter().chain(profile.map(|it| ("profile", it))).collect()
    }

    fn shown_at<'a>(&'a self, address: &'a RemoteServer) -> Vec<(&'a str, &'a str)> {
        let mut shown = self.shown_to_server();
        let headers = address.headers.iter();
        shown.extend(headers.map(|(name, it)| (name.as_str(), it.expose_secret())));
        shown.extend(address.authorization.iter().map(|it| ("authorization", it.expose_secret())));
        shown
    }

    /// Returns the settings as people may see them: names, and no value that may be a secret.
    pub(crate) fn shown(&self) -> String {
        let headers: Vec<_> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        let token = match self.credentials.as_ref().map(|bearer| &bearer.source) {
            Some(SettingSource::Environment(_)) => "from a variable",
            Some(SettingSource::Header(_)) => "from a header",
            None => "none",
        };
        let limit = self.max_message.map_or("the default".to_owned(), |it| format!("{it} bytes"));
        let era = self.era.map_or("found out", |era| values::word(&ERAS, era));
        let time =
            self.timeout.map_or("the policy's".to_owned(), |it| format!("{} s", it.as_secs_f64()));
        let listed =
            |names: Vec<&str>| if names.is_empty() { "none".to_owned() } else { names.join(" ") };
        let repeatable = self.repeatable.iter().map(String::as_str).collect();
        format!(
            "policy {}, era {era}, time for a call {time}, longest message {limit}, token {token}, \
             headers {}, repeatable tools {}",
            values::word(&POLICIES, self.policy),
            listed(headers),
            listed(repeatable)
        )
    }
}

/// Returns the token in `Authorization: Bearer TOKEN`, or the credentials of another scheme.
fn given(value: &str) -> Result<Bearer, String> {
    let token = Token::authorization(value).map_err(|_| {
        "header `Authorization` holds no token: write `Authorization: Bearer TOKEN`, or another scheme and \
         its credentials; a variable in it may be empty"
            .to_owned()
    })?;
    let secret = value.trim().split_once(' ').map_or(value, |(_, secret)| secret);
    Ok(Bearer { token: secret.trim().into(), source: SettingSource::Header(token.into()) })
}

/// Returns the token in a variable, which must be set before anything is sent.
fn held(name: &str, variable: &impl Fn(&str) -> Option<String>) -> Result<Bearer, String> {
    // The person may have given the token itself: only a word that looks like a variable is repeated.
    let is_usual = values::is_variable(name) && !name.contains(|it: char| it.is_ascii_lowercase());
    let shown = if is_usual { format!("the variable `{name}`") } else { "the variable".to_owned() };
    let value =
        variable(name).ok_or_else(|| format!("{shown} that `bearer-env` names is not set"))?;
    Token::bearer(value.trim())
        .map_err(|error| format!("{shown} that `bearer-env` names holds no token: {error}"))?;
    let source = SettingSource::Environment(EnvironmentToken::new(name));
    Ok(Bearer { token: value.trim().into(), source })
}

/// Builds the client. Must be called in a runtime.
pub(crate) fn finish(builder: ClientBuilder) -> Result<Client, Misuse> {
    builder.build().map_err(|error| wrong(&error.to_string()))
}

pub(super) fn wrong(what: &str) -> Misuse {
    Misuse {
        what: what.to_owned(),
        tried: "the settings were checked; nothing was sent".to_owned(),
        hint: "settings are flags, variables (`RIDETHROUGH_...`) and keys of `ridethrough.toml`"
            .to_owned(),
    }
}

const HEADER: &str = "write `--header 'NAME: VALUE'`, or `--header 'NAME: ${VAR}'` for what a variable holds, in \
                      single quotes";
const VARIABLE: &str = "`--bearer-env` takes the name of a variable, and the variable holds the token: \
                        `export TOKEN=...`, then `--bearer-env TOKEN`";
/// For how long a program that ends before it answers is started again: it ends for one reason each time, as
/// a rule. A program that is slow to start is still waited for.
const RESTARTS: Duration = Duration::from_millis(500);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_shown_to_the_server_and_to_nobody_else() {
        let said = Layer {
            headers: vec!["Authorization: Bearer ${KEY}".into(), "X-Key: ${KEY}".into()],
            ..Layer::default()
        };

        let settings = Settings::check(said, |_| Some("s3cret".into())).unwrap();

        assert_eq!(settings.shown_to_server(), [("X-Key", "s3cret"), ("authorization", "s3cret")]);
        assert!(!settings.shown().contains("s3cret"), "{}", settings.shown());
        assert!(settings.shown().contains("X-Key"), "{}", settings.shown());
    }

    #[test]
    fn a_token_given_in_place_of_its_variable_is_not_repeated() {
        for name in ["ghp_s3cretToken", "s3.cret", "sk-s3cret"] {
            let said = Layer { bearer_env: Some(name.into()), ..Layer::default() };

            let refused = Settings::check(said, |_| None).map(|_| ()).unwrap_err().to_string();

            assert!(refused.contains("is not set") && !refused.contains("cret"), "{refused}");
        }
        let said = Layer { bearer_env: Some("MY_TOKEN".into()), ..Layer::default() };
        let refused = Settings::check(said, |_| None).map(|_| ()).unwrap_err().to_string();
        assert!(refused.contains("the variable `MY_TOKEN`"), "{refused}");
    }

    #[test]
    fn what_is_no_token_is_refused_without_being_repeated() {
        for value in ["Bearer", "Bearer ", "Basic s3\u{7}cret", "Bearer s3crét"] {
            let headers = vec![format!("authorization: {value}")];
            let said = Layer { headers, ..Layer::default() };

            let refused = Settings::check(said, |_| None).map(|_| ()).unwrap_err().to_string();

            assert!(refused.contains("Authorization") && !refused.contains("s3"), "{refused}");
        }
    }
}
