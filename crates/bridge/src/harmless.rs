//! Words of a server, made safe for a terminal. All of a server's words that the host or a person reads
//! outside of payloads come through here.

pub(crate) use ridethrough_core::answer::words::{excerpt, shortened};
pub use ridethrough_core::answer::words::{harmless, is_harmful};
