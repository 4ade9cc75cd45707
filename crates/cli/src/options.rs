//! The settings of all commands that talk to a server: from flags, from the environment, from files.
//!
//! A flag wins over the environment, which wins over an approved `ridethrough.toml` in the working directory,
//! which wins over the one in the user's configuration. Lists add up; of two headers of one name the one from
//! the stronger source wins. Values are never shown: they may be secrets.

mod account;
mod certificates;
mod environment;
mod file;
pub(crate) mod header;
pub(crate) mod hint;
pub(crate) mod project;
mod settings;
mod size;
mod sources;

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::ValueEnum;
use ridethrough::server::Eras;
use ridethrough::{Era, RetryPolicy};

use crate::ending::next_step;
use crate::misuse::Misuse;
use hint::SaidHint;

pub(crate) use file::users as users_file;
pub(crate) use settings::{Settings, finish};
pub(crate) use sources::Origin;

/// The flags that all commands share.
#[derive(clap::Args, Default)]
pub(crate) struct Options {
    /// A header for every request; `${VAR}` is replaced from the environment, which keeps secrets out
    /// of the process list
    #[arg(long = "header", value_name = "NAME: VALUE", help_heading = HEADING)]
    headers: Vec<String>,
    /// Show the token that this environment variable holds
    #[arg(long, value_name = "VAR", help_heading = HEADING)]
    bearer_env: Option<String>,
    /// The account to use, if you have several at this server: the name that `login --profile` was given
    #[arg(long, value_name = "NAME", help_heading = HEADING, hide_short_help = true)]
    profile: Option<String>,
    /// The time for the whole command, waits and repeats included [default: 600 for a tool, 60 for
    /// everything else]
    #[arg(long, value_name = "SECONDS", value_parser = seconds, help_heading = HEADING)]
    timeout: Option<Duration>,
    /// How hard to try [default: interactive]
    #[arg(long, help_heading = HEADING, hide_short_help = true)]
    policy: Option<Policy>,
    /// Which era of the protocol to speak [default: auto for a URL, legacy for a program]
    #[arg(long, help_heading = HEADING, hide_short_help = true)]
    era: Option<EraChoice>,
    /// A tool that does no harm if it runs twice (`*` stands for any letters): a call in doubt is sent
    /// again
    #[arg(long, visible_alias = "repeat", value_name = "TOOL", help_heading = HEADING, hide_short_help = true)]
    repeatable: Vec<String>,
    /// Whether a tool only reads, where it does not say so or is wrong: a call in doubt of `get_*=read`
    /// is sent again, of `drop=write` never
    #[arg(long = "hint", value_name = "TOOL=read|write", value_parser = hint::parse, help_heading = HEADING, hide_short_help = true)]
    hints: Vec<SaidHint>,
    /// The largest message that is read, such as `64MiB` or `20000000` [default: 16MiB]
    #[arg(long, value_name = "SIZE", value_parser = size::bytes, help_heading = HEADING, hide_short_help = true)]
    max_message: Option<usize>,
    /// Trust the certificates in this file (PEM) besides those of the system
    #[arg(long, value_name = "FILE", help_heading = HEADING, hide_short_help = true)]
    cacert: Option<PathBuf>,
    /// Do not check the server's certificate, if it is on this machine; another host must be named:
    /// `--insecure=HOST`. An attacker on the network can then read and change everything, tokens too
    #[arg(long, value_name = "HOST", num_args = 0..=1, require_equals = true,
          default_missing_value = "", help_heading = HEADING, hide_short_help = true)]
    insecure: Option<String>,
    /// Allow tokens and headers to go over plain `http://` to another machine
    #[arg(long, help_heading = HEADING, hide_short_help = true)]
    pub(crate) allow_http: bool,
    /// Tell faults and what is done about them; -vv tells everything, -vvv the settings too
    #[arg(short, long, action = clap::ArgAction::Count, help_heading = HEADING)]
    verbose: u8,
}

