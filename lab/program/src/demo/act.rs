//! One act: what is broken, how it is played, what must have come of it, and how it is shown.

use std::io;
use std::time::Duration;

use anyhow::Result;
use futures_util::future::BoxFuture;

use super::judge::ActVerdict;
use super::line::{DemoLine, Tell};
use super::record::{CallEnd, Record};

/// An act of the demo.
pub(super) struct Act {
    /// The name, in two or three words.
    pub(super) name: &'static str,
    /// What is being broken.
    pub(super) breaks: &'static str,
    /// Where the fault was reported.
    pub(super) report: &'static str,
    /// The lab's scenario of this fault, by which other clients were measured.
    pub(super) scenario: &'static str,
    /// What the client must do about it.
    pub(super) promise: &'static str,
    /// Plays the act, and reports what happens.
    pub(super) play: fn(Tell) -> BoxFuture<'static, Result<Record>>,
    /// Decides whether the promise held.
    pub(super) judge: fn(&Record) -> ActVerdict,
}

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
