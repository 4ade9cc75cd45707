//! `ridethrough gateway init`: makes the gateway's config file from the files of the hosts on this machine.
//! Those stay as they are.

use std::io;
use std::process::ExitCode;

use anyhow::Result;
use ridethrough_config::hosts::{ConfigScope, Folders};
use ridethrough_config::moving::{MovePlan, MoveVerdict, OwnFile};

use super::super::{read, servers_of};
use super::{MovedFile, report};
use crate::consent::is_agreed;
use crate::misuse::Misuse;
use crate::out;
use crate::safe;

/// The arguments of `ridethrough gateway init`.
#[derive(clap::Args)]
pub(crate) struct InitArgs {
    /// Write the file without asking, as is needed where there is no terminal
    #[arg(long)]
    yes: bool,
}

/// Runs `ridethrough gateway init`.
pub(crate) fn play(args: &InitArgs) -> Result<ExitCode> {
    let mut own = OwnFile::read()?;
    let places = Folders::here().files().into_iter().filter(|it| it.scope == ConfigScope::User);
    let read = places.map(read);
    let mut plans: Vec<MovedFile> =
        read.map(|file| file.map(|file| MovePlan::of(file, |_| true))).collect();
    plans.iter_mut().flatten().for_each(|plan| plan.place(&mut own));
    let is_new = |it: &MoveVerdict| matches!(it, MoveVerdict::Move(moved) if moved.is_new);
    let count = plans.iter().flatten().flat_map(|it| &it.verdicts).filter(|it| is_new(it)).count();
    let path = safe::path(&own.path);
    let is_colourful = out::is_colourful(&io::stdout());
    let reports: Vec<_> = plans.iter().map(report).collect();
    out::print(|out| reports.iter().try_for_each(|it| it.write(is_colourful, out)))?;
    if count == 0 {
        eprintln!("nothing to write: no host of this machine has a server that {path} lacks");
        return Ok(ExitCode::SUCCESS);
    }
    let unasked = || Misuse {
        what: format!("{path} is not written: there is no terminal to ask on"),
        tried: "the files of hosts were read and shown; nothing was written".to_owned(),
        hint: "`--yes` writes it without asking".to_owned(),
    };
    let question = format!("copy {} to {path}? yes or no [no]: ", servers_of(count));
    if !args.yes && !is_agreed(&question, unasked)? {
        eprintln!("nothing was written");
        return Ok(ExitCode::SUCCESS);
    }
    let backup = own.write()?;
    let backup = backup.map(|it| format!("; as it was: {}", safe::path(&it))).unwrap_or_default();
    eprintln!(
        "{} written to {path}{backup}\n\n\
         hint: `ridethrough gateway` serves them; `ridethrough import --gateway` has your hosts use it",
        servers_of(count)
    );
    Ok(ExitCode::SUCCESS)
}
