//! Settings from one source: the environment, our own file, the file of a project; and which source wins.
//!
//! Values are never shown: they may be secrets.

pub mod environment;
pub mod own_file;
pub mod project;

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use ridethrough::server::Eras;
use ridethrough::{Era, RetryPolicy};
use serde::{Deserialize, Serialize};

use crate::values::{self, Choices, SaidHint};

/// How hard to try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// For a person who waits.
    Interactive,
    /// One attempt.
    Never,
    /// For work without a waiting person.
    Unattended,
}

/// Which era of the protocol to speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EraChoice {
    /// Ask the server, and follow it when it changes.
    Auto,
    /// With sessions.
    Legacy,
    /// Stateless.
    Modern,
}

impl Policy {
    /// Returns the retry policy of a client.
    pub fn recovery(self) -> RetryPolicy {
        match self {
            Self::Interactive => RetryPolicy::interactive(),
            Self::Never => RetryPolicy::never(),
            Self::Unattended => RetryPolicy::unattended(),
        }
    }
}

impl EraChoice {
    /// Returns the eras that a client speaks.
    pub const fn eras(self) -> Eras {
        match self {
            Self::Auto => Eras::Either,
            Self::Legacy => Eras::Only(Era::Legacy),
            Self::Modern => Eras::Only(Era::Modern),
        }
    }
}

/// The settings from one source.
#[derive(Default)]
pub struct Layer {
    /// Each as `NAME: VALUE`.
    pub headers: Vec<String>,
    /// The variable that holds the token.
    pub bearer_env: Option<String>,
    /// The person's name for the account.
    pub profile: Option<String>,
    /// The time for a call.
    pub timeout: Option<Duration>,
    /// How hard to try.
    pub policy: Option<Policy>,
    /// The era to speak.
    pub era: Option<EraChoice>,
    /// Tools that may run twice.
    pub repeatable: Vec<String>,
    /// What tools do.
    pub hints: Vec<SaidHint>,
    /// The size limit, in bytes.
    pub max_message: Option<usize>,
    /// A file with more certificates.
    pub cacert: Option<PathBuf>,
    /// How many `-v`.
    pub verbose: Option<u8>,
}

impl Layer {
    /// Returns the names of the settings that this source has.
    pub(crate) fn keys(&self) -> Vec<&'static str> {
        let is_said = [
            self.bearer_env.is_some(),
            self.cacert.is_some(),
            self.era.is_some(),
            !self.headers.is_empty(),
            !self.hints.is_empty(),
            self.max_message.is_some(),
            self.policy.is_some(),
            self.profile.is_some(),
            !self.repeatable.is_empty(),
            self.timeout.is_some(),
            self.verbose.is_some(),
        ];
        KEYS.into_iter().zip(is_said).filter(|(_, is_said)| *is_said).map(|(key, _)| key).collect()
    }

    /// Returns these settings, completed by those of `below`.
    #[must_use]
    pub fn over(mut self, below: Self) -> Self {
        let nearer: Vec<_> = self.headers.iter().map(|it| values::header_name(it)).collect();
        let more =
            below.headers.into_iter().filter(|it| !nearer.contains(&values::header_name(it)));
        let more: Vec<_> = more.collect();
        // A header with a token and a variable that holds one are two ways to set one thing.
        let has_token = self.bearer_env.is_some() || nearer.iter().any(|it| it == "authorization");
        self.headers.extend(
            more.into_iter()
                .filter(|it| !(has_token && values::header_name(it) == "authorization")),
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

    /// Takes a setting as words: of a list several, of every other key one. The fault repeats no value.
    fn take(&mut self, key: &str, words: Vec<String>) -> Result<(), String> {
        let word = words.first().cloned().unwrap_or_default();
        match key {
            "bearer-env" => self.bearer_env = Some(word),
            "cacert" => self.cacert = Some(word.into()),
            "era" => self.era = Some(values::named(&ERAS, &word).ok_or(ERA)?),
            "header" => self.headers = words,
            "hint" => {
                let said = words.iter().map(|word| values::hint(word));
                self.hints = said.collect::<Result<_, _>>()?;
            }
            "max-message" => self.max_message = Some(values::size(&word)?),
            "policy" => self.policy = Some(values::named(&POLICIES, &word).ok_or(POLICY)?),
            "profile" => self.profile = Some(word),
            "repeatable" => self.repeatable = words,
            "timeout" => self.timeout = Some(values::seconds(&word)?),
            _ => self.verbose = Some(word.parse().map_err(|_| VERBOSE)?),
        }
        Ok(())
    }
}

/// A source and the names of the settings that it has, never values.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The source.
    pub from: String,
    /// The names of its settings.
    pub settings: Vec<String>,
}

impl Origin {
    /// Returns this source, if it has any settings.
    pub fn of(from: &str, layer: &Layer) -> Option<Self> {
        let settings: Vec<_> = layer.keys().into_iter().map(str::to_owned).collect();
        (!settings.is_empty()).then(|| Self { from: from.to_owned(), settings })
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} from {}", self.settings.join(", "), self.from)
    }
}

/// How hard to try, in words.
pub const POLICIES: Choices<Policy, 3> = [
    (
        "interactive",
        Policy::Interactive,
        "For a person who waits: 30 s for a server that was there before, answers with an error or takes the \
         connection and says nothing, 10 s for one that was never reached",
    ),
    ("never", Policy::Never, "One attempt"),
    ("unattended", Policy::Unattended, "For work without a waiting person: half an hour"),
];
/// Which era of the protocol to speak, in words.
pub const ERAS: Choices<EraChoice, 3> = [
    ("auto", EraChoice::Auto, "Ask the server, and follow it when it changes"),
    ("legacy", EraChoice::Legacy, "With sessions: 2025-11-25 and before"),
    (
        "modern",
        EraChoice::Modern,
        "Stateless: 2026-07-28; a server that wants a session is refused",
    ),
];
const ERA: &str = "must be `auto`, `legacy` or `modern`";
const POLICY: &str = "must be `interactive`, `never` or `unattended`";
const VERBOSE: &str = "must be a number, 0 to 3";
/// The names of all settings: those of their flags.
const KEYS: [&str; 11] = [
    "bearer-env",
    "cacert",
    "era",
    "header",
    "hint",
    "max-message",
    "policy",
    "profile",
    "repeatable",
    "timeout",
    "verbose",
];

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
    fn a_nearer_token_replaces_one_that_is_said_in_the_other_way() {
        let by_header =
            || Layer { headers: vec!["Authorization: Bearer a".into()], ..Layer::default() };
        let by_variable = || Layer { bearer_env: Some("TOKEN".into()), ..Layer::default() };

        let header_wins = by_header().over(by_variable());
        let variable_wins = by_variable().over(by_header());

        assert_eq!((header_wins.headers.len(), header_wins.bearer_env), (1, None));
        assert_eq!((variable_wins.headers.len(), variable_wins.bearer_env.is_some()), (0, true));
    }
}
