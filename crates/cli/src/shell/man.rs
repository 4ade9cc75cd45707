//! `ridethrough man`: the manual, in the format of `man`.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap_mangen::Man;

use crate::out;

/// The arguments of `ridethrough man`.
#[derive(clap::Args)]
pub(crate) struct ManArgs {
    /// Write a page for every command into this folder, in place of one page to stdout
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub(crate) fn play(args: &ManArgs, command: clap::Command) -> Result<ExitCode> {
    if let Some(folder) = &args.out {
        let wanted = || format!("writing pages into `{}`", folder.display());
        std::fs::create_dir_all(folder).with_context(wanted)?;
        clap_mangen::generate_to(command, folder).with_context(wanted)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut page = Vec::new();
    Man::new(command).render(&mut page).context("the page could not be made")?;
    out::print(|out| out.write_all(&page))
}
