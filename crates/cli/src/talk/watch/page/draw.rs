//! The HTML of the page, in the style of all our pages. It works without scripts: the browser then reloads it
//! every few seconds.

use ridethrough_lab::page::{self, Life, Markup, Sign};

use super::board::{BoardKind, BoardLine, BoardState, MOST_KEPT};

pub(super) fn page(state: &BoardState) -> String {
    let name = state.name.as_deref().unwrap_or(&state.server);
    let title = format!("watching {name}");
    page::document(&title, Life::Live { script: "live.js" }, |page| {
        page.element("header", &[], |page| {
            page.words("p", &[("class", &"eyebrow")], "ridethrough watch");
            page.words("h1", &[], name);
            page.words("p", &[("class", &"made")], &state.server);
            status(page, state.status.as_ref());
        });
        page.element("main", &[], |page| lines(page, state));
        page.words("footer", &[], FOOT);
    })
}

fn status(page: &mut Markup, status: Option<&BoardLine>) {
    page.element("div", &[("class", &"totals")], |page| {
        page.element("p", &[("class", &"who")], |page| {
            page.words("b", &[("id", &"status")], status.map_or(WAITING, |it| &it.words));
            let at = status.map(|it| it.at.as_str()).unwrap_or_default();
            page.words("span", &[("class", &"dim"), ("id", &"since")], at);
        });
        page.element("p", &[("class", &"follows")], |page| {
            page.element("span", &[("class", &"badge note"), ("id", &"link")], |page| {
                page::shape(page, Sign::Note);
                page.words("span", &[], "loaded anew every few seconds");
            });
        });
    });
}

/// Writes the lines, the newest first, because people look for those.
fn lines(page: &mut Markup, state: &BoardState) {
    let newest = state.kept.back().map_or(0, |it| it.number);
    page.words("h2", &[], "What was seen");
    page.element("div", &[("class", &"totals")], |page| {
        let about: [(_, &dyn std::fmt::Display); 4] = [
            ("class", &"log"),
            ("id", &"lines"),
            ("data-after", &newest),
            ("data-most", &MOST_KEPT),
        ];
        page.element("ol", &about, |page| {
            state.kept.iter().rev().for_each(|kept| line(page, kept));
        });
    });
}

/// Writes one line, in the markup that the script makes too.
fn line(page: &mut Markup, kept: &BoardLine) {
    let class = match kept.kind {
        BoardKind::Missed => "seen missed event",
        BoardKind::Event | BoardKind::Notification | BoardKind::Status => "seen",
    };
    page.element("li", &[("class", &class)], |page| {
        page.words("b", &[], &kept.at).text(" ");
        page.words("small", &[("class", &kept.kind.word())], kept.kind.word()).text(" ");
        page.words("span", &[("class", &"said")], &kept.words);
    });
}

/// The script that keeps the page up to date.
pub(super) const SCRIPT: &str = include_str!("live.js");
const WAITING: &str = "not connected yet";
const FOOT: &str = "Served by ridethrough watch for as long as it runs, to this machine only. The \
    newest 500 lines are kept; stdout has everything.";
