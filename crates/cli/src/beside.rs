//! `ridethrough demo` and `ridethrough lab`: the fault lab, a program of its own that lies beside this one.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result};

use crate::misuse::Misuse;

/// Words for the lab, which reads them itself.
#[derive(clap::Args)]
pub(crate) struct LabArgs {
    /// What the lab is asked; `--help` lists it
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGS")]
    words: Vec<OsString>,
}

/// Runs the lab in place of this program, as far as a caller can tell.
pub(crate) fn play(command: Option<&str>, args: &LabArgs) -> Result<ExitCode> {
    let lab = find().ok_or_else(|| Misuse {
        what: format!("there is no `{LAB}` beside this program"),
        tried: "it was looked for in the folder of this program, and in those of `PATH`".to_owned(),
        hint: "packages of ridethrough carry it; from the sources: `cargo install --locked --path lab/program`"
            .to_owned(),
    })?;
    let mut child = Command::new(&lab);
    child.args(command).args(&args.words);
    // What ends this program, a terminal sends to both.
    let ended = child.status().with_context(|| format!("starting `{}`", lab.display()))?;
    Ok(ended
        .code()
        .and_then(|code| u8::try_from(code).ok())
        .map_or(ExitCode::FAILURE, ExitCode::from))
}

fn find() -> Option<PathBuf> {
    let name = format!("{LAB}{}", env::consts::EXE_SUFFIX);
    let beside = env::current_exe().ok().map(|us| us.with_file_name(&name));
    let path = env::var_os("PATH").unwrap_or_default();
    let on_path = env::split_paths(&path).map(|folder| folder.join(&name));
    beside.into_iter().chain(on_path).find(|it| it.is_file())
}

const LAB: &str = "ridethrough-lab";