/// How hard to try.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Policy {
    /// For a person who waits: 30 s for a server that was there before, answers with an error or takes the
    /// connection and says nothing, 10 s for one that was never reached
    Interactive,
    /// One attempt
    Never,
    /// For work without a waiting person: half an hour
    Unattended,
}

/// Which era of the protocol to speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum EraChoice {
    /// Ask the server, and follow it when it changes
    Auto,
    /// With sessions: 2025-11-25 and before
    Legacy,
    /// Stateless: 2026-07-28; a server that wants a session is refused
    Modern,
}

impl Options {
    /// Returns the settings from flags, environment and files together.
    pub(crate) fn settings(&self) -> Result<Settings, Misuse> {
        let (project, note) = match project::say()? {
            project::ProjectFate::Approved(layer) => (layer, None),
            project::ProjectFate::Ignored(why) => (
                Layer::default(),
                Some(format!("nothing from {} here, which is not approved: {why}", project::NAME)),
            ),
            project::ProjectFate::Nothing => (Layer::default(), None),
        };
        let here = format!("{} here, which is approved", project::NAME);
        let mut settings = self.gathered(Layer::default(), Some((&here, project)))?;
        settings.unread = note;
        Ok(settings)
    }

    /// Returns the settings of a bridge, with headers from a file that a flag named, which win over the
    /// environment. Hosts start a bridge in any folder, so a file in the working directory is not read.
    pub(crate) fn bridge_settings(&self, headers: Vec<String>) -> Result<Settings, Misuse> {
        let mut settings = self.gathered(Layer { headers, ..Layer::default() }, None)?;
        let is_there = Path::new(project::NAME).exists();
        let note = format!("nothing from {} here: a bridge does not read it", project::NAME);
        settings.unread = is_there.then_some(note);
        Ok(settings)
    }

    fn gathered(
        &self,
        header_file: Layer,
        project: Option<(&str, Layer)>,
    ) -> Result<Settings, Misuse> {
        let mut places = vec![
            ("flags".to_owned(), self.layer()),
            ("`--header-file`".to_owned(), header_file),
            ("the environment".to_owned(), environment::read(std::env::vars_os())?),
        ];
        places.extend(project.map(|(from, layer)| (from.to_owned(), layer)));
        if let Some(path) = file::users() {
            places.push((path.to_string_lossy().into_owned(), file::read(&path)?));
        }
        let mut sources: Vec<_> =
            places.iter().filter_map(|(from, layer)| Origin::of(from, layer)).collect();
        // The person who typed `-v` needs no report of it.
        if self.verbose > 0
            && let Some(flags) = sources.first_mut()
        {
            flags.settings.retain(|it| it != "verbose");
        }
        sources.retain(|it| !it.settings.is_empty());
        let layers = places.into_iter().map(|(_, layer)| layer);
        let said = layers.reduce(Layer::over).unwrap_or_default();
        let mut settings = Settings::check(said, |name| std::env::var(name).ok())?;
        (settings.sources, settings.allows_http) = (sources, self.allow_http);
        settings.leave_unchecked(self.insecure.as_deref());
        Ok(settings)
    }

    /// Returns the flags that another command needs to reach this server, as they can be typed again. A value
    /// that may be a secret is `...`.
    pub(crate) fn typed(&self) -> String {
        let mut words = Vec::new();
        for text in &self.headers {
            // A value that consists of a variable alone is not secret.
            let (name, value) = text.split_once(':').unwrap_or((text, ""));
            let value = value.trim();
            let variable = value.strip_prefix("${").and_then(|it| it.strip_suffix('}'));
            let is_shown = variable.is_some_and(header::is_name);
            let value = if is_shown { value } else { "..." };
            words.extend(["--header".to_owned(), next_step::quoted(&format!("{name}: {value}"))]);
        }
        if let Some(name) = &self.bearer_env {
            words.extend(["--bearer-env".to_owned(), next_step::quoted(name)]);
        }
        if let Some(profile) = &self.profile {
            words.extend(["--profile".to_owned(), next_step::quoted(profile)]);
        }
        if let Some(era) = self.era {
            words.extend(["--era".to_owned(), settings::word(era)]);
        }
        if let Some(path) = &self.cacert {
            words.extend(["--cacert".to_owned(), next_step::quoted(&path.to_string_lossy())]);
        }
        match self.insecure.as_deref() {
            Some("") => words.push("--insecure".to_owned()),
            Some(host) => words.push(format!("--insecure={}", next_step::quoted(host))),
            None => {}
        }
        if self.allow_http {
            words.push("--allow-http".to_owned());
        }
        words.join(" ")
    }

