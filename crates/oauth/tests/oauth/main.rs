//! Logins and refreshes against servers of our own, over real sockets.

#![cfg(test)]

mod accounts;
mod enterprise;
mod listener;
mod logins;
mod machines;
mod moved;
mod others;
mod possession;
mod refreshes;
mod secrets;
mod stores;
mod support;
