//! The bridge between a host and a server of the lab, over pipes and under paused time.

#![cfg(test)]

mod answering;
mod ending;
mod gateways;
mod listing;
mod looking;
mod manner;
mod modern;
mod modern_listening;
mod modern_questions;
mod modern_rounds;
mod passing;
mod recovering;
mod repeating;
mod rig;
mod starting;
mod stateless;
