//! `ridethrough expose` as a person runs it: the built binary, real sockets, real processes.
//!
//! The server behind it is this test binary itself, started again (`child`). Processes need real time, so the
//! tests check upper bounds of time only where a person would notice. The state of a process is read from
//! `/proc`, which only Linux has.

#![cfg(test)]

mod attacking;
mod calling;
mod child;
mod dying;
mod entering;
mod killing;
mod rig;
mod supervising;
