//! How a front tells that a call may have run: the flags that `bridge`, `expose` and `gateway` share.

use clap::ValueEnum;
use ridethrough_core::{DoubtForm, DoubtRepeat};

/// The flags about calls that may have run.
#[derive(clap::Args)]
pub(crate) struct DoubtFlags {
    /// How a client is told that a call of a tool may have run: by a result, which models read, or by an error, which
    /// programs may repeat [default: result]
    #[arg(long, value_name = "FORM", value_enum)]
    doubt: Option<FormFlag>,
    /// What becomes of a call that is equal to one that may have run: it gets that answer for 30 s and is not sent, or
    /// it is sent [default: hold]
    #[arg(long, value_name = "WHAT", value_enum)]
    doubt_repeat: Option<RepeatFlag>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FormFlag {
    Error,
    Result,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum RepeatFlag {
    Allow,
    Hold,
}

impl DoubtFlags {
    /// Returns the form that was asked for.
    pub(crate) fn form(&self) -> Option<DoubtForm> {
        Some(match self.doubt? {
            FormFlag::Error => DoubtForm::Error,
            FormFlag::Result => DoubtForm::Result,
        })
    }

    /// Returns what was asked for repeats.
    pub(crate) fn repeat(&self) -> Option<DoubtRepeat> {
        Some(match self.doubt_repeat? {
            RepeatFlag::Allow => DoubtRepeat::Allow,
            RepeatFlag::Hold => DoubtRepeat::Hold,
        })
    }
}
