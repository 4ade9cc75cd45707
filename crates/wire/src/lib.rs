//! The words and bytes of MCP: messages, event streams, headers, revisions.
//!
//! Both sides of a connection read and write them here. Nothing in this crate decides what to do, and nothing
//! performs: there is no I/O, no clock, no randomness and no runtime.
//!
//! ```
//! use ridethrough_wire::message::Json;
//!
//! let params = Json::new(r#"{"name":"search","limit":1e2}"#)?;
//!
//! // What is read keeps its text: the spelling of a number, the order of members, fields without a type here.
//! assert_eq!(params.member("limit").map(|it| it.as_str().to_owned()).as_deref(), Some("1e2"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod era;
pub mod headers;
pub mod lifetime;
pub mod line_buffer;
pub mod message;
pub mod mirror;
pub mod patterns;
pub mod secrets;
pub mod sse;
pub mod stateless;
pub mod www_authenticate;
