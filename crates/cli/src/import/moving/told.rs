//! What `import --gateway` would do or did, for people and for programs.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use ridethrough_config::hosts::{Broken, ConfigPlace, Entry, Unread};
use ridethrough_config::moving::{Move, MovePlan, MoveVerdict};
use ridethrough_config::replacing::{LoginAfter, header_names, shown_url};
use serde_json::{Value, json};

use super::super::show::log_in;
use super::super::{ImportArgs, NO_FILES, servers_of};
use super::MovedFile;
use crate::out::{self, Colour, painted};
use crate::safe;

/// Tells the plan or the outcome, and returns the exit code.
pub(super) fn tell(
    args: &ImportArgs,
    plans: &[MovedFile],
    own: &Path,
    backup: Option<&Path>,
) -> Result<ExitCode> {
    if args.json {
        let config =
            json!({ "path": own.to_string_lossy(), "backup": backup.map(Path::to_string_lossy) });
        let files: Vec<_> = plans.iter().map(in_json).collect();
        let json = json!({ "files": files, "config": config });
        out::print(|out| writeln!(out, "{json:#}"))?;
    } else {
        let is_colourful = out::is_colourful(&io::stdout());
        out::print(|out| plans.iter().try_for_each(|plan| in_words(plan, is_colourful, out)))?;
        hint(args, plans, own, backup);
    }
    let is_whole = |plan: &MovedFile| match plan {
        Ok(plan) => !matches!(plan.written, Some(Err(_))),
        Err(_) => false,
    };
    Ok(if plans.iter().all(is_whole) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Writes what becomes of a file.
pub(super) fn in_words(
    plan: &MovedFile,
    is_colourful: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    let place = match plan {
        Ok(plan) => &plan.file.place,
        Err((place, _)) => place,
    };
    let heading = format!("{}  {}", place.host, safe::path(&place.path));
    writeln!(out, "{}", painted(&heading, Colour::Bold, is_colourful))?;
    let wrong = |text: &str| painted(&safe::line(text), Colour::Red, is_colourful);
    match plan {
        Err((_, why)) => writeln!(out, "  {}", wrong(&why.to_string()))?,
        Ok(plan) if plan.verdicts.is_empty() => writeln!(out, "  no servers in it")?,
        Ok(MovePlan { file, verdicts, written, .. }) => {
            for (entry, verdict) in file.entries.iter().zip(verdicts) {
                line(place, entry, verdict, is_colourful, out)?;
            }
            match written {
                None => {}
                Some(Ok(backup)) => writeln!(out, "  written; as it was: {}", safe::path(backup))?,
                Some(Err(why)) => writeln!(out, "  {}", wrong(&format!("not written: {why}")))?,
            }
        }
    }
    writeln!(out)
}

fn line(
    place: &ConfigPlace,
    entry: &Entry,
    verdict: &MoveVerdict,
    is_colourful: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    let (word, colour) = match verdict {
        MoveVerdict::Already => ("already", Colour::Green),
        MoveVerdict::Left(_) => ("left", Colour::Faint),
        MoveVerdict::Move(_) => ("move", Colour::Green),
    };
    let name = match &entry.project {
        Some(project) => format!("{} (in {})", safe::line(&entry.name), safe::line(project)),
        None => safe::line(&entry.name),
    };
    let word = painted(&format!("{word:<8}"), colour, is_colourful);
    writeln!(out, "  {word} {name}: {}", safe::line(&story(place, entry, verdict)))
}

fn story(place: &ConfigPlace, entry: &Entry, verdict: &MoveVerdict) -> String {
    match verdict {
        MoveVerdict::Already => "it is the gateway".to_owned(),
        MoveVerdict::Left(why) => why.clone(),
        MoveVerdict::Move(moved) => moved_story(place, entry, moved),
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

fn in_json(plan: &MovedFile) -> Value {
    let (place, plan) = match plan {
        Ok(plan) => (&plan.file.place, Ok(plan)),
        Err((place, why)) => (place, Err(why)),
    };
    let mut file = json!({ "path": place.path.to_string_lossy(), "host": place.host.word() });
    match plan {
        Ok(MovePlan { file: read, verdicts, written, .. }) => {
            let servers = read.entries.iter().zip(verdicts);
            file["servers"] = servers.map(|(entry, it)| server(place, entry, it)).collect();
            match written {
                None => {}
                Some(Ok(backup)) => file["backup"] = backup.to_string_lossy().into(),
                Some(Err(why)) => file["unwritten"] = why.as_str().into(),
            }
        }
        Err(Unread::Broken(Broken { line, column, what })) => {
            file["broken"] = json!({ "line": line, "column": column, "what": what });
        }
        Err(Unread::Lost(error)) => file["broken"] = json!({ "what": error.to_string() }),
    }
    file
}

fn server(place: &ConfigPlace, entry: &Entry, verdict: &MoveVerdict) -> Value {
    let mut server = json!({ "name": entry.name });
    if let Some(project) = &entry.project {
        server["project"] = project.as_str().into();
    }
    match verdict {
        MoveVerdict::Already => server["verdict"] = "already".into(),
        MoveVerdict::Left(why) => {
            server["verdict"] = "left".into();
            server["why"] = why.as_str().into();
        }
        MoveVerdict::Move(moved) => {
            server["verdict"] = "move".into();
            server["as"] = moved.name.as_str().into();
            server["isNew"] = moved.is_new.into();
            server["without"] = json!(moved.without);
            if moved.login == LoginAfter::Needed {
                server["login"] = log_in(place, entry).into();
            }
        }
    }
    server
}

fn hint(args: &ImportArgs, plans: &[MovedFile], own: &Path, backup: Option<&Path>) {
    let done = plans.iter().flatten().filter(|it| !matches!(it.written, Some(Err(_))));
    let verdicts = done.flat_map(|it| &it.verdicts);
    let count = verdicts.filter(|it| matches!(it, MoveVerdict::Move(_))).count();
    let (own, count_of) = (safe::path(own), servers_of(count));
    match (plans.is_empty(), count, args.write) {
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
