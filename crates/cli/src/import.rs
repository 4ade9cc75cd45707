//! `ridethrough import`: puts our bridge in place of others in the config files of MCP hosts.
//!
//! Without `--write` it only reports; `--undo` reverts it. What is read, planned and written is a matter of
//! `ridethrough-config`; the servers are asked here, and people are told.

mod ask;
mod moving;
mod show;

use std::collections::BTreeSet;
use std::env;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use ridethrough_config::hosts::{ConfigPlace, Entry, File, Folders, Host, Unread, is_ours};
use ridethrough_config::replacing::{EntryVerdict, ReplacePlan};
use ridethrough_config::{Rehearsal, Restored};
use serde_json::json;

use crate::misuse::Misuse;
use crate::until::Stopped;
use crate::{near, out, safe};
pub(crate) use moving::{InitArgs, make_config};
use show::Report;

/// The arguments of `ridethrough import`.
#[derive(clap::Args)]
#[command(after_long_help = AFTER)]
pub(crate) struct ImportArgs {
    /// Config files, JSON or TOML [default: those in the usual places of this project and this user]
    files: Vec<PathBuf>,
    /// Only the server of this name, of one host as `HOST:NAME`; may be given several times
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Servers at a URL too, which their hosts reach by themselves
    #[arg(long, conflicts_with = "undo")]
    urls: bool,
    /// Move the servers of your own files to our gateway, and give each file one entry in place of them: it
    /// starts a gateway, or shares the one that runs at URL
    #[arg(long, value_name = "URL", num_args = 0..=1, require_equals = true, default_missing_value = "",
        conflicts_with_all = ["undo", "urls"])]
    gateway: Option<String>,
    /// Write the changes, with a backup beside each file
    #[arg(long)]
    write: bool,
    /// Bring back what was replaced, and leave everything else as it is by now
    #[arg(long, conflicts_with_all = ["write", "offline", "by_name"])]
    undo: bool,
    /// Do not ask the servers whether they let us in
    #[arg(long)]
    offline: bool,
    /// Write `ridethrough` without its folder, for hosts that find it by themselves
    #[arg(long)]
    by_name: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs `ridethrough import`.
pub(crate) fn play(args: &ImportArgs) -> Result<ExitCode> {
    let folders = Folders::here();
    let places = args.places(&folders)?;
    match &args.gateway {
        _ if args.undo => args.undo(places, &folders),
        None => args.import(places, &folders),
        Some(url) => {
            moving::play(args, places, &folders, Some(url.as_str()).filter(|it| !it.is_empty()))
        }
    }
}

/// The plan for a file, or why the file cannot be read.
type FilePlan = Result<ReplacePlan, (ConfigPlace, Unread)>;

impl ImportArgs {
    fn places(&self, folders: &Folders) -> Result<Vec<ConfigPlace>> {
        if self.files.is_empty() {
            return Ok(folders.files());
        }
        let missing = self.files.iter().find(|path| !path.is_file());
        match missing {
            None => Ok(self.files.iter().map(|path| Folders::named(path)).collect()),
            Some(path) => Err(Misuse {
                what: format!("there is no file {}", safe::path(path)),
                tried: "nothing was read or written".to_owned(),
                hint: "name a config file, or none for those in the usual places".to_owned(),
            }
            .into()),
        }
    }

    fn import(&self, places: Vec<ConfigPlace>, folders: &Folders) -> Result<ExitCode> {
        let read = places.into_iter().map(read);
        let mut plans: Vec<FilePlan> =
            read.map(|file| file.map(|file| self.plan(file, folders))).collect();
        self.check_names(plans.iter().flatten().map(|plan| &plan.file))?;
        if !self.offline
            && let Some(stopped) = self.ask(&mut plans, folders)?
        {
            return Ok(stopped.tell("nothing was written"));
        }
        if self.write {
            plans.iter_mut().flatten().for_each(ReplacePlan::write);
        }
        self.tell(&plans)
    }

    fn plan(&self, file: File, folders: &Folders) -> ReplacePlan {
        let program = self.program(folders.is_shared(&file.place));
        let host = file.place.host;
        ReplacePlan::of(file, &program, self.urls, |entry| self.wants(host, entry))
    }

