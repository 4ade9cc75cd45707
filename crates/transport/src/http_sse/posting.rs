//! A POST that stays open after its acceptance.
//!
//! Some servers answer the POST only when the tool is done, and take its end for a cancellation. So it is
//! held for as long as the call is read, and then for as long as the rest of any answer. Some servers put the
//! answer of the call into its body; the first answer, there or on the stream, is the one that counts.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::future::BoxFuture;
use ridethrough_core::Failure;
use ridethrough_core::head::Content;
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::REST;
use super::stream::Stream;
use crate::drain::drain;
use crate::size::too_large;
use crate::switchboard::LineBody;
use crate::transport::{Body, Reply};

/// Holds a POST open until it is dropped, and reads the answer that its body may be.
pub(super) struct Posting {
    _is_read: oneshot::Sender<()>,
}

impl Posting {
    /// Holds the POST of the request with this id.
    pub(super) fn hold(
        posting: BoxFuture<'static, Result<Reply, Failure>>,
        id: u64,
        stream: &Arc<Stream>,
    ) -> Self {
        let (is_read, is_over) = oneshot::channel();
        let stream = Arc::downgrade(stream);
        tokio::spawn(async move {
            let mut hearing = pin!(async {
                // Its failure does not matter: the stream may still bring the answer.
                let Ok(Reply::Answered { head, body, .. }) = posting.await else { return };
                if !(head.status.is_success() && head.content == Content::Json) {
                    return drain(body, REST).await;
                }
                let Some(stream) = stream.upgrade() else { return };
                match read_whole(body, &stream).await {
                    Ok(Some(answer)) => stream.take_answer(id, answer).await,
                    Ok(None) => {}
                    Err(failure) => stream.fail(id, &failure),
                }
            });
            tokio::select! {
                () = &mut hearing => {}
                // When time is up the connection is dropped, and nothing else has to be done.
                _ = is_over => drop(timeout(REST_OF_AN_ANSWER, hearing).await),
            }
        });
        Self { _is_read: is_read }
    }
}

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

/// Returns the body of a POST's answer, if it is the answer to this request.
pub(super) async fn answer_in(
    reply: Reply,
    id: u64,
    stream: &Stream,
) -> Result<Option<Bytes>, Failure> {
    match reply {
        Reply::Answered { head, body, .. } if head.content == Content::Json => {
            let whole = read_whole(body, stream).await?;
            Ok(whole.filter(|whole| super::answers(whole, id)))
        }
        _ => Ok(None),
    }
}

/// Reads a whole body; `None` if it breaks off. Large ones are read one at a time.
async fn read_whole(mut body: Box<dyn Body>, stream: &Stream) -> Result<Option<Bytes>, Failure> {
    let (mut whole, mut turn) = (BytesMut::new(), None);
    while let Some(chunk) = body.chunk().await {
        let Ok(chunk) = chunk else { return Ok(None) };
        if whole.len() + chunk.len() > stream.message_limit {
            return Err(too_large("a body", stream.message_limit));
        }
        whole.extend_from_slice(&chunk);
        if whole.len() > SMALL && turn.is_none() {
            turn = stream.large.acquire().await.ok();
        }
    }
    Ok(Some(whole.freeze()))
}

/// How long the POST is held after the call: as long as the rest of any answer is read.
const REST_OF_AN_ANSWER: Duration = REST.within;
/// The size of most answers, of which as many can be read at once as there are calls.
const SMALL: usize = 32 << 10;
