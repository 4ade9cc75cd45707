//! `ridethrough gateway` as an operator runs it, in bad moments: its file is edited under load, it is killed,
//! it is asked to end. The built binary, real sockets, real processes.

#![cfg(test)]
#![cfg(unix)]

mod ending;
mod reloading;
mod repeating;
mod rig;
