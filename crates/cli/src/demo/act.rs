//! One act: what is broken, how it is played, and what must have come of it.

use anyhow::Result;
use futures_util::future::BoxFuture;

use super::judge::ActVerdict;
use super::line::Tell;
use super::record::Record;

/// An act of the demo.
pub(super) struct Act {
    /// In two or three words.
    pub(super) name: &'static str,
    /// What is being broken.
    pub(super) breaks: &'static str,
    /// Where it was reported.
    pub(super) report: &'static str,
    /// The scenario of the lab that breaks the same thing, by which other clients were measured.
    pub(super) scenario: &'static str,
    /// What the client must do about it.
    pub(super) promise: &'static str,
    /// Breaks it, and tells about it.
    pub(super) play: fn(Tell) -> BoxFuture<'static, Result<Record>>,
    /// Says whether the promise held.
    pub(super) judge: fn(&Record) -> ActVerdict,
}
