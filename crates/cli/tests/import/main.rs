//! `ridethrough import` as a person runs it: the built binary, real files, real sockets.

#![cfg(test)]

mod moving;
mod replacing;
mod rig;
