//! The demo for people: line by line as it happens, then a table.

use std::io::{self, Write};
use std::time::Duration;

use super::act::{Act, Played, Show};
use super::judge::seconds;
use super::line::DemoLine;
use super::rival::Scorecard;
use super::table;
use ridethrough_terminal::out::{Colour, painted, wrapped};

/// Shows the demo to people.
pub(super) struct Screen<W> {
    out: W,
    is_colourful: bool,
    acts: usize,
}

impl<W: Write> Screen<W> {
    pub(super) const fn new(out: W, is_colourful: bool) -> Self {
        Self { out, is_colourful, acts: 0 }
    }

    fn painted(&self, text: &str, colour: Colour) -> String {
        painted(text, colour, self.is_colourful)
    }

    /// Returns the writer.
    #[cfg(test)]
    pub(super) fn into_inner(self) -> W {
        self.out
    }
}

impl<W: Write> Show for Screen<W> {
    fn begin(&mut self, acts: &[Act]) -> io::Result<()> {
        self.acts = acts.len();
        let words = format!(
            "{} faults, played with the real client over real sockets of this machine. Every \
             setting of the client is its default. Takes about half a minute.",
            acts.len()
        );
        let head = self.painted("MCP connections that ride through faults", Colour::Bold);
        writeln!(self.out, "{head}\n{}", wrapped(&words, ""))?;
        self.out.flush()
    }

    fn raise(&mut self, number: usize, act: &Act) -> io::Result<()> {
        let head = format!("{number}/{} {} ({})", self.acts, capital(act.breaks), act.report);
        writeln!(self.out, "\n{}\n", self.painted(&head, Colour::Bold))?;
        self.out.flush()
    }

    fn lines(&mut self, lines: &[DemoLine]) -> io::Result<()> {
        for (line, times) in fold(lines) {
            let at = format!("{:>9.3} s", line.at.as_secs_f64());
            let times = if times > 1 { format!(" ({times} times)") } else { String::new() };
            let (at, who) = (self.painted(&at, Colour::Faint), line.who.word());
            writeln!(self.out, "{at}  {who:<6}  {}{times}", line.what)?;
        }
        self.out.flush()
    }

    fn lower(&mut self, played: &Played) -> io::Result<()> {
        writeln!(self.out)?;
        for failed in played.ends.iter().filter_map(|end| end.result.as_ref().err()) {
            writeln!(self.out, "  The caller reads:")?;
            for line in failed.report.lines() {
                writeln!(self.out, "    {line}")?;
            }
        }
        let outcome = format!("Outcome: {}.", played.verdict.outcome);
        writeln!(self.out, "{}", wrapped(&outcome, "  "))?;
        if played.verdict.is_held() {
            let held = self.painted("promise held", Colour::Green);
            writeln!(self.out, "  {held}: {}", played.act.promise)?;
        }
        for broken in &played.verdict.broken {
            writeln!(self.out, "  {}: {broken}", self.painted("promise broken", Colour::Red))?;
        }
        self.out.flush()
    }

    fn close(&mut self, all: &[Played], took: Duration) -> io::Result<()> {
        writeln!(self.out)?;
        let others = Scorecard::measured();
        table::write(&mut self.out, self.is_colourful, all, &others)?;
        if let Some(source) = others.source() {
            writeln!(self.out, "\n{}", wrapped(&source, ""))?;
        }
        let held = all.iter().filter(|played| played.verdict.is_held()).count();
        let total = format!("{held} of {} promises held in {}", all.len(), seconds(took));
        let colour = if held == all.len() { Colour::Green } else { Colour::Red };
        writeln!(self.out, "\n{}", self.painted(&total, colour))?;
        self.out.flush()
    }
}

/// Merges lines of equal words into one with their number, in the place of the first.
fn fold(lines: &[DemoLine]) -> Vec<(&DemoLine, usize)> {
    let mut folded: Vec<(&DemoLine, usize)> = Vec::new();
    for line in lines {
        let is_same = |other: &DemoLine| (other.who, &other.what) == (line.who, &line.what);
        match folded.iter_mut().find(|(other, _)| is_same(other)) {
            Some((_, times)) => *times += 1,
            None => folded.push((line, 1)),
        }
    }
    folded
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
