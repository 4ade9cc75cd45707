//! How a stream of HTTP/2 ended, according to `h2`.

use super::find;

/// The ends of a stream that prove something.
pub(super) enum StreamEnd {
    /// The peer reset the stream with `REFUSED_STREAM`.
    Refused,
    /// The stream was reset, by either side.
    Reset,
    /// The peer went away, and the last stream it names is below ours.
    WentAway,
}

pub(super) fn ended(error: &hyper::Error) -> Option<StreamEnd> {
    let error = find::<h2::Error>(error)?;
    let is_refused = error.is_remote() && error.reason() == Some(h2::Reason::REFUSED_STREAM);
    match () {
        () if error.is_reset() && is_refused => Some(StreamEnd::Refused),
        () if error.is_reset() => Some(StreamEnd::Reset),
        () if error.is_go_away() && error.is_remote() => Some(StreamEnd::WentAway),
        () => None,
    }
}
