//! What `import --gateway` would do or did, for people and for programs.

use std::io;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use ridethrough_config::hosts::{ConfigPlace, Entry};
use ridethrough_config::moving::{Move, MoveVerdict};
use ridethrough_config::replacing::{LoginAfter, header_names, shown_url};
use serde_json::{Value, json};

use super::super::show::{Report, Verdict, log_in};
use super::super::{ImportArgs, NO_FILES, servers_of};
use crate::out::{self, Colour};
use crate::safe;

/// Tells the plan or the outcome, and returns the exit code.
pub(super) fn tell(
    args: &ImportArgs,
    reports: &[Report<'_, MoveVerdict>],
    own: &Path,
    backup: Option<&Path>,
) -> Result<ExitCode> {
    if args.json {
        let config =
            json!({ "path": own.to_string_lossy(), "backup": backup.map(Path::to_string_lossy) });
        let files: Vec<_> = reports.iter().map(Report::json).collect();
        let json = json!({ "files": files, "config": config });
        out::print(|out| writeln!(out, "{json:#}"))?;
    } else {
        let is_colourful = out::is_colourful(&io::stdout());
        out::print(|out| reports.iter().try_for_each(|it| it.write(is_colourful, out)))?;
        hint(args, reports, own, backup);
    }
    let is_whole = reports.iter().all(Report::is_whole);
    Ok(if is_whole { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

impl Verdict for MoveVerdict {
    fn word(&self) -> (&'static str, Colour) {
        match self {
            Self::Already => ("already", Colour::Green),
            Self::Left(_) => ("left", Colour::Faint),
            Self::Move(_) => ("move", Colour::Green),
        }
    }

    fn story(&self, place: &ConfigPlace, entry: &Entry) -> String {
        match self {
            Self::Already => "it is the gateway".to_owned(),
            Self::Left(why) => why.clone(),
            Self::Move(moved) => moved_story(place, entry, moved),
        }
    }

    fn complete(&self, place: &ConfigPlace, entry: &Entry, server: &mut Value) {
        match self {
            Self::Already => {}
            Self::Left(why) => server["why"] = why.as_str().into(),
            Self::Move(moved) => {
                server["as"] = moved.name.as_str().into();
                server["isNew"] = moved.is_new.into();
                server["without"] = json!(moved.without);
                if moved.login == LoginAfter::Needed {
                    server["login"] = log_in(place, entry).into();
                }
            }
        }
    }
}

fn moved_story(place: &ConfigPlace, entry: &Entry, moved: &Move) -> String {
    let headers = match header_names(entry).as_slice() {
        [] => String::new(),
        names => format!(", with {}", names.join(", ")),
    };
    let what = shown_url(entry).unwrap_or_else(|| "a program".to_owned());
    let name = match (moved.is_new, moved.name == entry.name) {
        (true, true) => String::new(),
        (true, false) => format!("; as `{}`, since the name means another server", moved.name),
        (false, _) => format!("; `{}` is there already", moved.name),
    };
    let without = match moved.without.as_slice() {
        [] => String::new(),
        keys => format!("; without {}", keys.join(", ")),
    };
    let login = match moved.login {
        LoginAfter::Needed => format!("; then log in: `{}`", log_in(place, entry)),
        LoginAfter::NotNeeded | LoginAfter::TakenOver => String::new(),
    };
    format!("{what}{headers}{name}{without}{login}")
}

fn hint(args: &ImportArgs, reports: &[Report<'_, MoveVerdict>], own: &Path, backup: Option<&Path>) {
    let verdicts = reports.iter().flat_map(Report::verdicts);
    let count = verdicts.filter(|it| matches!(it, MoveVerdict::Move(_))).count();
    let (own, count_of) = (safe::path(own), servers_of(count));
    match (reports.is_empty(), count, args.write) {
        (true, ..) => eprintln!("{NO_FILES}"),
        (false, 0, _) => eprintln!("nothing to move"),
        (false, _, false) => eprintln!(
            "{count_of} can be moved to {own}, and each file gets one entry in place of them\n\n\
             hint: --write does it"
        ),
        (false, _, true) => {
            let backup =
                backup.map(|it| format!(" (as it was: {})", safe::path(it))).unwrap_or_default();
            let files = args.files.iter().map(|path| format!(" {}", safe::path(path)));
            eprintln!(
                "{count_of} moved to {own}{backup}; restart the programs that read these files\n\n\
                 hint: `ridethrough gateway check` looks at them; `ridethrough import --undo{}` goes back",
                files.collect::<String>()
            );
        }
    }
}
