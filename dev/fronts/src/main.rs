//! `ridethrough-fronts`: one script of a host, played at every door of the program and compared.
//!
//! The host, the server behind the doors and the judge share no code with the program. stdout is data, stderr is
//! for people. Exit codes: 0 the doors differ as `differences.toml` says and in nothing else, 1 they do not,
//! 2 wrong usage.

mod backend;
mod differences;
mod door;
mod normal;
mod player;
mod run;
mod script;
mod table;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::Result;
use clap::{Parser, Subcommand};
use ridethrough_testkit::page::write_between_marks;
use ridethrough_testkit::place::{ScratchFolder, beside, there};
use ridethrough_testkit::run::ended;

use differences::{Differences, Played};
use run::RunOrder;

/// One script of a host, played at every door of the program and compared.
#[derive(Parser)]
#[command(version, arg_required_else_help = true)]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Is the server behind `expose`, on stdin and stdout.
    #[command(hide = true)]
    Backend,
    /// Plays the script, and fails where the doors differ otherwise than the rows of differences say.
    Run {
        /// Only lines whose name contains this.
        #[arg(long, default_value = "")]
        line: String,
        /// Prints what every door said to each line.
        #[arg(long)]
        full: bool,
        /// Writes the table into this file, between its two marks.
        #[arg(long, value_name = "FILE")]
        table: Option<PathBuf>,
        /// Writes the rows of differences anew into this file; reasons stay, and those of new rows are missing.
        #[arg(long, value_name = "FILE", conflicts_with = "line")]
        rows: Option<PathBuf>,
        /// How many hosts are there at once.
        #[arg(long, default_value_t = 12)]
        hosts: usize,
        /// The program `ridethrough` [default: the one beside this program]
        #[arg(long, value_name = "FILE")]
        ridethrough: Option<PathBuf>,
    },
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    ended(perform(Args::parse().command).await)
}

async fn perform(command: Command) -> Result<bool> {
    let Command::Run { line, full, table, rows, hosts, ridethrough } = command else {
        backend::serve_lines().await?;
        return Ok(true);
    };
    let program = ridethrough.map_or_else(|| beside("ridethrough"), |it| there(&it))?;
    let mut sequences = script::all()?;
    let all = sequences.len();
    sequences.retain(|it| it.name.contains(&line));
    let (began, count) = (Instant::now(), sequences.len());
    let folder = ScratchFolder::new("fronts")?;
    let differences = Differences::read(ROWS)?;
    let order = RunOrder { program, folder: folder.path().to_owned(), sequences, hosts };
    let played = play(order, &differences).await?;
    if full {
        print!("{}", table::in_full(&played));
    }
    if let Some(file) = table {
        write_between_marks(&file, "table", &table::markdown(&played, &differences))?;
    }
    if let Some(file) = rows {
        let head: String =
            ROWS.split_inclusive('\n').take_while(|it| it.starts_with('#')).collect();
        std::fs::write(&file, differences.rewritten(&head, &played))?;
    }
    let mut faults = differences.check(&played);
    if count < all {
        faults.retain(|it| !matches!(it, differences::Fault::Stray { .. }));
    }
    faults.iter().for_each(|fault| println!("{}", fault.report()));
    let apart = played.iter().filter(|it| !differences::groups(it).is_empty()).count();
    println!(
        "{count} lines at {} doors in {:.1} s: {apart} differ, by {} rows; {} faults",
        door::Place::ALL.len(),
        began.elapsed().as_secs_f32(),
        differences.len(),
        faults.len()
    );
    Ok(faults.is_empty())
}

/// Plays everything, and once more, by itself, each line that does not fit its row: doors have limits of time, which
/// they reach on a busy machine. A difference that is there by the code is there again.
async fn play(order: RunOrder, differences: &Differences) -> Result<Vec<Played>> {
    let (program, folder) = (order.program.clone(), order.folder.join("again"));
    let mut played = run::run(order).await?;
    let unfit: Vec<_> = played.iter().filter(|it| !differences.fits(it)).collect();
    let is_unfit = |name: &str| unfit.iter().any(|it| it.line == name);
    let mut sequences = script::all()?;
    sequences.retain(|it| is_unfit(it.name));
    if sequences.len() > MOST_AGAIN {
        return Ok(played);
    }
    let again = run::run(RunOrder { program, folder, sequences, hosts: 1 }).await?;
    for again in again {
        played.iter_mut().filter(|it| it.line == again.line).for_each(|it| *it = again.clone());
    }
    Ok(played)
}

/// The differences that are known.
const ROWS: &str = include_str!("../differences.toml");
/// So many lines are no accident.
const MOST_AGAIN: usize = 5;
