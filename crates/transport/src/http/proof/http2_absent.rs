//! Stands in for [`http2`](super::http2) in builds without that feature.

/// The ends of a stream that prove something.
#[expect(dead_code, reason = "there is no HTTP/2 in this build")]
pub(super) enum StreamEnd {
    Refused,
    Reset,
    WentAway,
}

pub(super) const fn ended(_: &hyper::Error) -> Option<StreamEnd> {
    None
}
