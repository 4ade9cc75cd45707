//! A server over pipes and under paused time. The test takes the place of its backend.

#![cfg(test)]

mod asking;
mod calling;
mod draining;
mod encrypting;
mod lining;
mod listening;
mod refusing;
mod rig;
mod serving;
mod sizes;
mod verifying;
