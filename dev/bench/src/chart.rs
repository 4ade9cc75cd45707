//! A chart of some figures, as SVG: a bar for each contestant, and marks for the "must" and "should" values.
//!
//! Each figure has a scale of its own, on which "must" is always at one place, so that a figure that reaches
//! its bar is seen at a glance, whatever its unit. Colours follow the reader's light or dark mode.

use std::fmt::Write;

use crate::figure::{Better, Figure, median};
use crate::report::number;

/// Draws figures below each other.
pub(crate) fn draw(title: &str, figures: &[&Figure]) -> String {
    let mut picture = Picture { body: String::new(), y: TOP };
    for figure in figures {
        picture.figure(figure);
    }
    let Picture { body, y } = picture;
    let height = y + BOTTOM;
    let mut svg = format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img" aria-label="{}">"#,
        plain(title)
    );
    svg.push_str(STYLE);
    let _ = write!(svg, r#"<text class="title" x="0" y="18">{}</text>"#, plain(title));
    svg.push_str(&body);
    let _ = write!(
        svg,
        r#"<path class="must" d="M0 {0}v12"/><text x="6" y="{1}">must</text><path class="goal" d="M52 {0}v12"/><text x="58" y="{1}">goal</text>"#,
        y + 6,
        y + 16
    );
    svg.push_str("</svg>\n");
    svg
}

struct Picture {
    body: String,
    y: i32,
}

impl Picture {
    fn figure(&mut self, figure: &Figure) {
        let (must, goal) = (figure.must, figure.goal);
        // A "must" of zero gives no scale.
        let unit = if must > 0.0 { must } else { 1.0 };
        let x = |value: f64| (value / unit * MUST_AT).clamp(0.0, ROOM);
        let hint = if figure.better == Better::More { ", longer is better" } else { "" };
        let what = format!("{} {}{hint}", figure.bar, figure.what);
        let _ = write!(self.body, r#"<text x="0" y="{}">{}</text>"#, self.y + 12, plain(&what));
        self.y += LINE;
        let top = self.y;
        match figure.value() {
            Some(value) => self.bar("ours", "ours", value, x(value), figure.unit),
            None => self.bar("ours", "not measured", 0.0, 0.0, ""),
        }
        if let Some(floor) = figure.floor {
            self.bar("floor", "floor", floor, x(floor), figure.unit);
        }
        for other in &figure.beside {
            let value = median(&other.rounds);
            self.bar("other", &other.name, value, x(value), figure.unit);
        }
        for (class, at) in [("must", x(must)), ("goal", x(goal))] {
            let (left, length) = (BARS + at, self.y - top);
            let _ = write!(
                self.body,
                r#"<path class="{class}" d="M{left:.1} {top}v{length}"><title>{class}</title></path>"#
            );
        }
        self.y += GAP;
    }

    fn bar(&mut self, class: &str, name: &str, value: f64, length: f64, unit: &str) {
        let y = self.y;
        // A bar that does not fit is cut off; its number says how far it goes.
        let cut = if length >= ROOM { " …" } else { "" };
        let label = match name {
            "not measured" => String::new(),
            _ => format!("{} {unit}{cut}", number(value)),
        };
        let _ = write!(
            self.body,
            r#"<text class="name" x="{}" y="{}">{}</text><rect class="{class}" x="{BARS}" y="{}" width="{:.1}" height="11" rx="2"/><text x="{:.1}" y="{}">{}</text>"#,
            BARS - 8.0,
            y + 11,
            plain(name),
            y + 2,
            length.max(1.0),
            BARS + ROOM + 8.0,
            y + 11,
            plain(label.trim_end()),
        );
        self.y += LINE;
    }
}

fn plain(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    text.replace('"', "&quot;")
}

const STYLE: &str = "<style>\
text{font:12px system-ui,sans-serif;fill:#333}.title{font-weight:600;font-size:14px}\
.name{text-anchor:end;fill:#666}.ours{fill:#3b76b5}.floor{fill:#b8bec6}.other{fill:#8b95a1}\
path{stroke-width:2;fill:none}.must{stroke:#c0392b}.goal{stroke:#2e8b57}\
@media(prefers-color-scheme:dark){text{fill:#ddd}.name{fill:#aaa}.ours{fill:#6ea8e0}\
.floor{fill:#565d66}.other{fill:#79828d}.must{stroke:#e57368}.goal{stroke:#5cc08a}}</style>";
const WIDTH: i32 = 720;
const TOP: i32 = 32;
const BOTTOM: i32 = 28;
const LINE: i32 = 16;
const GAP: i32 = 12;
/// Where bars begin, how much room they have, and where "must" is in it.
const BARS: f64 = 130.0;
const ROOM: f64 = 480.0;
const MUST_AT: f64 = 240.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn must_is_at_one_place_for_all_and_bars_are_as_long_as_their_values() {
        let small = Figure::less("P3", "CPU", "x").bars(2.0, 1.5).rounds(vec![1.0]);
        let large = Figure::less("P9", "memory", "KB").bars(40.0, 20.0).rounds(vec![20.0]);

        let svg = draw("two", &[&small, &large]);

        assert_eq!(svg.matches(r#"width="120.0""#).count(), 2, "{svg}");
        assert_eq!(svg.matches(r#"class="must" d="M370.0"#).count(), 2, "{svg}");
    }

    #[test]
    fn what_is_far_beyond_is_cut_off_and_names_are_no_markup() {
        let figure = Figure::less("P3", "a < b", "x").bars(2.0, 1.5).rounds(vec![1.0]);

        let svg = draw("\"&\"", &[&figure.beside("<slow>", vec![150.0])]);

        assert!(svg.contains("150 x …") && svg.contains(r#"width="480.0""#), "{svg}");
        assert!(svg.contains("&lt;slow&gt;") && svg.contains("a &lt; b"), "{svg}");
        assert!(svg.contains("&quot;&amp;&quot;"), "{svg}");
    }

    #[test]
    fn a_bar_of_zero_and_a_figure_without_a_value_can_be_drawn() {
        let zero = Figure::less("P12", "failed", "").bars(0.0, 0.0).rounds(vec![0.0]);
        let none = Figure::more("P5", "rmcp", "x").bars(3.0, 5.0).not_measured("needs --rivals");

        let svg = draw("none", &[&zero, &none]);

        assert!(!svg.contains("NaN") && svg.contains("not measured"), "{svg}");
    }
}
