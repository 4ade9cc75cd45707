//! Stand-ins for what Unix has: commands that cannot do without it are refused, here and nowhere else.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;

use crate::misuse::Misuse;

pub(crate) use {refused as expose, refused as gateway, refused as supervise};

/// A command that does not exist on this platform.
pub(crate) mod refused {
    use super::*;

    /// Whatever was asked for.
    #[derive(clap::Args)]
    pub(crate) struct Args {
        /// Whatever it is
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<OsString>,
    }

    pub(crate) fn play(args: &Args) -> Result<ExitCode> {
        let Args { words: _ } = args;
        Err(Misuse {
            what: format!("this command is {NOT_SUPPORTED}"),
            tried: "nothing was done".to_owned(),
            hint: "run it on Linux".to_owned(),
        }
        .into())
    }
}

/// `ridethrough status`, and the socket by which it would see a bridge.
pub(crate) mod status {
    use ridethrough_bridge::Gauge;
    use ridethrough_config::settings::Origin;

    pub(crate) use super::refused::{Args as StatusArgs, play};

    /// A stand-in for the socket by which `status` sees a bridge.
    pub(crate) struct StatusServer;

    impl StatusServer {
        pub(crate) fn open(_: Gauge, _: String, _: Vec<Origin>) -> Result<Self, String> {
            Err(format!("that is {super::NOT_SUPPORTED}"))
        }
    }
}

/// Whether `ridethrough gateway` exists here.
pub(crate) const HAS_GATEWAY: bool = false;

/// A file has the rights of its folder, which is one of the user's own.
pub(crate) const fn is_ours_alone(_: &Path) -> bool {
    true
}

pub(crate) const fn discard_typed() {}

const NOT_SUPPORTED: &str = "not supported on this platform";

/// Always false: the platform has no mode that marks a file as a program.
pub(crate) const fn is_executable(_: &Path) -> bool {
    false
}
