//! `ridethrough expose` as a person runs it: the built binary, real sockets, real processes.
//!
//! The server behind it is this test binary itself, started again (`child`). Processes need real time,
//! so that nothing here says anything about upper bounds of time but what a person would notice.
//! What is left of a process is read from `/proc`, which only Linux has.

#![cfg(test)]

mod attacking;
mod calling;
mod child;
mod dying;
mod entering;
mod killing;
mod rig;
mod supervising;
