//! The recovery machine of ridethrough: it makes every decision and performs nothing.
//!
//! There is no I/O in this crate, no clock, no randomness and no runtime. Time comes in as a
//! [`Moment`], jitter from a seed, so that every decision can be repeated, written down in a test
//! and made a million times a second.
//!
//! # How to drive it
//!
//! A [`Link`] is the client's lasting relation with one server.
//!
//! 1. Make one with [`Link::new`].
//! 2. Give a command: [`Link::send`] begins an exchange and returns its id.
//! 3. Call [`Link::poll_output`] until it returns `None`, and carry out each [`Output`]:
//!    * [`Output::Act`]: perform it. An [`Action::Send`] is one HTTP request; report its head by
//!      [`Link::handle_head`]; then, if the head is a stream, each event by
//!      [`Link::handle_event`], any other bytes by [`Link::handle_bytes`] and its end by
//!      [`Link::handle_end`]; otherwise its whole body by [`Link::handle_body`]; and at any point,
//!      instead of what should follow, [`Link::handle_failure`].
//!    * [`Output::Finish`]: the exchange is over; this comes exactly once for each.
//!    * [`Output::Deliver`]: hand it to the application.
//!    * [`Output::Tell`]: report it to the application's observers.
//! 4. Sleep until [`Link::poll_timeout`] or until there is news, whichever is first. When the
//!    moment has come, call [`Link::handle_timeout`]. Go to 3.
//!
//! News of an attempt that the machine has given up on is legal at any time and changes nothing.
//!
//! ```
//! use ridethrough_wire::message::Json;
//! use ridethrough_core::{Action, CallOptions, Era, Identity, Link, Moment, Output, Request};
//! use ridethrough_core::RetryPolicy;
//!
//! let identity = Identity {
//!     info: Json::new(r#"{"name":"example","version":"1"}"#)?,
//!     capabilities: Json::new("{}")?,
//! };
//! let mut link = Link::new(Moment::START, Era::Legacy, identity, RetryPolicy::default(), 7);
//!
//! let request = Request { method: "tools/list".into(), params: None, options: CallOptions::default() };
//! link.send(Moment::START, request);
//!
//! // The first thing to do is the handshake.
//! let Some(Output::Act(Action::Send(initialize))) = link.poll_output() else { panic!() };
//! assert!(initialize.to.session.is_none());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod answer;
mod audience;
pub mod backoff;
pub mod breaker;
pub mod budget;
pub mod byte_rate;
pub mod event;
mod exchange;
pub mod failure;
pub mod head;
pub mod hints;
pub mod ids;
mod link;
mod listener;
pub mod moment;
pub mod outcome;
pub mod output;
pub mod policy;
pub mod repeat_guard;
pub mod replay;
pub mod rng;
mod rule;
pub mod session;

pub use answer::{Loss, Unexecuted, discovery, session_loss};
pub use audience::Audience;
pub use event::Event;
pub use exchange::Extension;
pub use failure::{Advice, Cause, Delivery, Failure, ProxyFault};
pub use head::AnswerHead;
pub use ids::{
    AttemptId, ConnectionId, CredentialsId, ExchangeId, Generation, NoticeId, QuestionId,
};
pub use link::{CallOptions, Identity, Link, NoCredentials, Request, Status, WaitingFor};
pub use moment::Moment;
pub use outcome::{
    CallError, CallName, Doubt, DoubtForm, Explanation, Facts, Kind, Outcome, Reason,
};
pub use output::{Action, Address, Delivered, Lane, Outgoing, Output, PeerNews, Route, Verb};
pub use policy::RetryPolicy;
pub use repeat_guard::{CallDigest, CallScope, CallSession, DoubtRepeat, RepeatGuard};
pub use replay::{ReplayRule, TrustHints};
pub use ridethrough_wire::era::{Carrier, Era, Eras, Version};
pub use ridethrough_wire::headers::Headers;
pub use ridethrough_wire::lifetime::{Lifetime, Scope};
pub use rule::Rule;
