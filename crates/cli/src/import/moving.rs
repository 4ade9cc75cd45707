//! `ridethrough import --gateway`: servers of hosts become servers of our gateway, and each host's file gets
//! one entry in place of them.
//!
//! Nothing is changed unless `--write` is given. Our own file is written first: a host never loses a server
//! that the gateway does not have.

mod init;
mod told;

use std::process::ExitCode;

use anyhow::Result;
use ridethrough_config::hosts::{ConfigPlace, ConfigScope, File, Folders, Unread};
use ridethrough_config::moving::{GatewayEntry, MovePlan, MoveVerdict, OwnFile, TOKEN};
use ridethrough_config::replacing::LoginAfter;

use super::ask;
use super::show::Report;
use super::{ImportArgs, read};
use crate::gateway_secrets;
use crate::misuse::Misuse;
use crate::platform;
use crate::until::Stopped;

pub(crate) use init::{InitArgs, play as make_config};

/// The plan for a file, or why the file cannot be read.
type MovedFile = Result<MovePlan, (ConfigPlace, Unread)>;

/// Runs `ridethrough import --gateway`, with the URL of a gateway that runs, if hosts are to share it.
pub(super) fn play(
    args: &ImportArgs,
    places: Vec<ConfigPlace>,
    folders: &Folders,
    url: Option<&str>,
) -> Result<ExitCode> {
    if !platform::HAS_GATEWAY {
        return Err(Misuse {
            what: "there is no gateway on this platform".to_owned(),
            tried: "nothing was read or written".to_owned(),
            hint: "`ridethrough import` without `--gateway` puts a bridge in front of each server"
                .to_owned(),
        }
        .into());
    }
    let mut own = OwnFile::read()?;
    let mut plans = planned(args, places);
    args.check_names(plans.iter().flatten().map(|plan| &plan.file))?;
    if !args.offline
        && let Some(stopped) = ask_servers(&mut plans, folders)?
    {
        return Ok(stopped.tell("nothing was written"));
    }
    for plan in plans.iter_mut().flatten() {
        let entry = entry(args, folders.is_shared(&plan.file.place), url)?;
        plan.edit(&entry);
        plan.place(&mut own);
    }
    let mut backup = None;
    if args.write {
        backup = own.write()?;
        plans.iter_mut().flatten().for_each(MovePlan::write);
    }
    let reports: Vec<_> = plans.iter().map(report).collect();
    told::tell(args, &reports, &own.path, backup.as_deref())
}

/// Plans what becomes of the servers of these files. Those of projects are for whoever works there, so they
/// are looked at only if a person names the file.
fn planned(args: &ImportArgs, places: Vec<ConfigPlace>) -> Vec<MovedFile> {
    let ours = places.into_iter().filter(|it| it.scope != ConfigScope::Project);
    let plan = |file: File| {
        let host = file.place.host;
        MovePlan::of(file, |entry| args.wants(host, entry))
    };
    ours.map(|place| read(place).map(plan)).collect()
}

fn report(plan: &MovedFile) -> Report<'_, MoveVerdict> {
    match plan {
        Ok(plan) => Report::of(&plan.file, &plan.verdicts, plan.written.as_ref()),
        Err(unread) => Report::unread(unread),
    }
}

/// Asks the servers at URLs whether they accept us, unless a person stops that.
fn ask_servers(plans: &mut [MovedFile], folders: &Folders) -> Result<Option<Stopped>> {
    let mut asked = Vec::new();
    for MovePlan { file, verdicts, .. } in plans.iter_mut().flatten() {
        for (entry, verdict) in file.entries.iter().zip(verdicts) {
            if matches!(verdict, MoveVerdict::Move(moved) if moved.is_remote()) {
                asked.push((verdict, ask::address(file, entry, folders)));
            }
        }
    }
    ask::ask(asked, MoveVerdict::Left, |verdict| {
        if let MoveVerdict::Move(moved) = verdict {
            moved.login = LoginAfter::Needed;
        }
    })
}

/// Returns the entry by which a host reaches the gateway: it starts one of its own, or shares the one at a
/// URL through our bridge, which rides through a restart of it.
fn entry(args: &ImportArgs, is_shared: bool, url: Option<&str>) -> Result<GatewayEntry, Misuse> {
    let program = args.program(is_shared);
    let words = |words: &[&str]| words.iter().map(|it| (*it).to_owned()).collect();
    let Some(url) = url else {
        return Ok(GatewayEntry { program, args: words(&["gateway", "--stdio"]), env: None });
    };
    let token = gateway_secrets::token()?.token.reveal().to_owned();
    let args = words(&["bridge", url, "--bearer-env", TOKEN]);
    Ok(GatewayEntry { program, args, env: Some((TOKEN, token)) })
}
