//! One bar of the picture: a step of the client, or a request.

/// A step or a request.
#[derive(Debug, Default)]
pub(super) struct Bar {
    pub(super) from: f64,
    pub(super) to: f64,
    pub(super) label: String,
    pub(super) kind: BarKind,
    pub(super) end: BarEnd,
    /// When something was sent.
    pub(super) sent: Vec<f64>,
    /// When the tool was run.
    pub(super) ran: Vec<f64>,
    /// A description of all of it.
    pub(super) about: String,
}

/// How a step or a request went, shown by the colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum BarKind {
    Broken,
    Good,
    #[default]
    Quiet,
    Refused,
}

/// How a bar ends, shown by its shape.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum BarEnd {
    Cut,
    Gone,
    #[default]
    Open,
    Proper,
    Reset,
}
