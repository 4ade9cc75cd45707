//! A server over pipes and under paused time: what is behind it is played by the test.

#![cfg(test)]

mod asking;
mod calling;
mod encrypting;
mod listening;
mod rig;
mod serving;
