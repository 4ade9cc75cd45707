//! `ridethrough expose` where there are no process groups: it says so.

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::Result;

use crate::misuse::Misuse;

/// What `expose` is asked for.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Whatever it is
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<OsString>,
}

pub(crate) fn play(args: &Args) -> Result<ExitCode> {
    let words = args.words.len();
    Err(Misuse {
        what: "`expose` is not there on this system yet".to_owned(),
        tried: format!("nothing; the {words} words after it were not looked at"),
        hint: "run it on Linux or macOS, or in the Windows Subsystem for Linux".to_owned(),
    }
    .into())
}
