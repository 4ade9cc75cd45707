//! The servers behind the gateway, and the links to them.
//!
//! ```text
//!   call ──bulkhead: a place, or a short wait, or refused──▶ link ──client──▶ server
//!   server ──messages──▶ link ──by the call they belong to──▶ conversations
//! ```
//! What happens to one server is felt at no other: each has its own places, its own clients and its own
//! tasks.

mod bulkhead;
mod hints;
mod link;
mod links;
mod lists;
mod upstream;

pub(crate) use bulkhead::{Bulkhead, Full, Load};
pub(crate) use hints::Hints;
pub(crate) use link::{
    FromServer, Link, LinkPlace, LinkSettings, Listener, MessageSender, Messages,
};
pub(crate) use links::Links;
pub(crate) use lists::{Refresh, fetch};
pub(crate) use upstream::{Asker, CallbackUrl, Upstream, set_level};
