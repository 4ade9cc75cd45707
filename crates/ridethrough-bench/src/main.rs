//! `ridethrough-bench`: figures as ratios to floors of the same run; `./bench` builds and runs it.

mod bridge;
mod figure;
mod process;
mod server;

use std::process::ExitCode;

use anyhow::{Result, bail};

use bridge::Plan;
use figure::{Figure, HEAD};

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
    let plan = match words {
        [] => Plan { rounds: 15, calls: 2_000 },
        ["--quick"] => Plan { rounds: 5, calls: 1_000 },
        ["--help" | "-h"] => {
            println!("{USAGE}");
            return Ok(ExitCode::SUCCESS);
        }
        [other, ..] => bail!("`{other}` is no option\n\n{USAGE}"),
    };
    let figures = bridge::measure(plan)?;
    println!("{HEAD}");
    figures.iter().for_each(|figure| println!("{figure}"));
    let is_met = figures.iter().all(Figure::is_met);
    Ok(if is_met { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

const USAGE: &str = "\
Usage: ./bench [--quick]

Measures the bridge against a floor that is built beside it, in turns, and prints what must
be, what should be and what is.

  --quick   fewer rounds

Exit codes: 0 every \"must\" was reached, 1 one was missed, 2 it could not be measured.
Linux only: CPU and memory are read from /proc.";
