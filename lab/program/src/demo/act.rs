//! One act: what is broken, how it is played, and what must have come of it.

use anyhow::Result;
use futures_util::future::BoxFuture;

use super::judge::ActVerdict;
use super::line::Tell;
use super::record::Record;

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
