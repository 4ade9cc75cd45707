//! The interface of what shows a demo: a screen, or JSON.

use std::io;
use std::time::Duration;

use super::act::Act;
use super::judge::ActVerdict;
use super::line::DemoLine;
use super::record::CallEnd;

/// One act that is over.
pub(super) struct Played {
    pub(super) act: &'static Act,
    pub(super) lines: Vec<DemoLine>,
    pub(super) ends: Vec<CallEnd>,
    pub(super) verdict: ActVerdict,
    pub(super) took: Duration,
}

/// Shows a demo. A failed write ends the demo.
pub(super) trait Show {
    /// Announces the acts.
    fn begin(&mut self, acts: &[Act]) -> io::Result<()>;

    /// Shows that an act begins.
    fn raise(&mut self, number: usize, act: &Act) -> io::Result<()>;

    /// Shows lines that just happened.
    fn lines(&mut self, lines: &[DemoLine]) -> io::Result<()>;

    /// Shows that an act is over.
    fn lower(&mut self, played: &Played) -> io::Result<()>;

    /// Shows that all acts are over.
    fn close(&mut self, all: &[Played], took: Duration) -> io::Result<()>;
}
