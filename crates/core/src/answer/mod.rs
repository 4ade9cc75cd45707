//! What an answer means: the one table of statuses, codes, bodies and phrases.
//!
//! All code that reads an answer asks here, so that a call, a handshake and the standing stream never
//! disagree about a status. Nothing here decides: one reading leads to different steps for requests that may
//! be repeated and for those that may not.
//!
//! A status or a phrase is never proof that a request did not run, except for the statuses in
//! [`status::is_not_carried_out`], which nothing makes after a run. An answer that speaks of a lost session is a
//! *suspicion* (`PostReading::Suspected`), to be checked by a question.

pub mod discovery;
mod era;
mod post;
mod resume;
pub mod status;
mod unexecuted;
pub mod words;

pub(crate) use era::{is_from_the_other_era, is_told_in_modern_words};
pub(crate) use post::{Asked, PostAnswer, PostReading, Suspicion, read_post, read_streamed};
pub use post::{Loss, session_loss};
pub(crate) use resume::{ResumeReading, get_speaks_of_loss, read_resume};
pub use unexecuted::Unexecuted;
