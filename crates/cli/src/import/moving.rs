//! `ridethrough import --gateway`: servers of hosts become servers of our gateway, and each host's file gets
//! one entry in place of them.
//!
//! ```text
//! file -> table (a server in the words of our own file) -> own_file
//!      -> one_entry (the edits of the host's file)      -> disk      undo
//! ```
//! Nothing is changed unless `--write` is given. Our own file is written first: a host never loses a server
//! that the gateway does not have.

mod init;
mod one_entry;
mod own_file;
mod table;
mod told;
mod undo;
mod words;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;

use super::ask::{self, ServerAnswer};
use super::document::Edit;
use super::entry::Entry;
use super::file::{File, Unread};
use super::places::{ConfigPlace, ConfigScope, Folders};
use super::plan::LoginAfter;
use super::reach::Reached;
use super::{ImportArgs, objection, servers_of};
use crate::gateway_token;
use crate::misuse::Misuse;
use crate::platform;
use crate::until::{self, Stopped};

pub(crate) use init::{InitArgs, play as make_config};
use one_entry::{GatewayEntry, TOKEN, is_gateway};
use own_file::OwnFile;
use table::ServerTable;
pub(super) use undo::{undone as undone_gateway, without_servers};

/// The plan for one server of a host's file.
enum MoveVerdict {
    /// The entry is the gateway's.
    Already,
    /// The entry stays, for this reason.
    Left(String),
    Move(Box<Move>),
}

/// A server that is moved.
struct Move {
    /// Its table, until that is added to our own file.
    table: Option<ServerTable>,
    /// Its name in our own file.
    name: String,
    is_new: bool,
    /// What the gateway does not know about it.
    without: Vec<String>,
    login: LoginAfter,
}

/// A host's file, and what becomes of its servers.
struct MovePlan {
    file: File,
    verdicts: Vec<MoveVerdict>,
    edits: Vec<Edit>,
    /// The backup, or why nothing was written; `None` if nothing was to be written.
    written: Option<Result<PathBuf, String>>,
}

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

/// Whether the gateway is in a file of a host of this user.
pub(super) fn is_anywhere(folders: &Folders) -> bool {
    let files = folders.files().into_iter().filter_map(|place| File::read(place).ok());
    files.into_iter().any(|file| file.entries.iter().any(is_gateway))
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

impl MovePlan {
    fn of(file: File, is_wanted: impl Fn(&Entry) -> bool) -> Self {
        let judge = |entry: &Entry| match ServerTable::of(&file, entry) {
            _ if is_gateway(entry) => MoveVerdict::Already,
            _ if !is_wanted(entry) => MoveVerdict::Left("another was asked for".to_owned()),
            Err(why) => MoveVerdict::Left(why),
            Ok(table) => MoveVerdict::Move(Box::new(Move {
                name: entry.name.clone(),
                is_new: true,
                without: table.without.clone(),
                login: LoginAfter::NotNeeded,
                table: Some(table),
            })),
        };
        let verdicts = file.entries.iter().map(judge).collect();
        Self { file, verdicts, edits: Vec::new(), written: None }
    }

    /// Makes the edits of the host's file. If there are none, all its servers stay.
    fn edit(&mut self, gateway: &GatewayEntry) {
        let is_moved = |(_, it): &(&Entry, &MoveVerdict)| matches!(it, MoveVerdict::Move(_));
        let all = || self.file.entries.iter().zip(&self.verdicts);
        if !all().any(|it| is_moved(&it)) {
            return;
        }
        // An entry of the gateway that is there already is written anew, with those that are moved.
        let gone = all().filter(|it| is_moved(it) || matches!(it.1, MoveVerdict::Already));
        let gone: Vec<_> = gone.map(|(entry, _)| entry).collect();
        let (document, place) = (&self.file.document, &self.file.place);
        let write = |spot: &one_entry::Spot<'_>| gateway.text(place.host, spot);
        match one_entry::edits(document, &place.path, &gone, &write) {
            Ok(edits) => self.edits = edits,
            Err(why) => {
                for verdict in &mut self.verdicts {
                    if matches!(verdict, MoveVerdict::Move(_)) {
                        *verdict = MoveVerdict::Left(format!("{why}: move it by hand"));
                    }
                }
            }
        }
    }

    /// Gives each server its place in our own file.
    fn place(&mut self, own: &mut OwnFile) {
        let host = self.file.place.host;
        for (entry, verdict) in self.file.entries.iter().zip(&mut self.verdicts) {
            if let MoveVerdict::Move(moved) = verdict
                && let Some(table) = moved.table.take()
            {
                let placed = own.add(&entry.name, host, table);
                (moved.name, moved.is_new) = (placed.name, placed.is_new);
            }
        }
    }

    fn write(&mut self) {
        if self.edits.is_empty() {
            return;
        }
        let document = &self.file.document;
        let new = document.with(&self.edits);
        let written = super::disk::replace(&self.file.place.path, &document.text, &new);
        self.written = Some(written.map_err(|error| format!("{error:#}")));
    }
}

/// Asks the servers at URLs whether they accept us, unless a person stops that.
fn ask_servers(plans: &mut [MovedFile], folders: &Folders) -> Result<Option<Stopped>> {
    let (mut verdicts, mut servers) = (Vec::new(), Vec::new());
    for MovePlan { file, verdicts: judged, .. } in plans.iter_mut().flatten() {
        for (entry, verdict) in file.entries.iter().zip(judged) {
            let MoveVerdict::Move(moved) = &*verdict else { continue };
            let table = moved.table.as_ref();
            if table.is_some_and(|it| matches!(it.reached, Reached::Remote(_))) {
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
