//! How a front tells that a call may have run: the flags that `bridge`, `expose` and `gateway` share.

use clap::ValueEnum;
use ridethrough_core::{DoubtForm, DoubtRepeat};

/// The flags about calls that may have run.
#[derive(clap::Args)]
pub(crate) struct DoubtFlags {
    /// How a client is told that a call of a tool may have run: by a result, which models read, or by an error, which
    /// programs may repeat [default: result]
    #[arg(long, value_name = "FORM", value_enum)]
    doubt: Option<Form>,
    /// What becomes of a call that is equal to one that may have run: it gets that answer for 30 s and is not sent, or
    /// it is sent [default: hold]
    #[arg(long, value_name = "WHAT", value_enum)]
    doubt_repeat: Option<Repeat>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    Error,
    Result,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Repeat {
    Allow,
    Hold,
}

impl DoubtFlags {
    /// Returns the form that was asked for.
    pub(crate) fn form(&self) -> Option<DoubtForm> {
        Some(match self.doubt? {
            Form::Error => DoubtForm::Error,
            Form::Result => DoubtForm::Result,
        })
    }

    /// Returns what was asked for repeats.
    pub(crate) fn repeat(&self) -> Option<DoubtRepeat> {
        Some(match self.doubt_repeat? {
            Repeat::Allow => DoubtRepeat::Allow,
            Repeat::Hold => DoubtRepeat::Hold,
        })
    }
}
