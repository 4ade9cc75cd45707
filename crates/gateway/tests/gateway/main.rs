//! Clients of both eras, a gateway, and small servers behind it, in one process and mostly under paused time.

#![cfg(test)]

mod admitting;
mod asking;
mod calling;
mod crossing;
mod listing;
mod mixing;
mod raw_caller;
mod rig;
mod sharing;
mod sickening;
mod small_server;
mod sockets;
