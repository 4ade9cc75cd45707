//! Writes `docs/evidence/benchmarks.md` and its charts. The figures are between two marks; everything else on the page
//! is written by hand, and stays.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};

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
    let old = fs::read_to_string(&page).with_context(|| format!("{}", page.display()))?;
    let new = replaced(&old, &measured(figures, args))?;
    fs::create_dir_all(&charts)?;
    for (name, title, bars) in CHARTS {
        let drawn = picked(figures, bars);
        if !drawn.is_empty() {
            fs::write(charts.join(format!("{name}.svg")), chart::draw(title, &drawn))?;
        }
    }
    fs::write(&page, new).with_context(|| format!("{} cannot be written", page.display()))
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

/// Returns the page with this text between its marks.
fn replaced(page: &str, text: &str) -> Result<String> {
    let (Some((before, rest)), true) = (page.split_once(BEGIN), page.matches(BEGIN).count() == 1)
    else {
        bail!("the page has not one `{BEGIN}`");
    };
    let Some((_, after)) = rest.split_once(END) else { bail!("the page has no `{END}`") };
    Ok(format!("{before}{BEGIN}\n{text}{END}{after}"))
}

/// Returns the date, by the calendar of RFC 3339.
fn today() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    date(now.as_secs() / 86_400)
}

/// Returns the date this many days after 1970-01-01.
fn date(days: u64) -> String {
    // Counted from March, so that the day that leap years add is the last one.
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, later) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    format!("{}-{month:02}-{day:02}", year + era * 400 + later)
}

const BEGIN: &str = "<!-- measured: ./bench --write replaces what follows -->";
const END: &str = "<!-- measured: end -->";

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
    use crate::host::Home;

    #[test]
    fn what_is_written_by_hand_stays_and_what_was_measured_is_replaced() {
        let page = format!("# Head\n\n{BEGIN}\nold\n{END}\n\nBy hand.\n");

        let new = replaced(&page, "new\n").unwrap();

        assert_eq!(new, format!("# Head\n\n{BEGIN}\nnew\n{END}\n\nBy hand.\n"));
        assert_eq!(replaced(&new, "new\n").unwrap(), new);
        assert!(replaced("no marks", "new").is_err());
        assert!(replaced(BEGIN, "new").is_err());
    }

    #[test]
    fn a_page_has_the_table_and_a_chart_for_each_group() {
        let home = Home::new().unwrap();
        let docs = home.path().join("docs/evidence");
        fs::create_dir_all(&docs).unwrap();
        fs::write(docs.join("benchmarks.md"), format!("{BEGIN}\n{END}\n")).unwrap();
        let Asked::Measure(args) = parse(&["--quick"]).unwrap() else { unreachable!() };
        let figure = Figure::less("P3", "CPU", "x").bars(2.0, 1.5).rounds(vec![1.7]);

        write(home.path(), &[figure.beside("rmcp", vec![8.0])], &args).unwrap();

        let page = fs::read_to_string(docs.join("benchmarks.md")).unwrap();
        assert!(page.contains("| P3 | CPU | 2 x | 1.50 x | 1.70 x |"), "{page}");
        assert!(page.contains("(benchmarks/calls.svg)") && page.contains("rmcp 8 x"), "{page}");
        let svg = fs::read_to_string(docs.join("benchmarks/calls.svg")).unwrap();
        assert!(svg.starts_with("<svg") && !docs.join("benchmarks/outage.svg").exists());
    }

    #[test]
    fn days_have_dates() {
        assert_eq!(date(0), "1970-01-01");
        assert_eq!(date(59), "1970-03-01");
        assert_eq!(date(11_016), "2000-02-29");
        assert_eq!(date(20_772), "2026-11-15");
    }
}
