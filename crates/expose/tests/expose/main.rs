//! A local server as HTTP, over pipes and under paused time. The test takes the place of the child.

#![cfg(test)]

mod asking;
mod attacking;
mod beginning;
mod clients;
mod dying;
mod entering;
mod probing;
mod repeating;
mod resuming;
mod rig;
