//! The adapter protocol, by which the lab tells a client in any language what to do and reads the result.
//!
//! `CMD <url> <script.json>`: the script is a JSON list of [`Step`]s. After each step the adapter prints one
//! [`Line`] on stdout, in the order of the steps, and it ends with exit code 0 after the last. A step that
//! fails is reported, and the next one is tried. stderr is for people.

mod line;
mod script;

pub use line::{Answer, Done, Line, Outcome};
pub use script::{LoginStep, Step};
