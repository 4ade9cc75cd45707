//! The report: in words for people, and as JSON for machines.

use std::io::{self, Write};

use ridethrough_terminal::out::{Colour, lines_of, painted};
use ridethrough_terminal::safe;
use ridethrough_terminal::secrets;
use serde::Serialize;

use crate::authorization_seen::AuthorizationSeen;
use crate::finding::{Finding, FindingVerdict, Subject};
use crate::notes::{CheckFigures, Notes, Repeat, Tool};

/// What the output can show.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// Whether it has colours.
    pub is_colourful: bool,
    /// Whether characters beyond ASCII can be shown.
    pub is_fancy: bool,
}

/// Writes the report in words.
pub fn words(out: &mut dyn Write, notes: &Notes, look: Look) -> io::Result<()> {
    writeln!(out, "{}", painted(&safe::line(&notes.server), Colour::Bold, look.is_colourful))?;
    for subject in Subject::ALL {
        let those: Vec<_> = notes.findings.iter().filter(|it| it.subject == subject).collect();
        if those.is_empty() {
            continue;
        }
        writeln!(out, "\n{}", painted(subject.title(), Colour::Bold, look.is_colourful))?;
        for finding in those {
            paragraph(out, &sign(finding.verdict, look), &safe::our_line(&finding.what))?;
        }
        if subject == Subject::Tools {
            tools(out, notes, look)?;
        }
    }
    advice(out, notes, look)
}

fn advice(out: &mut dyn Write, notes: &Notes, look: Look) -> io::Result<()> {
    let advised = advised(&notes.findings);
    if !advised.is_empty() {
        writeln!(out, "\n{}", painted("Advice", Colour::Bold, look.is_colourful))?;
        for (number, advice) in advised.iter().enumerate() {
            paragraph(out, &format!("{:>2}.", number + 1), &safe::our_line(advice))?;
        }
    }
    let count = |verdict| notes.findings.iter().filter(|it| it.verdict == verdict).count();
    let problems = count(FindingVerdict::Bad) + count(FindingVerdict::Warning);
    let unknown = match count(FindingVerdict::Unknown) {
        0 => String::new(),
        unknown => format!("; {unknown} could not be looked at"),
    };
    match problems {
        0 => writeln!(out, "\nno problem found{unknown}"),
        1 => writeln!(out, "\n1 problem found{unknown}"),
        problems => writeln!(out, "\n{problems} problems found{unknown}"),
    }
}

/// Returns all advice, that of the gravest findings first, each once.
pub(crate) fn advised(findings: &[Finding]) -> Vec<&str> {
    let mut those: Vec<_> = findings.iter().filter(|it| it.advice.is_some()).collect();
    those.sort_by_key(|it| std::cmp::Reverse(it.verdict));
    let mut advised: Vec<&str> = Vec::new();
    for advice in those.into_iter().filter_map(|it| it.advice.as_deref()) {
        if !advised.contains(&advice) {
            advised.push(advice);
        }
    }
    advised
}

/// Writes the tools, grouped by what becomes of a call in doubt.
fn tools(out: &mut dyn Write, notes: &Notes, look: Look) -> io::Result<()> {
    let margin = " ".repeat(visible(&sign(FindingVerdict::Good, look)));
    for (repeat, title) in [
        (Repeat::Always, "a call in doubt is sent again:"),
        (Repeat::IfMarked, "a call in doubt is not sent again, unless marked by --repeatable:"),
    ] {
        let those: Vec<_> = notes.tools.iter().filter(|it| it.repeat == repeat).collect();
        if those.is_empty() {
            continue;
        }
        paragraph(out, &margin, title)?;
        let names: Vec<_> = those.iter().take(MOST_SHOWN).map(|it| shown(it)).collect();
        let more = match those.len().saturating_sub(MOST_SHOWN) {
            0 => String::new(),
            more => format!(", and {more} more"),
        };
        paragraph(out, &format!("{margin}  "), &format!("{}{more}", names.join(", ")))?;
    }
    Ok(())
}

fn shown(tool: &Tool) -> String {
    let name = safe::line(&secrets::cut(&tool.name));
    match tool.because {
        "says nothing" => name,
        because => format!("{name} ({because})"),
    }
}

/// Writes a sign, then a text whose lines are all indented behind it.
fn paragraph(out: &mut dyn Write, sign: &str, text: &str) -> io::Result<()> {
    let lines = lines_of(text, WIDTH);
    for (number, line) in lines.iter().enumerate() {
        match number {
            0 => writeln!(out, "  {sign} {line}")?,
            _ => writeln!(out, "{:indent$}{line}", "", indent = 3 + visible(sign))?,
        }
    }
    Ok(())
}

/// Returns the width of a sign on the screen, colours left out.
fn visible(sign: &str) -> usize {
    let plain = sign.split('\u{1b}').enumerate().map(|(number, part)| match number {
        0 => part,
        _ => part.split_once('m').map_or("", |(_, rest)| rest),
    });
    plain.map(|part| part.chars().count()).sum()
}

fn sign(verdict: FindingVerdict, look: Look) -> String {
    let (fancy, plain, colour) = match verdict {
        FindingVerdict::Good => ("\u{2713}", "ok  ", Colour::Green),
        FindingVerdict::Note => ("\u{2022}", "note", Colour::Faint),
        FindingVerdict::Unknown => ("?", "?   ", Colour::Faint),
        FindingVerdict::Warning => ("!", "warn", Colour::Yellow),
        FindingVerdict::Bad => ("\u{2717}", "BAD ", Colour::Red),
    };
    painted(if look.is_fancy { fancy } else { plain }, colour, look.is_colourful)
}

/// Returns the report as JSON, with the exit code of the command.
pub fn json(notes: &Notes, exit_code: u8) -> String {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Report<'a> {
        server: &'a str,
        name: Option<&'a str>,
        revision: Option<&'a str>,
        is_stateless_spoken: Option<bool>,
        findings: &'a [Finding],
        advice: Vec<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        authorization: Option<&'a AuthorizationSeen>,
        figures: &'a CheckFigures,
        tools: &'a [Tool],
        exit_code: u8,
    }

    let report = Report {
        server: &notes.server,
        name: notes.server_name.as_deref(),
        revision: notes.revision.as_deref(),
        is_stateless_spoken: notes.is_modern,
        findings: &notes.findings,
        advice: advised(&notes.findings),
        authorization: notes.authorization.as_ref(),
        figures: &notes.figures,
        tools: &notes.tools,
        exit_code,
    };
    let text = serde_json::to_string(&report).expect("strings and numbers are JSON");
    safe::our_json(&text)
}

const WIDTH: usize = 84;
const MOST_SHOWN: usize = 60;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_comes_gravest_first_and_once() {
        let findings = [
            Subject::Reach.note("a", "a").advise("small"),
            Subject::Reach.bad("b", "b").advise("grave"),
            Subject::Tools.warning("c", "c").advise("small"),
            Subject::Tools.good("d", "d"),
        ];

        assert_eq!(advised(&findings), ["grave", "small"]);
    }

    #[test]
    fn a_sign_is_as_wide_as_it_looks() {
        let look = Look { is_colourful: true, is_fancy: true };

        assert_eq!(visible(&sign(FindingVerdict::Bad, look)), 1);
        assert_eq!(visible("warn"), 4);
    }
}
