//! `ridethrough gateway init`: makes the gateway's config file from the files of the hosts on this machine.
//! Those stay as they are.

use std::io;
use std::process::ExitCode;

use anyhow::Result;
use ridethrough_config::hosts::{ConfigScope, File, Folders};
use ridethrough_config::moving::{MovePlan, MoveVerdict, OwnFile};

use super::super::servers_of;

use super::{MovedFile, told};
use crate::consent::agreement;
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
    let mut plans: Vec<MovedFile> = places
        .map(|place| match File::read(place.clone()) {
            Ok(file) => Ok(MovePlan::of(file, |_| true)),
            Err(why) => Err((place, why)),
        })
        .collect();
    plans.iter_mut().flatten().for_each(|plan| plan.place(&mut own));
    let is_new = |it: &MoveVerdict| matches!(it, MoveVerdict::Move(moved) if moved.is_new);
    let count = plans.iter().flatten().flat_map(|it| &it.verdicts).filter(|it| is_new(it)).count();
    let path = safe::path(&own.path);
    let is_colourful = out::is_colourful(&io::stdout());
    out::print(|out| plans.iter().try_for_each(|plan| told::in_words(plan, is_colourful, out)))?;
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
    if !args.yes && !agreement::is_given(&question, unasked)? {
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
