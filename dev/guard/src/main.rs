//! `ridethrough-guard`: compares the instruction counts of the code that every call runs with a baseline.
//!
//! A time on a shared machine is too uncertain to fail a test; a count is not: valgrind counts equally many
//! instructions for one program whatever else the machine does. The program runs itself under valgrind, once
//! with few turns of a workload and once with many, so that start and set-up cancel out.
//!
//! Counts are valid for one compiler, one target and one kind of processor. If the baseline was made by
//! another, nothing is compared, and the output says so.

mod baseline;
mod callgrind;
mod report;
mod workload;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail, ensure};

use baseline::{Baseline, Maker};
use report::Verdict;
use workload::Workload;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<_> = args.iter().map(String::as_str).collect();
    match run(&words) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn run(words: &[&str]) -> Result<ExitCode> {
    match words {
        [] => check(),
        ["--update"] => update(),
        ["--help" | "-h"] => {
            println!("{USAGE}");
            Ok(ExitCode::SUCCESS)
        }
        ["turn", name, turns] => {
            let workload =
                Workload::named(name).with_context(|| format!("no workload `{name}`"))?;
            workload.run(turns.parse().context("turns are a number")?)?;
            Ok(ExitCode::SUCCESS)
        }
        [other, ..] => bail!("`{other}` is no option\n\n{USAGE}"),
    }
}

fn check() -> Result<ExitCode> {
    let path = path()?;
    let baseline = Baseline::read(&path)?;
    if let Err(why) = is_comparable(&baseline) {
        println!("instruction counts: not compared: {why}");
        return Ok(ExitCode::SUCCESS);
    }
    let counts = callgrind::count_all()?;
    let verdicts = report::compare(&baseline, &counts);
    print!("{}", report::table(&verdicts));
    let is_slower = verdicts.iter().any(Verdict::is_broken);
    if is_slower {
        eprintln!("\nhint: make it cheaper again; if what it does now is worth the price,");
        eprintln!("      `cargo run --profile dist -p ridethrough-guard -- --update`, and say why");
    }
    Ok(if is_slower { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn is_comparable(baseline: &Baseline) -> Result<(), String> {
    baseline.maker.is_same(&Maker::this())?;
    callgrind::is_there()
}

fn update() -> Result<ExitCode> {
    ensure!(
        Maker::this().built == "dist opt-level=3",
        "this program was built with `{}`, and a baseline needs `--profile dist` and nothing else",
        Maker::this().built
    );
    callgrind::is_there().map_err(anyhow::Error::msg)?;
    let baseline = Baseline { maker: Maker::this(), counts: callgrind::count_all()? };
    let path = path()?;
    baseline.write(&path)?;
    println!("instruction counts: written to {}", path.display());
    Ok(ExitCode::SUCCESS)
}

/// Returns the baseline in the repository that this program was built from.
fn path() -> Result<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let root = root.canonicalize().context("the repository is not where it was built")?;
    Ok(root.join("dev/guard/baseline.toml"))
}

const USAGE: &str = "\
Usage: ridethrough-guard [--update]

Counts the instructions of what every call goes through, by valgrind, and compares them with
`dev/guard/baseline.toml`. More than 10 % above it is a failure.

  --update   writes the baseline instead

Build it with `--profile dist`. Exit codes: 0 within the baseline, or not comparable (it says
why); 1 something costs more; 2 it could not be counted.";
