//! A diagnosis of an MCP server that a person can act on.
//!
//! It looks from outside, with requests that change nothing: handshakes, `ping`, lists, streams. It never
//! calls a tool, and ends every session that it opened. What could not be examined is reported as unknown,
//! with the reason. The report says what each finding means for our client.
//!
//! ```text
//! examine (reach -> hello -> tools, session, streams, pace, era, guard)  \
//! examine_program (pace, tools)                                          -> Notes -> report
//! AuthorizationCheck                                                     /
//! ```
//! It is no API: nothing here is promised.

mod authorization;
mod authorization_seen;
mod ended;
mod era;
mod finding;
mod grant;
mod guard;
mod hello;
mod notes;
mod pace;
mod program;
mod question;
mod reach;
mod redirect;
mod refusal;
pub mod report;
mod seen;
mod server;
mod session;
mod streams;
mod tools;
mod wire;

pub use authorization::AuthorizationCheck;
pub use authorization_seen::allowing;
pub use ended::Ended;
pub use grant::{GrantShown, client_word};
pub use notes::Notes;
pub use program::examine as examine_program;
pub use server::examine;
pub use wire::Wire;
