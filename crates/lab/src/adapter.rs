//! The adapter protocol, by which a client in any language is told what to do and says how it went.
//!
//! `CMD <url> <script.json>`: the script is a JSON list of [`Step`]s. After each step the adapter
//! prints one [`Line`] on stdout, in the order of the steps, and it ends with exit code 0 when
//! all are done. A step that fails is reported, and the next one is tried. stderr is for people.

mod line;
mod script;

pub use line::{Answer, Done, Line, Outcome};
pub use script::Step;
