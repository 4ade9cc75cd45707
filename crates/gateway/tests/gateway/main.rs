//! Clients of both eras, a gateway, and small servers behind it, in one process and mostly under paused time.

#![cfg(test)]

mod admitting;
mod asking;
mod attacking;
mod calling;
mod completing;
mod crossing;
mod hinting;
mod listing;
mod mixing;
mod naming;
mod raw_caller;
mod repeating;
mod rig;
mod rounding;
mod sharing;
mod sickening;
mod small_host;
mod small_server;
mod small_tasks;
mod sockets;
mod tasking;
