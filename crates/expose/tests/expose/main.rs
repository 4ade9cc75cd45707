//! A local server as HTTP, over pipes and under paused time: the child is played by the test.

#![cfg(test)]

mod asking;
mod attacking;
mod beginning;
mod clients;
mod dying;
mod entering;
mod probing;
mod resuming;
mod rig;