    fn layer(&self) -> Layer {
        Layer {
            headers: self.headers.clone(),
            bearer_env: self.bearer_env.clone(),
            profile: self.profile.clone(),
            timeout: self.timeout,
            policy: self.policy,
            era: self.era,
            repeatable: self.repeatable.clone(),
            hints: self.hints.clone(),
            max_message: self.max_message,
            cacert: self.cacert.clone(),
            verbose: (self.verbose > 0).then_some(self.verbose),
        }
    }
}

/// The settings from one source.
#[derive(Default)]
struct Layer {
    /// Each as `NAME: VALUE`.
    headers: Vec<String>,
    bearer_env: Option<String>,
    profile: Option<String>,
    timeout: Option<Duration>,
    policy: Option<Policy>,
    era: Option<EraChoice>,
    repeatable: Vec<String>,
    hints: Vec<SaidHint>,
    /// The size limit, in bytes.
    max_message: Option<usize>,
    cacert: Option<PathBuf>,
    verbose: Option<u8>,
}

impl Layer {
    /// Returns the names of the settings that this source has.
    fn keys(&self) -> Vec<&'static str> {
        let all = [
            ("bearer-env", self.bearer_env.is_some()),
            ("cacert", self.cacert.is_some()),
            ("era", self.era.is_some()),
            ("header", !self.headers.is_empty()),
            ("hint", !self.hints.is_empty()),
            ("max-message", self.max_message.is_some()),
            ("policy", self.policy.is_some()),
            ("profile", self.profile.is_some()),
            ("repeatable", !self.repeatable.is_empty()),
            ("timeout", self.timeout.is_some()),
            ("verbose", self.verbose.is_some()),
        ];
        all.into_iter().filter(|(_, is_said)| *is_said).map(|(key, _)| key).collect()
    }

    /// Returns these settings, completed by those of `below`.
    fn over(mut self, below: Self) -> Self {
        let nearer: Vec<_> = self.headers.iter().map(|it| header::name(it)).collect();
        let more = below.headers.into_iter().filter(|it| !nearer.contains(&header::name(it)));
        let more: Vec<_> = more.collect();
        // A header with a token and a variable that holds one are two ways to set one thing.
        let has_token = self.bearer_env.is_some() || nearer.iter().any(|it| it == "authorization");
        self.headers.extend(
            more.into_iter().filter(|it| !(has_token && header::name(it) == "authorization")),
        );
        self.repeatable.extend(below.repeatable);
        self.hints.extend(below.hints);
        Self {
            bearer_env: self.bearer_env.or(below.bearer_env.filter(|_| !has_token)),
            profile: self.profile.or(below.profile),
            timeout: self.timeout.or(below.timeout),
            policy: self.policy.or(below.policy),
            era: self.era.or(below.era),
            max_message: self.max_message.or(below.max_message),
            cacert: self.cacert.or(below.cacert),
            verbose: self.verbose.or(below.verbose),
            ..self
        }
    }
}

impl Policy {
    /// Returns the retry policy of a client.
    pub(crate) fn recovery(self) -> RetryPolicy {
        match self {
            Self::Interactive => RetryPolicy::interactive(),
            Self::Never => RetryPolicy::never(),
            Self::Unattended => RetryPolicy::unattended(),
        }
    }
}

impl EraChoice {
    /// Returns the eras that a client speaks.
    pub(crate) const fn eras(self) -> Eras {
        match self {
            Self::Auto => Eras::Either,
            Self::Legacy => Eras::Only(Era::Legacy),
            Self::Modern => Eras::Only(Era::Modern),
        }
    }
}