    /// Reverts the import in these files.
    fn undo(&self, places: Vec<ConfigPlace>, folders: &Folders) -> Result<ExitCode> {
        let is_wanted = |place: &ConfigPlace, entry: &Entry| self.wants(place.host, entry);
        let undone = ridethrough_config::undo(places, folders, is_wanted)?;
        for backup in undone.files.iter().flat_map(|(_, it)| &it.broken) {
            eprintln!("passed over {}, which is not whole: {}", safe::path(&backup.0), backup.1);
        }
        if undone.is_own_changed {
            eprintln!("the servers of the gateway are taken out of your `ridethrough.toml` again");
        }
        if self.json {
            let files = undone.files.iter().map(|(path, Restored { names, copy, .. })| {
                let copy = copy.as_ref().map(|copy| copy.to_string_lossy());
                json!({ "path": path.to_string_lossy(), "restored": names, "copy": copy })
            });
            let json = json!({ "files": files.collect::<Vec<_>>() });
            return out::print(|out| writeln!(out, "{json:#}"));
        }
        out::print(|out| {
            let files = undone.files.iter().filter(|(_, it)| !it.names.is_empty());
            files.clone().try_for_each(|(path, Restored { names, copy, .. })| {
                let names: Vec<_> = names.iter().map(|name| safe::line(name)).collect();
                writeln!(out, "{}  restored: {}", safe::path(path), names.join(", "))?;
                let Some(copy) = copy else { return Ok(()) };
                writeln!(out, "  its words were changed since; as it was: {}", safe::path(copy))
            })
        })?;
        let count = undone.files.iter().map(|(_, it)| it.names.len()).sum();
        eprintln!("{} restored", servers_of(count));
        Ok(ExitCode::SUCCESS)
    }

    /// Returns the program that a host starts. Hosts with a graphical interface lack the search path of a
    /// shell, so they get the whole path; a file that other people read too gets the name alone.
    fn program(&self, is_shared: bool) -> String {
        let by_name = "ridethrough".to_owned();
        if self.by_name || is_shared {
            return by_name;
        }
        let path = env::current_exe().ok().and_then(|path| path.to_str().map(str::to_owned));
        path.filter(|path| is_ours(path)).unwrap_or(by_name)
    }

    fn wants(&self, host: Host, entry: &Entry) -> bool {
        self.only.is_empty() || self.only.iter().any(|word| means(word, host, entry))
    }

