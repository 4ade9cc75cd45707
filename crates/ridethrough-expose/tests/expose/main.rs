//! A local server as HTTP, over pipes and under paused time: the child is played by the test.

#![cfg(test)]

mod asking;
mod beginning;
mod clients;
mod dying;
mod entering;
mod resuming;
mod rig;
