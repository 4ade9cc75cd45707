//! The body that a call reads, and the stream that it keeps alive.

use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use ridethrough_core::Failure;

use super::posting::Posting;
use super::stream::Stream;
use crate::switchboard::LineBody;
use crate::transport::Body;

/// The body that a call reads, and its stream, which lives for as long as it is read.
pub(super) struct Held {
    body: LineBody,
    _stream: Arc<Stream>,
    _posting: Option<Posting>,
}

impl Held {
    pub(super) const fn new(body: LineBody, stream: Arc<Stream>) -> Self {
        Self { body, _stream: stream, _posting: None }
    }

    /// Adds the POST of the call, which is held open as well.
    pub(super) fn with(self, posting: Posting) -> Self {
        Self { _posting: Some(posting), ..self }
    }
}

impl Body for Held {
    fn poll_chunk(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, Failure>>> {
        self.body.poll_chunk(context)
    }
}
