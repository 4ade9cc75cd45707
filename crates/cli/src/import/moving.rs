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

use super::ask::{self, ServerAnswer};
use super::{ImportArgs, objection, servers_of};
use crate::gateway_token;
use crate::misuse::Misuse;
use crate::platform;
use crate::until::{self, Stopped};

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
    told::tell(args, &plans, &own.path, backup.as_deref())
}

/// Plans what becomes of the servers of these files. Those of projects are for whoever works there, so they
/// are looked at only if a person names the file.
fn planned(args: &ImportArgs, places: Vec<ConfigPlace>) -> Vec<MovedFile> {
    let ours = places.into_iter().filter(|it| it.scope != ConfigScope::Project);
    let plan = |place: ConfigPlace| match File::read(place.clone()) {
        Ok(file) => Ok(MovePlan::of(file, |entry| args.wants(place.host, entry))),
        Err(why) => Err((place, why)),
    };
    ours.map(plan).collect()
}

/// Asks the servers at URLs whether they accept us, unless a person stops that.
fn ask_servers(plans: &mut [MovedFile], folders: &Folders) -> Result<Option<Stopped>> {
    let (mut verdicts, mut servers) = (Vec::new(), Vec::new());
    for MovePlan { file, verdicts: judged, .. } in plans.iter_mut().flatten() {
        for (entry, verdict) in file.entries.iter().zip(judged) {
            let MoveVerdict::Move(moved) = &*verdict else { continue };
            if moved.is_remote() {
                servers.push(ask::address(file, entry, folders));
                verdicts.push(verdict);
            }
        }
    }
    if servers.is_empty() {
        return Ok(None);
    }
    let count = servers_of(servers.len());
    eprintln!("asking {count} whether they let us in (--offline does not)");
    let heard = match until::stopped(ask::ask(servers))? {
        Ok(heard) => heard,
        Err(stopped) => return Ok(Some(stopped)),
    };
    for (verdict, heard) in verdicts.into_iter().zip(heard) {
        match (heard, &mut *verdict) {
            (ServerAnswer::LoginNeeded, MoveVerdict::Move(moved)) => {
                moved.login = LoginAfter::Needed;
            }
            (heard, _) => {
                if let Some(why) = objection(heard) {
                    *verdict = MoveVerdict::Left(why);
                }
            }
        }
    }
    Ok(None)
}

/// Returns the entry by which a host reaches the gateway: it starts one of its own, or shares the one at a
/// URL through our bridge, which rides through a restart of it.
fn entry(args: &ImportArgs, is_shared: bool, url: Option<&str>) -> Result<GatewayEntry, Misuse> {
    let program = args.program(is_shared);
    let words = |words: &[&str]| words.iter().map(|it| (*it).to_owned()).collect();
    let Some(url) = url else {
        return Ok(GatewayEntry { program, args: words(&["gateway", "--stdio"]), env: None });
    };
    let token = gateway_token::read_or_make()?.token.reveal().to_owned();
    let args = words(&["bridge", url, "--bearer-env", TOKEN]);
    Ok(GatewayEntry { program, args, env: Some((TOKEN, token)) })
}
