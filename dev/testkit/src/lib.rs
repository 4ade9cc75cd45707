//! What tests and the programs beside them have in common: programs that were built with one, folders that end with
//! a run, a few words of HTTP/1.1 and JSON-RPC, tables in pages.
//!
//! It uses nothing of ours, so that a judge can use it without borrowing a fault of what is judged.

pub mod http;
pub mod page;
pub mod place;
pub mod process;
pub mod run;
