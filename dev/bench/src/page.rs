//! Writes `docs/evidence/benchmarks.md` and its charts. The figures are between two marks; everything else on the page
//! is written by hand, and stays.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use anyhow::Result;
use ridethrough_lab::today;
use ridethrough_testkit::page::write_between_marks;

use crate::args::Args;
use crate::chart;
use crate::field::Rivals;
use crate::figure::Figure;
use crate::pace::Pace;
use crate::report;

/// Writes the page and the charts below this folder, the root of the workspace.
pub(crate) fn write(root: &Path, figures: &[Figure], args: &Args) -> Result<()> {
    let page = root.join("docs/evidence/benchmarks.md");
    let charts = root.join("docs/evidence/benchmarks");
    write_between_marks(&page, "measured", &measured(figures, args))?;
    fs::create_dir_all(&charts)?;
    for (name, title, bars) in CHARTS {
        let drawn = picked(figures, bars);
        if !drawn.is_empty() {
            fs::write(charts.join(format!("{name}.svg")), chart::draw(title, &drawn))?;
        }
    }
    Ok(())
}

/// Returns the figures as Markdown.
fn measured(figures: &[Figure], args: &Args) -> String {
    let Pace { rounds, calls, .. } = args.pace;
    let rivals = if args.rivals == Rivals::Installed { " --rivals" } else { "" };
    let quick = if args.pace == Pace::QUICK { " --quick" } else { "" };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut text = format!(
        "Measured on {}, `./bench{quick}{rivals}`, {rounds} rounds of up to {calls} calls, {cores} cores; \"range\" is the best and the worst round.\n\n{}",
        today(),
        report::table(figures)
    );
    for (name, title, bars) in CHARTS {
        if !picked(figures, bars).is_empty() {
            let _ = write!(text, "\n![{title}](benchmarks/{name}.svg)\n");
        }
    }
    let others = report::others(figures);
    if !others.is_empty() {
        let _ = write!(text, "\nOthers in the same run, as median and range:\n\n{others}");
    }
    text
}

fn picked<'a>(figures: &'a [Figure], bars: &[&str]) -> Vec<&'a Figure> {
    figures.iter().filter(|figure| bars.contains(&figure.bar)).collect()
}

/// The charts: name, title and the figures in each.
const CHARTS: [(&str, &str, &[&str]); 8] = [
    ("connections", "Connections", &["P1", "P2"]),
    ("calls", "What a call costs", &["P3", "P4", "P5"]),
    ("megabyte", "An answer of a megabyte", &["P6"]),
    ("bridge", "The bridge", &["P7", "P8"]),
    ("sessions", "Many sessions", &["P9", "P10"]),
    ("decoder", "The decoder of event streams", &["P11"]),
    ("outage", "A server that is away for a second", &["P12"]),
    ("gateway", "The gateway", &["G3", "G4", "G5", "H1"]),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Asked, parse};
    use ridethrough_testkit::place::ScratchFolder;

    #[test]
    fn a_page_has_the_table_and_a_chart_for_each_group() {
        let home = ScratchFolder::new("bench").unwrap();
        let docs = home.path().join("docs/evidence");
        fs::create_dir_all(&docs).unwrap();
        fs::write(docs.join("benchmarks.md"), "<!-- measured: begin -->\n<!-- measured: end -->\n")
            .unwrap();
        let Asked::Measure(args) = parse(&["--quick"]).unwrap() else { unreachable!() };
        let figure = Figure::less("P3", "CPU", "x").bars(2.0, 1.5).rounds(vec![1.7]);

        write(home.path(), &[figure.beside("rmcp", vec![8.0])], &args).unwrap();

        let page = fs::read_to_string(docs.join("benchmarks.md")).unwrap();
        assert!(page.contains("| P3 | CPU | 2 x | 1.50 x | 1.70 x |"), "{page}");
        assert!(page.contains("(benchmarks/calls.svg)") && page.contains("rmcp 8 x"), "{page}");
        let svg = fs::read_to_string(docs.join("benchmarks/calls.svg")).unwrap();
        assert!(svg.starts_with("<svg") && !docs.join("benchmarks/outage.svg").exists());
    }
}
