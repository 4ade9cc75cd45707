//! The positions of the lanes, from the top: the axis, the servers' events, the client, connections.

use super::Format;
use super::bar::Bar;
use super::rows::{Placed, Rows};
use super::scale::Scale;
use super::story::{ConnectionLane, ServerEvent, Story};

/// A picture before it is drawn, in pixels.
#[derive(Debug)]
pub(super) struct Layout<'a> {
    pub(super) scale: Scale,
    pub(super) width: f64,
    pub(super) height: f64,
    pub(super) events: Vec<(&'a ServerEvent, Placed)>,
    pub(super) lanes: Vec<Laid<'a>>,
}

/// One lane with its position.
#[derive(Debug)]
pub(super) struct Laid<'a> {
    pub(super) name: String,
    /// The baseline of its name.
    pub(super) name_y: f64,
    /// The top of its first row.
    pub(super) y: f64,
    pub(super) rows: usize,
    /// When the connection was open.
    pub(super) open: Option<(f64, Option<f64>)>,
    pub(super) bars: Vec<(&'a Bar, Placed)>,
    /// When requests arrived that have no bar, because there are too many.
    pub(super) rest: Vec<f64>,
}

impl Laid<'_> {
    pub(super) fn height(&self) -> f64 {
        self.rows as f64 * ROW
    }
}

impl<'a> Layout<'a> {
    pub(super) fn new(story: &'a Story, format: Format) -> Self {
        let (width, gutter) = match format {
            Format::Narrow => (NARROW, 0.0),
            Format::Wide => (WIDE, GUTTER),
        };
        let scale = Scale::new(gutter + EDGE, width - EDGE, story.begin_ms, story.end_ms);
        let mut layout = Self { scale, width, height: AXIS, events: Vec::new(), lanes: Vec::new() };
        layout.add_events(&story.events);
        if !story.steps.is_empty() {
            layout.add("client".to_owned(), None, &story.steps, Vec::new());
        }
        for lane in story.lanes.iter().take(MOST_LANES) {
            let open = Some((lane.opened, lane.closed));
            layout.add(lane.name.clone(), open, &lane.bars, Vec::new());
        }
        layout.add_rest(story.lanes.get(MOST_LANES..).unwrap_or_default());
        layout
    }

    fn add_events(&mut self, events: &'a [ServerEvent]) {
        let mut rows = Rows::new(self.scale);
        for event in events {
            let placed = rows.place(event.from, event.to.unwrap_or(event.from), &event.label);
            self.events.push((event, placed));
        }
        if !events.is_empty() {
            self.height += rows.number() as f64 * EVENT_ROW + 3.0;
        }
    }

    fn add(
        &mut self,
        name: String,
        open: Option<(f64, Option<f64>)>,
        bars: &'a [Bar],
        mut rest: Vec<f64>,
    ) {
        let mut rows = Rows::new(self.scale);
        let mut placed = Vec::new();
        for bar in bars.iter().take(MOST_BARS) {
            placed.push((bar, rows.place(bar.from, bar.to, &bar.label)));
        }
        rest.extend(bars.iter().skip(MOST_BARS).map(|bar| bar.from));
        let has_own_row = !rest.is_empty() && !placed.is_empty();
        let rows = rows.number() + usize::from(has_own_row);
        let is_narrow = self.scale.left == EDGE;
        let above = if is_narrow { NAME } else { 0.0 };
        let name_y = self.height + if is_narrow { NAME - 2.0 } else { PAD + 12.5 };
        let y = self.height + above + PAD;
        self.height = y + rows as f64 * ROW + PAD;
        self.lanes.push(Laid { name, name_y, y, rows, open, bars: placed, rest });
    }

    /// Adds one shared lane for the connections that have no lane of their own, because there are too many.
    fn add_rest(&mut self, lanes: &'a [ConnectionLane]) {
        if !lanes.is_empty() {
            let rest = lanes.iter().flat_map(|lane| {
                std::iter::once(lane.opened).chain(lane.bars.iter().map(|bar| bar.from))
            });
            self.add(format!("{} more", lanes.len()), None, &[], rest.collect());
        }
    }
}

pub(super) const ROW: f64 = 22.0;
pub(super) const AXIS: f64 = 20.0;
pub(super) const EVENT_ROW: f64 = 16.0;
const PAD: f64 = 4.0;
const EDGE: f64 = 6.0;
const NAME: f64 = 14.0;
const GUTTER: f64 = 92.0;
const WIDE: f64 = 720.0;
const NARROW: f64 = 320.0;
/// The most lanes: more could not be read, so further connections are shown as strokes.
const MOST_LANES: usize = 14;
const MOST_BARS: usize = 14;
