//! One run of the benchmark: reads the arguments, measures and reports.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result};

use crate::args::{Args, Asked, USAGE, parse};
use crate::field::Field;
use crate::figure::{Figure, Verdict};
use crate::pace::Pace;
use crate::server::Server;
use crate::{bridge, calls, connections, decoder, gateway, outage, page, report, sessions};

/// Carries out these arguments, and returns the exit code.
pub fn run(words: &[String]) -> ExitCode {
    match attempt(words) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn attempt(words: &[String]) -> Result<ExitCode> {
    let args = match parse(words)? {
        Asked::Help => {
            println!("{USAGE}");
            return Ok(ExitCode::SUCCESS);
        }
        Asked::Measure(args) => args,
        Asked::Serve => return serve(),
    };
    let figures = measure(&args)?;
    print!("{}", report::table(&figures));
    if let Some(file) = &args.json {
        let text = report::json(&figures, args.pace);
        let written = std::fs::write(file, text);
        written.with_context(|| format!("{} cannot be written", file.display()))?;
    }
    if args.is_written {
        page::write(Path::new("."), &figures, &args)?;
    }
    let is_missed = figures.iter().any(|figure| figure.verdict() == Verdict::Missed);
    Ok(if is_missed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn serve() -> Result<ExitCode> {
    let server = Server::start()?;
    for way in ["json", "sse", "sse-apart"] {
        println!("{}", server.url(way, "NAME"));
    }
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink())?;
    Ok(ExitCode::SUCCESS)
}

/// A group of figures that are measured together.
type Group = (&'static [&'static str], fn(&Field, Pace) -> Result<Vec<Figure>>);

const GROUPS: [Group; 14] = [
    (&["P1"], connections::sequential),
    (&["P2"], connections::crowded),
    (&["P3", "P4"], calls::sequential),
    (&["P5"], calls::crowded),
    (&["P6"], calls::big),
    (&["P7", "P8"], bridge::measure),
    (&["P9"], sessions::resting),
    (&["P10"], sessions::many),
    (&["P11"], |_, pace| decoder::measure(pace)),
    (&["P12"], outage::measure),
    (&["G3"], gateway::calls),
    (&["G4"], gateway::sessions),
    (&["G5"], gateway::neighbours),
    (&["H1"], gateway::hostile),
];

fn measure(args: &Args) -> Result<Vec<Figure>> {
    let field = Field::new(args.rivals, |bars| args.wants(bars))?;
    let mut figures = Vec::new();
    for (bars, measure) in GROUPS.into_iter().filter(|(bars, _)| args.wants(bars)) {
        figures.extend(measure(&field, args.pace).with_context(|| bars.join(", "))?);
    }
    figures.retain(|figure| args.wants(&[figure.bar]));
    Ok(figures)
}
