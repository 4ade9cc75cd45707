//! Words of others, made harmless for a terminal: everything of a server's that the host or a person is told
//! outside of payloads comes through here.

pub(crate) use ridethrough_core::answer::words::{excerpt, shortened};
pub use ridethrough_core::answer::words::{harmless, is_harmful};
