//! `ridethrough-lab browser`: the browser of a person who consents to everything.
//!
//! A client under test starts it, as the program in `BROWSER`.

use std::process::ExitCode;

use anyhow::Result;
use ridethrough_lab::browser::open;

use super::drive::runtime;
use super::wrong::dial;

/// The arguments of `ridethrough-lab browser`.
#[derive(clap::Args)]
pub(crate) struct BrowserArgs {
    /// The URL to open.
    url: String,
}

pub(super) fn play(args: &BrowserArgs) -> Result<ExitCode> {
    match runtime()?.block_on(open(&args.url, dial)) {
        Ok(()) => Ok(ExitCode::SUCCESS),
        // A client ignores this; a person who starts the command by hand sees it.
        Err(why) => {
            eprintln!("the page could not be opened: {why}");
            Ok(ExitCode::FAILURE)
        }
    }
}
