//! The report as a page, in the style of all our pages: no network, no script, no other file.
//!
//! Words of the server are masked and made harmless as in the report in words, and then escaped.

use ridethrough_lab::page::{self, Life, Markup, Sign};

use super::Notes;
use super::finding::{Finding, FindingVerdict, Subject};
use super::report::advised;
use super::tools::{Repeat, Tool};
use crate::secrets;
use crate::talk::safe;

/// Returns the whole page. `made` is the time to show on it.
pub(super) fn html(notes: &Notes, made: &str) -> String {
    let server = safe::line(&notes.server);
    page::document(&format!("check of {server}"), Life::Still, |page| {
        page.element("header", &[], |page| {
            page.words("p", &[("class", &"eyebrow")], "ridethrough check");
            page.words("h1", &[], &server);
            page.words("p", &[("class", &"made")], about(notes, made));
            totals(page, notes);
            advice(page, notes);
        });
        page.element("main", &[], |page| {
            Subject::ALL.into_iter().for_each(|it| subject(page, notes, it));
        });
        page.words("footer", &[], FOOT);
    })
}

/// Returns the name of the server, the revision that it speaks, and when it was examined.
fn about(notes: &Notes, made: &str) -> String {
    let name = notes.server_name.as_deref().map(|it| safe::line(&secrets::cut(it)));
    let revision = notes.revision.as_deref().map(|it| format!("revision {}", safe::line(it)));
    let parts = [name, revision, Some(format!("checked on {made}"))];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Writes how many findings there are of each kind, and the measurements.
fn totals(page: &mut Markup, notes: &Notes) {
    let count = |verdict| notes.findings.iter().filter(|it| it.verdict == verdict).count();
    page.element("div", &[("class", &"totals")], |page| {
        page.element("div", &[("class", &"share"), ("aria-hidden", &"true")], |page| {
            for verdict in GRAVEST_FIRST.into_iter().rev().filter(|it| count(*it) > 0) {
                let grow = format!("flex-grow:{}", count(verdict));
                page.element("i", &[("class", &sign(verdict).word()), ("style", &grow)], |_| {});
            }
        });
        page.element("ul", &[("class", &"counts")], |page| {
            for verdict in GRAVEST_FIRST.into_iter().filter(|it| count(*it) > 0) {
                page.element("li", &[("class", &sign(verdict).word())], |page| {
                    page::shape(page, sign(verdict));
                    let plural = if count(verdict) > 1 { plural(verdict) } else { "" };
                    page.words("b", &[], count(verdict)).text(" ");
                    page.text(word(verdict)).text(plural);
                });
            }
        });
        figures(page, notes);
    });
}

fn figures(page: &mut Markup, notes: &Notes) {
    let figures = &notes.figures;
    let measured = [
        ("name looked up", figures.resolve_ms),
        ("connected", figures.connect_ms),
        ("TLS", figures.tls_ms),
        ("initialize", figures.initialize_ms),
        ("tools/list", figures.tools_list_ms),
        ("ping, half of them", figures.ping_p50_ms),
        ("ping, nine of ten", figures.ping_p90_ms),
        ("ping, the slowest", figures.ping_max_ms),
    ];
    if measured.iter().all(|(_, ms)| ms.is_none()) {
        return;
    }
    page.element("p", &[("class", &"chips figures")], |page| {
        for (name, ms) in measured {
            let Some(ms) = ms else { continue };
            page.element("span", &[], |page| {
                page.words("b", &[], format_args!("{ms:.1} ms")).text(" ").text(name);
            });
        }
    });
}

fn advice(page: &mut Markup, notes: &Notes) {
    let advised = advised(&notes.findings);
    if advised.is_empty() {
        return;
    }
    page.words("h2", &[], "Advice");
    page.element("div", &[("class", &"totals")], |page| {
        page.element("ol", &[("class", &"advice")], |page| {
            for advice in advised {
                page.element("li", &[], |page| page.prose(&safe::our_line(advice)));
            }
        });
    });
}

/// Writes the findings about one subject, marked by the gravest of them.
fn subject(page: &mut Markup, notes: &Notes, subject: Subject) {
    let those: Vec<_> = notes.findings.iter().filter(|it| it.subject == subject).collect();
    let Some(gravest) = those.iter().map(|it| it.verdict).max() else { return };
    let class = format!("run {}", sign(gravest).word());
    page.element("section", &[("class", &class)], |page| {
        page.element("h2", &[], |page| {
            page.text(subject.title());
        });
        page.element("div", &[("class", &"body")], |page| {
            page.element("ul", &[("class", &"checks")], |page| {
                those.into_iter().for_each(|it| finding(page, it));
            });
            if subject == Subject::Tools {
                tools(page, &notes.tools);
            }
        });
    });
}

fn finding(page: &mut Markup, finding: &Finding) {
    let sign = sign(finding.verdict);
    page.element("li", &[("class", &sign.word())], |page| {
        page::shape(page, sign);
        page.element("div", &[], |page| {
            page.prose(&safe::our_line(&finding.what));
            if finding.verdict != FindingVerdict::Good {
                page.text(" ").words("small", &[], word(finding.verdict));
            }
        });
    });
}

/// Writes the tools, grouped by what becomes of a call in doubt.
fn tools(page: &mut Markup, tools: &[Tool]) {
    for (repeat, title) in [
        (Repeat::Always, "a call in doubt is sent again"),
        (Repeat::IfMarked, "a call in doubt is not sent again, unless marked by --repeatable"),
    ] {
        let those: Vec<_> = tools.iter().filter(|it| it.repeat == repeat).collect();
        if those.is_empty() {
            continue;
        }
        page.words("h4", &[], title);
        page.element("ul", &[("class", &"names")], |page| {
            for tool in those.iter().take(MOST_SHOWN) {
                page.element("li", &[], |page| {
                    page.words("code", &[], safe::line(&secrets::cut(&tool.name)));
                    if tool.because != "says nothing" {
                        page.text(" ").words("small", &[], tool.because);
                    }
                });
            }
        });
        if let more @ 1.. = those.len().saturating_sub(MOST_SHOWN) {
            page.words("p", &[("class", &"none")], format_args!("And {more} more."));
        }
    }
}

const fn sign(verdict: FindingVerdict) -> Sign {
    match verdict {
        FindingVerdict::Bad => Sign::Fail,
        FindingVerdict::Good => Sign::Pass,
        FindingVerdict::Note => Sign::Note,
        FindingVerdict::Unknown => Sign::Unknown,
        FindingVerdict::Warning => Sign::Soft,
    }
}

/// Returns the verdict in one word.
const fn word(verdict: FindingVerdict) -> &'static str {
    match verdict {
        FindingVerdict::Bad => "bad",
        FindingVerdict::Good => "good",
        FindingVerdict::Note => "note",
        FindingVerdict::Unknown => "unknown",
        FindingVerdict::Warning => "warning",
    }
}

/// Returns the ending of the word for more than one.
const fn plural(verdict: FindingVerdict) -> &'static str {
    match verdict {
        FindingVerdict::Bad | FindingVerdict::Good | FindingVerdict::Unknown => "",
        FindingVerdict::Note | FindingVerdict::Warning => "s",
    }
}

const GRAVEST_FIRST: [FindingVerdict; 5] = [
    FindingVerdict::Bad,
    FindingVerdict::Warning,
    FindingVerdict::Unknown,
    FindingVerdict::Note,
    FindingVerdict::Good,
];
/// The most names that are shown; `--json` has them all.
const MOST_SHOWN: usize = 300;
const FOOT: &str = "Made by ridethrough check, which looked from outside and called no tool. Times \
    are those of the machine that checked.";
