//! The body of an answer, and the connection that carries it.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use hyper::body::{Body as _, Incoming};
use ridethrough_core::Failure;

use super::proof;
use crate::pool::{Expected, Http1, Http2Stream, Pool};
use crate::transport::Body;

/// A body on HTTP/1.1. Read to its end it gives its connection back; dropped earlier it closes the
/// connection.
pub(super) struct Http1Body {
    incoming: Incoming,
    connection: Option<Http1>,
    pool: Pool,
    expected: Option<Expected>,
}

impl Http1Body {
    pub(super) fn new(incoming: Incoming, connection: Http1, pool: Pool) -> Self {
        Self { incoming, connection: Some(connection), pool, expected: None }
    }
}

impl Body for Http1Body {
    fn poll_chunk(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, Failure>>> {
        let chunk = ready!(poll_data(&mut self.incoming, context));
        match &chunk {
            Some(Ok(_)) => {}
            Some(Err(_)) => self.connection = None,
            None => {
                if let Some(connection) = self.connection.take_if(|it| !it.is_behind()) {
                    self.pool.give_back(connection);
                }
                self.connection = None;
                if let Some(expected) = self.expected.take() {
                    expected.came_back();
                }
            }
        }
        Poll::Ready(chunk)
    }

    fn wind_down(&mut self) {
        self.expected = self.connection.as_ref().map(|it| self.pool.expect_back(it));
    }
}

/// A body on HTTP/2. It holds its stream, and keeps its connection alive.
pub(super) struct Http2Body {
    incoming: Incoming,
    stream: Http2Stream,
    pool: Pool,
}

impl Http2Body {
    pub(super) fn new(incoming: Incoming, stream: Http2Stream, pool: Pool) -> Self {
        Self { incoming, stream, pool }
    }
}

impl Body for Http2Body {
    fn poll_chunk(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, Failure>>> {
        poll_data(&mut self.incoming, context)
    }
}

impl Drop for Http2Body {
    fn drop(&mut self) {
        if self.stream.is_stuck() {
            self.pool.forget(&self.stream);
        }
    }
}

/// Polls for the next bytes; trailers are ignored.
pub(crate) fn poll_data(
    incoming: &mut Incoming,
    context: &mut Context<'_>,
) -> Poll<Option<Result<Bytes, Failure>>> {
    loop {
        match ready!(Pin::new(&mut *incoming).poll_frame(context)) {
            None => return Poll::Ready(None),
            Some(Err(error)) => return Poll::Ready(Some(Err(proof::of_body(&error)))),
            Some(Ok(frame)) => {
                if let Ok(data) = frame.into_data() {
                    return Poll::Ready(Some(Ok(data)));
                }
            }
        }
    }
}