/// Parses a time in seconds.
pub(crate) fn seconds(text: &str) -> Result<Duration, String> {
    let refusal = || "must be a number of seconds, 0.001 to 31536000".to_owned();
    let seconds: f64 = text.trim().parse().map_err(|_| refusal())?;
    let is_fit = (0.001..=YEAR).contains(&seconds);
    is_fit.then(|| Duration::from_secs_f64(seconds)).ok_or_else(refusal)
}

/// The heading of these flags in the help of every command.
const HEADING: &str = "Connection";
/// The longest time that the policy of a client takes.
const YEAR: f64 = 365.0 * 24.0 * 3600.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearer_place_wins_and_lists_add_up() {
        let near = Layer {
            headers: vec!["X-Team: blue".into()],
            timeout: Some(Duration::from_secs(1)),
            repeatable: vec!["a".into()],
            ..Layer::default()
        };
        let far = Layer {
            headers: vec!["x-team: red".into(), "x-more: 1".into()],
            timeout: Some(Duration::from_secs(9)),
            policy: Some(Policy::Never),
            era: Some(EraChoice::Modern),
            max_message: Some(1 << 20),
            repeatable: vec!["b".into()],
            ..Layer::default()
        };

        let said = near.over(far);

        assert_eq!(said.headers, ["X-Team: blue", "x-more: 1"]);
        assert_eq!(said.timeout, Some(Duration::from_secs(1)));
        assert_eq!((said.policy, said.era), (Some(Policy::Never), Some(EraChoice::Modern)));
        assert_eq!(said.max_message, Some(1 << 20));
        assert_eq!(said.repeatable, ["a", "b"]);
    }

    #[test]
    fn the_flags_of_a_hint_can_be_pasted_and_hold_no_secret() {
        let options = Options {
            headers: vec!["X-Key: ${KEY}".into(), "X-Other: s3cret".into()],
            bearer_env: Some("TOKEN".into()),
            era: Some(EraChoice::Legacy),
            insecure: Some(String::new()),
            ..Options::default()
        };

        assert_eq!(
            options.typed(),
            "--header 'X-Key: ${KEY}' --header 'X-Other: ...' --bearer-env TOKEN --era legacy --insecure"
        );
    }

    #[test]
    fn a_nearer_token_replaces_one_that_is_said_in_the_other_way() {
        let by_header =
            || Layer { headers: vec!["Authorization: Bearer a".into()], ..Layer::default() };
        let by_variable = || Layer { bearer_env: Some("TOKEN".into()), ..Layer::default() };

        let header_wins = by_header().over(by_variable());
        let variable_wins = by_variable().over(by_header());

        assert_eq!((header_wins.headers.len(), header_wins.bearer_env), (1, None));
        assert_eq!((variable_wins.headers.len(), variable_wins.bearer_env.is_some()), (0, true));
    }

    /// Checks a promise of `--help` and docs/reference/errors.md about a server that takes the connection and never
    /// answers.
    #[tokio::test(start_paused = true)]
    async fn a_silent_server_is_waited_for_no_longer_than_half_a_minute() {
        let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", silent.local_addr().unwrap());
        for era in [EraChoice::Auto, EraChoice::Legacy] {
            let builder = ridethrough::Client::builder(&url).eras(era.eras());
            let client = builder.retry_policy(Policy::Interactive.recovery()).build().unwrap();
            let began = tokio::time::Instant::now();

            let ended = client.tools().await;

            assert!(ended.is_err());
            assert!(began.elapsed() <= Duration::from_secs(31), "{era:?}: {:?}", began.elapsed());
        }
    }

    #[test]
    fn a_time_is_a_number_of_seconds_within_bounds() {
        assert_eq!(seconds("1.5"), Ok(Duration::from_millis(1500)));
        for text in ["", "0", "-1", "nan", "inf", "1e12", "5s"] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }
}
