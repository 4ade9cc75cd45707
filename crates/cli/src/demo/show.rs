//! Where the demo is shown: what a screen and a machine have in common.

use std::io;
use std::time::Duration;

use super::act::Act;
use super::judge::ActVerdict;
use super::line::DemoLine;
use super::record::CallEnd;

/// One act, over.
pub(super) struct Played {
    pub(super) act: &'static Act,
    pub(super) lines: Vec<DemoLine>,
    pub(super) ends: Vec<CallEnd>,
    pub(super) verdict: ActVerdict,
    pub(super) took: Duration,
}

/// Shows a demo. Whatever cannot be written ends it.
pub(super) trait Show {
    /// Says what follows.
    fn begin(&mut self, acts: &[Act]) -> io::Result<()>;

    /// An act begins.
    fn raise(&mut self, number: usize, act: &Act) -> io::Result<()>;

    /// This happened just now.
    fn lines(&mut self, lines: &[DemoLine]) -> io::Result<()>;

    /// An act is over.
    fn lower(&mut self, played: &Played) -> io::Result<()>;

    /// All acts are over.
    fn close(&mut self, all: &[Played], took: Duration) -> io::Result<()>;
}