    fn check_names<'a>(&self, files: impl Iterator<Item = &'a File> + Clone) -> Result<(), Misuse> {
        let all = files.flat_map(|file| file.entries.iter().map(|it| (file.place.host, it)));
        let is_none = |word: &&String| !all.clone().any(|(host, entry)| means(word, host, entry));
        let Some(word) = self.only.iter().find(is_none) else { return Ok(()) };
        let names: BTreeSet<_> = all.map(|(_, entry)| entry.name.as_str()).collect();
        let meant = near::question(word, names).map(|it| format!("{} ", safe::line(&it)));
        Err(Misuse {
            what: format!("there is no server `{}`", safe::line(word)),
            tried: "the names in all these files were compared".to_owned(),
            hint: format!("{}without --only all of them are listed", meant.unwrap_or_default()),
        })
    }

    /// Asks the servers whether they accept us, unless a person stops that.
    fn ask(&self, plans: &mut [FilePlan], folders: &Folders) -> Result<Option<Stopped>> {
        let mut asked = Vec::new();
        for ReplacePlan { file, verdicts, .. } in plans.iter_mut().flatten() {
            for (entry, verdict) in file.entries.iter().zip(verdicts) {
                let is_asked = matches!(
                    verdict,
                    EntryVerdict::ByHand(_) | EntryVerdict::Could | EntryVerdict::Replace(_)
                );
                if is_asked && self.wants(file.place.host, entry) {
                    asked.push((verdict, ask::address(file, entry, folders)));
                }
            }
        }
        ask::ask(asked, EntryVerdict::Left, |verdict| {
            if let EntryVerdict::Replace(it) = verdict {
                it.needs_login();
            }
        })
    }

    fn tell(&self, plans: &[FilePlan]) -> Result<ExitCode> {
        let reports: Vec<_> = plans.iter().map(report).collect();
        let is_whole = reports.iter().all(Report::is_whole);
        if self.json {
            let files: Vec<_> = reports.iter().map(Report::json).collect();
            let json = json!({ "files": files });
            out::print(|out| {
                serde_json::to_writer_pretty(&mut *out, &json)?;
                writeln!(out)
            })?;
        } else {
            let is_colourful = out::is_colourful(&io::stdout());
            out::print(|out| reports.iter().try_for_each(|it| it.write(is_colourful, out)))?;
            self.hint(&reports);
        }
        Ok(if is_whole { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    fn hint(&self, reports: &[Report<'_, EntryVerdict>]) {
        let verdicts = reports.iter().flat_map(Report::verdicts);
        let count = verdicts.filter(|it| matches!(it, EntryVerdict::Replace(_))).count();
        match (reports.is_empty(), count, self.write) {
            (true, ..) => eprintln!("{NO_FILES}"),
            (false, 0, _) => eprintln!("nothing to replace"),
            (false, count, false) => {
                eprintln!("{} can be replaced\n\nhint: --write does it", servers_of(count));
            }
            (false, count, true) => eprintln!(
                "{} replaced; restart the programs that read these files\n\n\
                 hint: `ridethrough import --undo{}` goes back",
                servers_of(count),
                self.files.iter().map(|path| format!(" {}", safe::path(path))).collect::<String>()
            ),
        }
    }
}

/// Does everything that `import` does with the file at this path, which is not opened. Returns a line for each
/// server, too, as people see it on a terminal. It is for checks outside of this crate.
///
/// # Errors
///
/// Returns the message for people about a file that cannot be read.
pub fn rehearse(path: &Path, bytes: Vec<u8>) -> Result<(Rehearsal, String), String> {
    let rehearsal = ridethrough_config::rehearse(path, bytes)?;
    let ReplacePlan { file, verdicts, .. } = &rehearsal.plan;
    let lines = file.entries.iter().zip(verdicts);
    let lines = lines.map(|(entry, it)| show::line(&file.place, entry, it, false) + "\n");
    let lines = lines.collect();
    Ok((rehearsal, lines))
}

/// Whether a word means this server: by its name, or by its host and its name.
fn means(word: &str, host: Host, entry: &Entry) -> bool {
    word == entry.name || word.split_once(':') == Some((host.word(), &entry.name))
}

/// Reads a file, or returns why that is not possible.
fn read(place: ConfigPlace) -> std::result::Result<File, (ConfigPlace, Unread)> {
    File::read(place.clone()).map_err(|why| (place, why))
}

fn report(plan: &FilePlan) -> Report<'_, EntryVerdict> {
    match plan {
        Ok(plan) => Report::of(&plan.file, &plan.verdicts, plan.written.as_ref()),
        Err(unread) => Report::unread(unread),
    }
}

fn servers_of(count: usize) -> String {
    if count == 1 { "1 server".to_owned() } else { format!("{count} servers") }
}

const NO_FILES: &str = "\
no config file of an MCP host was found in the usual places of this project and this user

hint: name one: `ridethrough import .mcp.json`; `ridethrough import --help` says whose files are looked for";
const AFTER: &str = "Looks for the files of Claude Code, Claude Desktop, Codex, Copilot CLI, Cursor, \
Gemini CLI, VS Code, Windsurf and Zed. Each server is listed with what would become of it:

  replace  mcp-remote, supergateway or mcp-proxy is replaced by `ridethrough bridge`
  could    a remote server that its host reaches by itself; the line says what would change that
  already  goes through ridethrough
  left     stays as it is, and why

A server is asked first, with a handshake and nothing else. One that wants a login, and says where, is \
replaced: log in to it then with `ridethrough login NAME`, unless mcp-remote was logged in. One that wants \
a token and does not say from where, or does not answer, is left. Values of headers and variables are never shown. A file of a project, \
which may have come from anywhere, has no variables of your environment unless you name it.

With `--gateway`, servers go into your own `ridethrough.toml` with everything that their entries say, and each \
file of yours gets one entry, which starts `ridethrough gateway --stdio`:

  move     goes to the gateway
  already  is the gateway
  left     stays as it is, and why

Ends with 0, with 1 if a file could not be read or written, and with 2 for wrong usage.";
