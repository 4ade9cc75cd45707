//! The settings of a client, as Python writes them.

use std::collections::BTreeMap;
use std::fs::File;
use std::sync::Arc;
use std::time::Duration;

use ridethrough::machine::{DoubtForm, DoubtRepeat};
use ridethrough::model::Root;
use ridethrough::policy::TrustHints;
use ridethrough::transport::Endpoint;
use ridethrough::{ClientBuilder, Command, Era, RetryPolicy, Stderr};
use ridethrough_oauth::ClientBuilderExt;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::call_options::seconds;
use crate::carried::{Carried, CarriedTransport};
use crate::login::OAuthSettings;
use crate::porter::Wording;
use crate::queue::Queue;
use crate::repeats::RepeatSettings;
use crate::tokens::{self, AskedTokens, TokenRequests};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Settings {
    url: Option<String>,
    command: Option<CommandSettings>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    policy: PolicySettings,
    token: Option<String>,
    oauth: Option<OAuthSettings>,
    /// Whether a function of the application provides tokens.
    #[serde(default)]
    asks_for_tokens: bool,
    /// Whether the application's own client makes the HTTP requests.
    #[serde(default)]
    is_carried: bool,
    /// Whether the server's messages are reported as whole messages, for the SDK.
    #[serde(default)]
    is_for_sdk: bool,
    /// Whether the SDK speaks the revision without sessions itself: without a handshake, with headers and
    /// subscriptions of its own.
    #[serde(default)]
    is_pinned_modern: bool,
    /// Whether the SDK asks for a session without asking for the era first.
    #[serde(default)]
    prefers_session: bool,
    /// How the SDK is told of a call that may have run.
    doubt: Option<String>,
    /// What becomes of a call that is equal to one that may have run.
    doubt_repeat: Option<String>,
    /// What identifies the caller besides headers, token and login.
    caller: Option<Value>,
    client_info: Option<Value>,
    capabilities: Option<Value>,
    roots: Option<Vec<RootSettings>>,
    message_limit: Option<usize>,
    root_certificates: Option<String>,
    connect_timeout: Option<f64>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct CommandSettings {
    program: String,
    arguments: Vec<String>,
    /// The whole environment, if it differs from that of this process.
    environment: Option<BTreeMap<String, String>>,
    directory: Option<String>,
    stderr: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct PolicySettings {
    base: String,
    patience: Option<f64>,
    first_patience: Option<f64>,
    tool_deadline: Option<f64>,
    deadline: Option<f64>,
    resends: Option<u32>,
    resumes: Option<u32>,
    in_flight: Option<usize>,
    trust_hints: Option<String>,
}

#[derive(Deserialize)]
struct RootSettings {
    uri: String,
    name: Option<String>,
}

/// The parts of a client besides its builder.
pub(crate) struct Prepared {
    pub(crate) builder: ClientBuilder,
    pub(crate) carried: Option<Arc<Carried>>,
    pub(crate) tokens: Option<Arc<TokenRequests>>,
    pub(crate) wording: Wording,
    pub(crate) speaks: Speaks,
}

/// Which eras the link speaks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Speaks {
    Either,
    /// Only the stateless one, in the words of the SDK.
    Modern,
}

impl Settings {
    /// Returns what identifies the callers of the link, and what becomes of their calls that may have run.
    pub(crate) fn repeats(&self) -> Result<RepeatSettings, String> {
        let form = match self.doubt.as_deref() {
            // A program that calls the client itself is told by an exception.
            None | Some("error") => DoubtForm::Error,
            Some("result") => DoubtForm::Result,
            Some(other) => {
                return Err(format!("`doubt` is `{other}`, must be `result` or `error`"));
            }
        };
        let repeat = match self.doubt_repeat.as_deref() {
            None | Some("hold") => DoubtRepeat::Hold,
            Some("allow") => DoubtRepeat::Allow,
            Some(other) => {
                return Err(format!("`doubt_repeat` is `{other}`, must be `hold` or `allow`"));
            }
        };
        let principal = json!([self.headers, self.token, self.oauth, self.caller]);
        let server = json!([self.url, self.command]).to_string();
        let name = self.client_info.as_ref().and_then(|it| it["name"].as_str());
        let (principal, client) = (principal.to_string().into(), name.unwrap_or_default().into());
        let is_stateless = self.is_pinned_modern;
        Ok(RepeatSettings { form, repeat, is_stateless, principal, server, client })
    }

    pub(crate) fn prepare(self, queue: &Arc<Queue>) -> Result<Prepared, String> {
        let mut builder = match (&self.url, self.command) {
            (Some(url), None) => ridethrough::Client::builder(url),
            (None, Some(command)) => ClientBuilder::spawn(command.read()?),
            _ => return Err("a client needs a URL or a command".to_owned()),
        };
        builder = builder.retry_policy(self.policy.read()?);
        for (name, value) in self.headers {
            builder = builder.header(name, value);
        }
        let tokens = self.asks_for_tokens.then(|| TokenRequests::new(queue.clone()));
        if let Some(tokens) = &tokens {
            builder = builder.credentials(AskedTokens(tokens.clone()));
        } else if let Some(token) = self.token {
            let token = tokens::read(&token).map_err(|error| format!("`token`: {error}"))?;
            builder = builder.credentials(FixedToken(token));
        }
        if let Some(info) = self.client_info {
            builder = builder.client_info(info);
        }
        if let Some(capabilities) = self.capabilities {
            builder = builder.capabilities(capabilities);
        }
        if let Some(roots) = self.roots {
            builder = builder.roots(roots.into_iter().map(RootSettings::read));
        }
        if let Some(bytes) = self.message_limit {
            builder = builder.message_limit(bytes);
        }
        if let Some(pem) = self.root_certificates {
            builder = builder.root_certificates(pem);
        }
        if let Some(time) = self.connect_timeout.and_then(seconds) {
            builder = builder.connect_timeout(time.max(Duration::from_millis(1)));
        }
        if let Some(oauth) = self.oauth {
            // After everything that concerns the network, which is the authorization server's too.
            builder = builder.oauth(oauth.read()).map_err(|error| format!("`oauth`: {error}"))?;
        }
        let carried = self.is_carried.then(|| Carried::new(queue.clone()));
        if let Some(carried) = &carried {
            let url = self.url.as_deref().unwrap_or_default();
            let endpoint = Endpoint::parse(url).map_err(|error| format!("`url`: {error}"))?;
            builder = builder.transport(CarriedTransport { carried: carried.clone(), endpoint });
        }
        let speaks = if self.is_pinned_modern { Speaks::Modern } else { Speaks::Either };
        if speaks == Speaks::Modern {
            builder = builder.eras(Era::Modern);
        } else if self.prefers_session {
            // The SDK expects the server's questions and notifications as in a session.
            builder = builder.prefer_era(Era::Legacy);
        }
        let wording = if self.is_for_sdk { Wording::WholeMessages } else { Wording::Plain };
        Ok(Prepared { builder, carried, tokens, wording, speaks })
    }
}

impl CommandSettings {
    fn read(self) -> Result<Command, String> {
        let mut command = Command::new(self.program).args(self.arguments);
        if let Some(environment) = self.environment {
            command = command.env_clear();
            for (name, value) in environment {
                command = command.env(name, value);
            }
        }
        if let Some(directory) = self.directory {
            command = command.current_dir(directory);
        }
        let stderr = match self.stderr.as_deref() {
            None | Some("quoted") => Stderr::Quoted,
            Some("inherited") => Stderr::Inherited,
            Some("withheld") => Stderr::Withheld,
            Some(path) if path.starts_with('/') => {
                let file = File::options().append(true).open(path);
                return file
                    .map(|file| command.stderr_to(file))
                    .map_err(|error| format!("`stderr` cannot be written to: {error}"));
            }
            Some(other) => {
                return Err(format!(
                    "`stderr` is `{other}`, must be `quoted`, `inherited`, `withheld` or a path"
                ));
            }
        };
        Ok(command.stderr(stderr))
    }
}

impl PolicySettings {
    fn read(self) -> Result<RetryPolicy, String> {
        let base = match &*self.base {
            "" | "interactive" => RetryPolicy::interactive(),
            "never" => RetryPolicy::never(),
            "unattended" => RetryPolicy::unattended(),
            other => return Err(format!("there is no policy `{other}`")),
        };
        let mut policy = base.builder();
        if let Some(time) = self.patience {
            policy = policy.patience(time_of("patience", time)?);
        }
        if let Some(time) = self.first_patience {
            policy = policy.first_patience(time_of("first_patience", time)?);
        }
        if let Some(time) = self.tool_deadline {
            policy = policy.tool_deadline(time_of("tool_deadline", time)?);
        }
        if let Some(time) = self.deadline {
            policy = policy.deadline(time_of("deadline", time)?);
        }
        if let Some(count) = self.resends {
            policy = policy.resends(count);
        }
        if let Some(count) = self.resumes {
            policy = policy.resumes(count);
        }
        if let Some(count) = self.in_flight {
            policy = policy.in_flight(count);
        }
        match self.trust_hints.as_deref() {
            None => {}
            Some("none") => policy = policy.trust_hints(TrustHints::None),
            Some("readOnly") => policy = policy.trust_hints(TrustHints::ReadOnly),
            Some("all") => policy = policy.trust_hints(TrustHints::All),
            Some(other) => {
                return Err(format!(
                    "`trust_hints` is `{other}`, must be `none`, `readOnly` or `all`"
                ));
            }
        }
        policy.build().map_err(|error| error.to_string())
    }
}

impl RootSettings {
    fn read(self) -> Root {
        let root = Root::new(self.uri);
        match self.name {
            Some(name) => root.named(name),
            None => root,
        }
    }
}

fn time_of(field: &str, time: f64) -> Result<Duration, String> {
    seconds(time).ok_or_else(|| format!("`{field}` is {time}, must be a number of seconds"))
}

/// A token that never changes.
struct FixedToken(ridethrough::credentials::Token);

impl ridethrough::credentials::Credentials for FixedToken {
    fn token<'a>(
        &'a self,
        refused: Option<ridethrough::credentials::Refused<'a>>,
    ) -> ridethrough::transport::BoxFuture<
        'a,
        Result<Option<ridethrough::credentials::Token>, ridethrough::credentials::NoCredentials>,
    > {
        Box::pin(async move {
            match refused {
                None => Ok(Some(self.0.clone())),
                Some(_) => Err(ridethrough::credentials::NoCredentials::because(
                    "the token is fixed, and the server does not accept it",
                )),
            }
        })
    }
}
