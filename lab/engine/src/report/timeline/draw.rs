//! Draws a layout as SVG. Colours are names of the page's style, so that it follows light and dark.

use std::fmt::{self, Display, Write};

use super::Format;
use super::bar::{Bar, BarEnd, BarKind};
use super::layout::{AXIS, EVENT_ROW, Laid, Layout, ROW};
use super::rows::{LabelSide, Placed};
use super::story::{ServerEvent, Story};
use crate::page::Markup;

/// One picture of a story.
pub(super) struct Picture<'a> {
    story: &'a Story,
    format: Format,
    layout: Layout<'a>,
}

/// A length, written to a tenth of a pixel: more digits cannot be seen and make pages long.
struct Px(f64);

impl Display for Px {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenths = (self.0 * 10.0).round() / 10.0;
        write!(f, "{tenths}")
    }
}

impl<'a> Picture<'a> {
    pub(super) fn new(story: &'a Story, format: Format) -> Self {
        Self { story, format, layout: Layout::new(story, format) }
    }

    pub(super) fn draw(&self, page: &mut Markup) {
        let class = match self.format {
            Format::Narrow => "narrow",
            Format::Wide => "wide",
        };
        let view = format!("0 0 {} {}", Px(self.layout.width), Px(self.layout.height));
        let attributes: [(_, &dyn Display); 4] = [
            ("class", &class),
            ("viewBox", &view),
            ("role", &"img"),
            ("aria-label", &self.story.about),
        ];
        page.element("svg", &attributes, |svg| {
            self.axis(svg);
            for (event, placed) in &self.layout.events {
                self.event(svg, event, placed);
            }
            for lane in &self.layout.lanes {
                self.lane(svg, lane);
            }
        });
    }

    fn axis(&self, svg: &mut Markup) {
        let mut grid = String::new();
        for (x, _) in self.layout.scale.ticks() {
            stroke(&mut grid, x, AXIS - 4.0, self.layout.height - AXIS + 4.0);
        }
        svg.void("path", &[("class", &"grid"), ("d", &grid)]);
        for (x, label) in self.layout.scale.ticks() {
            // The labels of the first and the last tick would otherwise reach beyond the picture.
            let anchor = match x {
                x if x - 16.0 < 0.0 => "start",
                x if x + 16.0 > self.layout.width => "end",
                _ => "middle",
            };
            let at: [(_, &dyn Display); 4] = [
                ("class", &"tick"),
                ("x", &Px(x)),
                ("y", &Px(AXIS - 8.0)),
                ("text-anchor", &anchor),
            ];
            svg.words("text", &at, label);
        }
    }

    fn event(&self, svg: &mut Markup, event: &ServerEvent, placed: &Placed) {
        let y = AXIS + placed.row as f64 * EVENT_ROW;
        let height = self.layout.height - y;
        svg.element("g", &[("class", &"event")], |svg| {
            self.title(svg, &event.label);
            if event.to.is_some() {
                rect(svg, placed.from, y, placed.to - placed.from, height);
            }
            let mut line = String::new();
            stroke(&mut line, placed.from, y, height);
            if event.to.is_some() {
                stroke(&mut line, placed.to, y, height);
            }
            svg.void("path", &[("d", &line)]);
            label(svg, placed, y + 12.0);
        });
    }

    fn lane(&self, svg: &mut Markup, lane: &Laid<'_>) {
        let class = if lane.open.is_some() { "lane" } else { "lane client" };
        svg.element("g", &[("class", &class)], |svg| {
            svg.words(
                "text",
                &[("x", &0), ("y", &Px(lane.name_y)), ("class", &"name")],
                &lane.name,
            );
            if let Some((opened, closed)) = lane.open {
                let (from, to) = (self.layout.scale.x(opened), closed.unwrap_or(f64::INFINITY));
                let to = self.layout.scale.x(to).max(from + 1.0);
                rect(svg, from, lane.y - 2.0, to - from, lane.height() + 1.0);
                if closed.is_some() {
                    let mut end = String::new();
                    stroke(&mut end, to, lane.y - 2.0, lane.height() + 1.0);
                    svg.void("path", &[("class", &"shut"), ("d", &end)]);
                }
            }
            for (bar, placed) in &lane.bars {
                self.bar(svg, bar, placed, lane.y + placed.row as f64 * ROW);
            }
            self.rest(svg, lane);
        });
    }

