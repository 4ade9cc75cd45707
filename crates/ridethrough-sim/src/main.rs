//! `ridethrough-sim`: runs worlds and reports broken promises, or tells a story of faults.

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::time::Instant;

use ridethrough_sim::machine::{Plan, Worlds, run, run_seed, story};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match parse(&words) {
        Ok(Command::Help) => {
            println!("{USAGE}");
            ExitCode::SUCCESS
        }
        Ok(Command::Replay(plan)) => replay(plan),
        Ok(Command::Run(plan)) => simulate(plan),
        Ok(Command::Story) => tell_story(),
        Err(wrong) => {
            eprintln!("error: {wrong}\n\n{USAGE}");
            ExitCode::from(2)
        }
    }
}

enum Command {
    Help,
    Replay(Plan),
    Run(Plan),
    Story,
}

fn parse(words: &[&str]) -> Result<Command, String> {
    let mut plan = Plan::default();
    let (command, mut rest) = match words {
        [] | ["--help" | "-h" | "help"] => return Ok(Command::Help),
        ["story"] => return Ok(Command::Story),
        ["run", rest @ ..] => ("run", rest),
        ["replay", seed, rest @ ..] => {
            plan.first_seed = number("SEED", seed)?;
            ("replay", rest)
        }
        [other, ..] => return Err(format!("`{other}` is no command")),
    };
    while let [flag, value, more @ ..] = rest {
        match *flag {
            "--calls" => plan.calls = number(flag, value)?,
            "--first-seed" => plan.first_seed = number(flag, value)?,
            "--eras" => plan.worlds = worlds(value)?,
            "--calls-per-seed" => plan.calls_per_seed = number(flag, value)?.max(1),
            other => return Err(format!("`{other}` is no option")),
        }
        rest = more;
    }
    if let [flag] = rest {
        return Err(format!("`{flag}` needs a value"));
    }
    Ok(match command {
        "replay" => Command::Replay(plan),
        _ => Command::Run(plan),
    })
}

fn number(name: &str, value: &str) -> Result<u64, String> {
    value.parse().map_err(|_| format!("`{name}` is `{value}`, must be a whole number"))
}

fn worlds(value: &str) -> Result<Worlds, String> {
    match value {
        "both" => Ok(Worlds::Both),
        "legacy" => Ok(Worlds::Legacy),
        _ => Err(format!("`--eras` is `{value}`, must be `both` or `legacy`")),
    }
}

fn simulate(plan: Plan) -> ExitCode {
    let began = Instant::now();
    let is_watched = io::stderr().is_terminal();
    let mut told = began;
    let summary = run(plan, |calls| {
        if is_watched && told.elapsed().as_secs() >= 2 {
            told = Instant::now();
            eprint!("\r{calls} of {} calls", plan.calls);
            _ = io::stderr().flush();
        }
    });
    if told != began {
        eprintln!();
    }
    for (kind, count) in &summary.endings {
        println!("  {count:>9}  {kind}");
    }
    for (promise, times) in summary.broken_promises() {
        println!("broken {times} times: {promise}");
    }
    for violation in summary.violations.iter().take(20) {
        println!("violation: {violation}");
        println!(
            "  again: ridethrough-sim replay {} --calls-per-seed {} --eras {}",
            violation.seed,
            plan.calls_per_seed,
            if plan.worlds == Worlds::Both { "both" } else { "legacy" }
        );
    }
    println!("{summary} ({:.1} s)", began.elapsed().as_secs_f64());
    exit(summary.violations.is_empty())
}

fn replay(plan: Plan) -> ExitCode {
    let summary = run_seed(plan.first_seed, plan.worlds, plan.calls_per_seed);
    for violation in &summary.violations {
        println!("violation: {violation}");
    }
    println!("{summary}");
    exit(summary.violations.is_empty())
}

fn tell_story() -> ExitCode {
    match write_story(&mut io::stdout().lock()) {
        Ok(is_good) => exit(is_good),
        // A reader that has seen enough, such as `head`, is no failure.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: the story could not be written: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Tells the story, then checks every promise over random worlds. Says whether all were kept.
fn write_story(out: &mut impl Write) -> io::Result<bool> {
    story::tell(out)?;
    writeln!(out, "And {STORY_CALLS} calls in worlds drawn at random, every promise checked:\n")?;
    out.flush()?;
    let summary = run(Plan { calls: STORY_CALLS, ..Plan::default() }, |_| {});
    writeln!(out, "   {summary}")?;
    for violation in &summary.violations {
        writeln!(out, "   violation: {violation}")?;
    }
    Ok(summary.violations.is_empty())
}

fn exit(is_good: bool) -> ExitCode {
    if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

const STORY_CALLS: u64 = 100_000;

const USAGE: &str = "\
Runs the recovery machine through simulated worlds and reports broken promises.

  ridethrough-sim run [--calls N] [--calls-per-seed N] [--first-seed N] [--eras WHICH]
  ridethrough-sim replay SEED [--calls-per-seed N] [--eras WHICH]
  ridethrough-sim story

--eras legacy (the default): servers with sessions. --eras both: servers and clients of
either era, and servers that change theirs at any point.

Exit codes: 0 all promises kept, 1 some broken, 2 wrong usage.";
