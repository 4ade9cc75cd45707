//! What all commands that talk to a server can be told: by flags, by the environment, by a file.
//!
//! A flag wins over the environment, that over `ridethrough.toml` in the working directory, and that
//! over the one in the user's configuration. Lists add up; of two headers of one name the nearer wins.
//! Values are never shown: they may be secrets.

mod environment;
mod file;
pub(crate) mod header;
mod settings;

use std::time::Duration;

use clap::ValueEnum;
use ridethrough::{Era, Eras, RecoveryPolicy};

use crate::misuse::Misuse;

pub(crate) use settings::{Settings, finish};

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
    /// The time for the whole command, waits and repeats included [default: 600 for a tool, 60 for
    /// everything else]
    #[arg(long, value_name = "SECONDS", value_parser = seconds, help_heading = HEADING)]
    timeout: Option<Duration>,
    /// How hard to try [default: interactive]
    #[arg(long, help_heading = HEADING)]
    policy: Option<Policy>,
    /// Which era of the protocol to speak [default: auto for a URL, legacy for a program]
    #[arg(long, help_heading = HEADING)]
    era: Option<EraChoice>,
    /// A tool that does no harm if it runs twice: a call in doubt is sent again
    #[arg(long, value_name = "TOOL", help_heading = HEADING)]
    repeatable: Vec<String>,
    /// Tell faults and what is done about them; -vv tells everything, -vvv the settings too
    #[arg(short, long, action = clap::ArgAction::Count, help_heading = HEADING)]
    verbose: u8,
}

/// How hard to try.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Policy {
    /// For a person who waits: half a minute for a server that is down
    Interactive,
    /// One attempt
    Never,
    /// For work that nobody watches: half an hour
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
    /// Everything that was said, from flags, environment and files.
    pub(crate) fn settings(&self) -> Result<Settings, Misuse> {
        self.settings_with(Vec::new())
    }

    /// The same, with headers from a file that a flag named: nearer than the environment.
    pub(crate) fn settings_with(&self, headers: Vec<String>) -> Result<Settings, Misuse> {
        let named = Layer { headers, ..Layer::default() };
        let mut said = self.layer().over(named).over(environment::read(std::env::vars_os())?);
        for path in file::places() {
            said = said.over(file::read(&path)?);
        }
        Settings::check(said, |name| std::env::var(name).ok())
    }

    fn layer(&self) -> Layer {
        Layer {
            headers: self.headers.clone(),
            bearer_env: self.bearer_env.clone(),
            timeout: self.timeout,
            policy: self.policy,
            era: self.era,
            repeatable: self.repeatable.clone(),
            verbose: (self.verbose > 0).then_some(self.verbose),
        }
    }
}

/// What one place says.
#[derive(Default)]
struct Layer {
    /// Each as `NAME: VALUE`.
    headers: Vec<String>,
    bearer_env: Option<String>,
    timeout: Option<Duration>,
    policy: Option<Policy>,
    era: Option<EraChoice>,
    repeatable: Vec<String>,
    verbose: Option<u8>,
}

impl Layer {
    /// This, and what `below` says where this says nothing.
    fn over(mut self, below: Self) -> Self {
        let nearer: Vec<_> = self.headers.iter().map(|it| header::name(it)).collect();
        let more = below.headers.into_iter().filter(|it| !nearer.contains(&header::name(it)));
        let more: Vec<_> = more.collect();
        // A header that shows a token and a variable that holds one say the same thing.
        let has_token = self.bearer_env.is_some() || nearer.iter().any(|it| it == "authorization");
        self.headers.extend(
            more.into_iter().filter(|it| !(has_token && header::name(it) == "authorization")),
        );
        self.repeatable.extend(below.repeatable);
        Self {
            bearer_env: self.bearer_env.or(below.bearer_env.filter(|_| !has_token)),
            timeout: self.timeout.or(below.timeout),
            policy: self.policy.or(below.policy),
            era: self.era.or(below.era),
            verbose: self.verbose.or(below.verbose),
            ..self
        }
    }
}

impl Policy {
    /// What it means for a client.
    pub(crate) fn recovery(self) -> RecoveryPolicy {
        match self {
            Self::Interactive => RecoveryPolicy::interactive(),
            Self::Never => RecoveryPolicy::never(),
            Self::Unattended => RecoveryPolicy::unattended(),
        }
    }
}

impl EraChoice {
    /// What it means for a client.
    pub(crate) const fn eras(self) -> Eras {
        match self {
            Self::Auto => Eras::Either,
            Self::Legacy => Eras::Only(Era::Legacy),
            Self::Modern => Eras::Only(Era::Modern),
        }
    }
}

/// A time in seconds.
pub(crate) fn seconds(text: &str) -> Result<Duration, String> {
    let refusal = || "must be a number of seconds, 0.001 to 31536000".to_owned();
    let seconds: f64 = text.trim().parse().map_err(|_| refusal())?;
    let is_fit = (0.001..=YEAR).contains(&seconds);
    is_fit.then(|| Duration::from_secs_f64(seconds)).ok_or_else(refusal)
}

/// What they stand under in the help of every command.
const HEADING: &str = "Connection";
/// What the policy of a client takes at most.
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
            repeatable: vec!["b".into()],
            ..Layer::default()
        };

        let said = near.over(far);

        assert_eq!(said.headers, ["X-Team: blue", "x-more: 1"]);
        assert_eq!(said.timeout, Some(Duration::from_secs(1)));
        assert_eq!((said.policy, said.era), (Some(Policy::Never), Some(EraChoice::Modern)));
        assert_eq!(said.repeatable, ["a", "b"]);
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

    #[test]
    fn a_time_is_a_number_of_seconds_within_bounds() {
        assert_eq!(seconds("1.5"), Ok(Duration::from_millis(1500)));
        for text in ["", "0", "-1", "nan", "inf", "1e12", "5s"] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }
}
