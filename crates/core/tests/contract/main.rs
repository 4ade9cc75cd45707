//! The contract, row by row: each test's name is a sentence of the decision table.
//!
//! `docs/design/recovery.md` lists every row with its tests; `table.rs` checks that list.

#![allow(clippy::panic, reason = "a test fails by panicking, in its helpers too")]

mod rig;

mod breaking;
mod closing;
mod connecting;
mod discovery;
mod doubting;
mod eras;
mod fronts;
mod guessing;
mod headers;
mod last_resort;
mod learning;
mod listening;
mod owing;
mod polling;
mod preferring;
mod probation;
mod proving;
mod refused_form;
mod refusing;
mod resuming;
mod riding;
mod rounds;
mod sending;
mod sessions;
mod silence;
mod standing;
mod table;
