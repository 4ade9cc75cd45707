//! Flags that take one of several words.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use ridethrough::model::LogLevel;
use ridethrough_config::values::{self, Choices, DOUBT_FORMS, DOUBT_REPEATS};
use ridethrough_core::{DoubtForm, DoubtRepeat};

/// How a front tells that a call may have run: the flags that `bridge`, `expose` and `gateway` share.
#[derive(clap::Args)]
pub(crate) struct DoubtFlags {
    /// How a client is told that a call of a tool may have run: by a result, which models read, or by an error, which
    /// programs may repeat [default: result]
    #[arg(long, value_name = "FORM", value_parser = one_of(&DOUBT_FORMS))]
    doubt: Option<DoubtForm>,
    /// What becomes of a call that is equal to one that may have run: it gets that answer for 30 s and is not sent, or
    /// it is sent [default: hold]
    #[arg(long, value_name = "WHAT", value_parser = one_of(&DOUBT_REPEATS))]
    doubt_repeat: Option<DoubtRepeat>,
}

impl DoubtFlags {
    /// Returns the form that was asked for.
    pub(crate) const fn form(&self) -> Option<DoubtForm> {
        self.doubt
    }

    /// Returns what was asked for repeats.
    pub(crate) const fn repeat(&self) -> Option<DoubtRepeat> {
        self.doubt_repeat
    }
}

/// Reads a word that stands for one of these values, each with what the help says of it.
pub(crate) fn one_of<T: Copy + Send + Sync + 'static>(
    choices: &'static [(&'static str, T, &'static str)],
) -> impl TypedValueParser<Value = T> {
    let known = choices.iter().map(|(word, _, about)| {
        let value = PossibleValue::new(*word);
        if about.is_empty() { value } else { value.help(*about) }
    });
    PossibleValuesParser::new(known).try_map(|word| {
        // The parser of possible values lets no other word through.
        values::named(choices, &word).ok_or("is none of the possible values")
    })
}

/// The levels of a log message, of RFC 5424, the least first.
pub(crate) const LEVELS: Choices<LogLevel, 8> = [
    ("debug", LogLevel::Debug, ""),
    ("info", LogLevel::Info, ""),
    ("notice", LogLevel::Notice, ""),
    ("warning", LogLevel::Warning, ""),
    ("error", LogLevel::Error, ""),
    ("critical", LogLevel::Critical, ""),
    ("alert", LogLevel::Alert, ""),
    ("emergency", LogLevel::Emergency, ""),
];