    fn bar(&self, svg: &mut Markup, bar: &Bar, placed: &Placed, y: f64) {
        let class = class(bar);
        svg.element("g", &[("class", &class)], |svg| {
            self.title(svg, &bar.about);
            rect(svg, placed.from, y, placed.to - placed.from, BAR);
            let mut sent = String::new();
            for at in distinct(bar.sent.iter().map(|at| self.layout.scale.x(*at))) {
                stroke(&mut sent, at, y + BAR - 5.0, 5.0);
            }
            if !sent.is_empty() {
                svg.void("path", &[("class", &"sent"), ("d", &sent)]);
            }
            for at in distinct(bar.ran.iter().map(|at| self.layout.scale.x(*at))) {
                let at: [(_, &dyn Display); 4] =
                    [("class", &"ran"), ("cx", &Px(at)), ("cy", &Px(y)), ("r", &2.6)];
                svg.void("circle", &at);
            }
            mark(svg, bar.end, placed.to, y);
            label(svg, placed, y + 13.0);
        });
    }

    /// Draws requests without bars, as strokes.
    fn rest(&self, svg: &mut Markup, lane: &Laid<'_>) {
        if lane.rest.is_empty() {
            return;
        }
        let y = lane.y + (lane.rows - 1) as f64 * ROW;
        let mut strokes = String::new();
        for x in distinct(lane.rest.iter().map(|at| self.layout.scale.x(*at))) {
            stroke(&mut strokes, x, y + 3.0, BAR - 6.0);
        }
        svg.element("g", &[("class", &"rest")], |svg| {
            self.title(svg, &format!("{} more", lane.rest.len()));
            svg.void("path", &[("d", &strokes)]);
        });
    }

    /// Adds the text that a mouse shows; a phone has none.
    fn title(&self, svg: &mut Markup, text: &str) {
        if self.format == Format::Wide {
            svg.words("title", &[], text);
        }
    }
}

fn class(bar: &Bar) -> &'static str {
    match (bar.kind, bar.end) {
        (BarKind::Broken, BarEnd::Open) => "bar broken open",
        (BarKind::Broken, _) => "bar broken",
        (BarKind::Good, _) => "bar good",
        (BarKind::Quiet, BarEnd::Open) => "bar quiet open",
        (BarKind::Quiet, _) => "bar quiet",
        (BarKind::Refused, _) => "bar refused",
    }
}

/// Draws the shape at the end of a bar.
fn mark(svg: &mut Markup, end: BarEnd, x: f64, y: f64) {
    let middle = y + BAR / 2.0;
    let path = match end {
        BarEnd::Cut => {
            let (left, top) = (Px(x - 4.0), Px(middle - 4.0));
            let (right, bottom) = (Px(x + 4.0), Px(middle + 4.0));
            format!("M{left} {top}L{right} {bottom}M{left} {bottom}L{right} {top}")
        }
        BarEnd::Reset => format!("M{} {}l4 5h-7l5 7", Px(x - 2.0), Px(middle - 6.0)),
        BarEnd::Proper => format!("M{} {}v{BAR}", Px(x), Px(y)),
        BarEnd::Gone => {
            let at: [(_, &dyn Display); 4] =
                [("class", &"end"), ("cx", &Px(x)), ("cy", &Px(middle)), ("r", &3.4)];
            svg.void("circle", &at);
            return;
        }
        BarEnd::Open => return,
    };
    svg.void("path", &[("class", &"end"), ("d", &path)]);
}

fn label(svg: &mut Markup, placed: &Placed, y: f64) {
    if placed.label.is_empty() {
        return;
    }
    let class = match placed.side {
        LabelSide::After => "after",
        LabelSide::Before => "before",
        LabelSide::Inside => "inside",
    };
    let at: [(_, &dyn Display); 3] =
        [("class", &class), ("x", &Px(placed.label_at)), ("y", &Px(y))];
    svg.words("text", &at, &placed.label);
}

fn rect(svg: &mut Markup, x: f64, y: f64, width: f64, height: f64) {
    let (x, y, width, height) = (Px(x), Px(y), Px(width), Px(height));
    svg.void("rect", &[("x", &x), ("y", &y), ("width", &width), ("height", &height)]);
}

/// Adds a vertical line to a path.
fn stroke(path: &mut String, x: f64, y: f64, height: f64) {
    // Writing into a string cannot fail.
    let _ = write!(path, "M{} {}v{}", Px(x), Px(y), Px(height));
}

/// Positions that can be told apart, so that a thousand events do not make a thousand strokes.
fn distinct(places: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut places: Vec<_> = places.collect();
    places.sort_by(f64::total_cmp);
    places.dedup_by(|next, kept| *next - *kept < 1.5);
    places
}

const BAR: f64 = 18.0;
